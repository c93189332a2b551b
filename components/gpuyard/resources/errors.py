"""One readable error for a platform that can't be: every finding, and no traceback.

`pulumi.RunError` ends a program with its message alone; hosted for another language, the findings
become errors of the inputs they are about (`gpuyard.resources.hosting`).
"""

from collections.abc import Sequence

import pulumi

from gpuyard.errors import PlanRefused
from gpuyard.findings import Finding, Fix, refuse, show
from gpuyard.spec.nearest import nearest
from gpuyard.spec.problems import show_given


class PlatformRefused(pulumi.RunError, PlanRefused):
    """A component was given what it can't make; `findings` is everything there is to say about it."""

    def __init__(self, what: str, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__(f"{what} is refused:\n{show(findings)}")


def unknown_name(argument: str, given: object, known: Sequence[str]) -> Finding:
    """The finding for an argument that must name one of the pools, or one of the teams."""
    near = nearest(given, list(known)) if isinstance(given, str) else None
    return refuse(
        f"args.{argument}",
        (argument,),
        f"the platform has no such {argument}",
        given=show_given(given),
        allowed=", ".join(known) or f"the platform has no {argument} at all",
        fix=Fix(says=f"write {near}") if near else None,
    )


def no_provider() -> Finding:
    """The finding for a component that nothing tells which cluster is meant."""
    return refuse(
        "args.provider",
        ("opts", "providers"),
        "the component has no Kubernetes provider; the kubeconfig's current context is never a default",
        given="no provider",
        allowed="a Kubernetes provider, or `kubernetes:context` in the stack's configuration",
        fix=Fix(says="pass opts=pulumi.ResourceOptions(providers=[provider_of(plan)])"),
    )


def no_context() -> Finding:
    """The finding for a platform on a cluster of one's own that names no context of the kubeconfig."""
    return refuse(
        "args.cluster",
        ("platform", "cluster", "existing"),
        "the platform names no cluster; the kubeconfig's current context is never a default",
        given="no cluster.existing",
        allowed="a context that `kubectl config get-contexts` lists",
        fix=Fix(says="write cluster: {existing: CONTEXT}"),
    )


def other_cloud(component: str, given: str, wanted: str) -> Finding:
    """The finding for a component of one cloud that is given a platform of another."""
    return refuse(
        "args.cloud",
        ("platform", "cloud"),
        f"{component} makes clusters on {wanted} alone",
        given=given,
        allowed=wanted,
        fix=Fix(says=f"write cloud: {wanted}"),
    )
