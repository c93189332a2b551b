"""One readable error for a platform that can't be: every finding, and no traceback.

`pulumi.RunError` ends a program with its message alone; hosted for another language, the findings
become errors of the inputs they are about (`gpuyard.resources.hosting`).
"""

from collections.abc import Sequence

import pulumi

from gpuyard.errors import PlanRejected
from gpuyard.findings import Finding, Fix, error, format_findings
from gpuyard.spec.problems import format_input
from gpuyard.spec.suggestions import nearest_name


class PlatformRejected(pulumi.RunError, PlanRejected):
    """A component was given what it can't make; `findings` is everything there is to say about it."""

    def __init__(self, what: str, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__(f"{what} is refused:\n{format_findings(findings)}")


def unknown_name(argument: str, value: object, known: Sequence[str]) -> Finding:
    """The finding for an argument that must name one of the pools, or one of the teams."""
    suggestion = nearest_name(value, list(known)) if isinstance(value, str) else None
    return error(
        f"args.{argument}",
        (argument,),
        f"the platform has no such {argument}",
        value=format_input(value),
        allowed=", ".join(known) or f"the platform has no {argument} at all",
        fix=Fix(message=f"write {suggestion}") if suggestion else None,
    )


def no_provider() -> Finding:
    """The finding for a component that nothing tells which cluster is meant."""
    return error(
        "args.provider",
        ("opts", "providers"),
        "the component has no Kubernetes provider; the kubeconfig's current context is never a default",
        value="no provider",
        allowed="a Kubernetes provider, or `kubernetes:context` in the stack's configuration",
        fix=Fix(message="pass opts=pulumi.ResourceOptions(providers=[provider_of(plan)])"),
    )


def no_context() -> Finding:
    """The finding for a platform on a cluster of one's own that names no context of the kubeconfig."""
    return error(
        "args.cluster",
        ("platform", "cluster", "existing"),
        "the platform names no cluster; the kubeconfig's current context is never a default",
        value="no cluster.existing",
        allowed="a context that `kubectl config get-contexts` lists",
        fix=Fix(message="write cluster: {existing: CONTEXT}"),
    )


def other_cloud(component: str, value: str, required: str) -> Finding:
    """The finding for a component of one cloud that is given a platform of another."""
    return error(
        "args.cloud",
        ("platform", "cloud"),
        f"{component} makes clusters on {required} alone",
        value=value,
        allowed=required,
        fix=Fix(message=f"write cloud: {required}"),
    )
