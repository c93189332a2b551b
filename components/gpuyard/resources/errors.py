"""Errors for rejected platforms: all findings, without a traceback.

`pulumi.RunError` ends a program with its message alone. For programs in other languages the
findings become errors of the inputs that they are about (`gpuyard.resources.hosting`).
"""

from collections.abc import Sequence

import pulumi

from gpuyard.provider import provider_of
from gpuyard.spec.platform import Cloud
from gpuyard_core.errors import PlanRejected, UsageError
from gpuyard_core.findings import Diagnostic, Fix, error, format_findings
from gpuyard_core.models.problems import format_input
from gpuyard_core.suggestions import nearest_name


class PlatformRejected(pulumi.RunError, PlanRejected):
    """A component rejects its arguments; `findings` lists every reason."""

    def __init__(self, what: str, findings: Sequence[Diagnostic]) -> None:
        self.findings = tuple(findings)
        super().__init__(f"{what} is rejected:\n{format_findings(findings)}")


class UnknownPart(pulumi.RunError, KeyError):
    """A platform has no pool or team of this name."""

    def __init__(self, platform: str, kind: str, name: object, known: Sequence[str]) -> None:
        suggestion = nearest_name(name, list(known)) if isinstance(name, str) else None
        message = f"{platform}.{kind}s[{name!r}]: the platform has no {kind} of this name"
        allowed = f", allowed: {', '.join(known) or f'none, it has no {kind}s'}"
        fix = f"; fix: write {suggestion!r}" if suggestion else ""
        super().__init__(message + allowed + fix)

    def __str__(self) -> str:  # KeyError shows a representation
        return str(self.args[0])


class OutputUnavailable(pulumi.RunError, UsageError):
    """An output that this kind of platform does not have."""


def unknown_name(argument: str, value: object, known: Sequence[str]) -> Diagnostic:
    """The finding for an argument that names an unknown pool or team."""
    suggestion = nearest_name(value, list(known)) if isinstance(value, str) else None
    return error(
        f"args.{argument}",
        (argument,),
        f"the platform does not define this {argument}",
        given=format_input(value),
        allowed=", ".join(known) or f"the platform defines no {argument}",
        fix=Fix(message=f"write {suggestion}") if suggestion else None,
    )


def missing_provider_finding() -> Diagnostic:
    """The finding for a component without a Kubernetes provider."""
    return error(
        "args.provider",
        ("opts", "providers"),
        "the component has no Kubernetes provider; the kubeconfig's current context is never a default",
        given="no provider",
        allowed="a Kubernetes provider, or `kubernetes:context` in the stack's configuration",
        fix=Fix(
            message="pass opts=pulumi.ResourceOptions(providers=[platform.provider]), or on a cluster "
            "of your own set cluster.existing"
        ),
    )


def missing_context_finding() -> Diagnostic:
    """The finding for an existing cluster without a context of the kubeconfig."""
    return error(
        "args.cluster",
        ("platform", "cluster", "existing"),
        "the platform names no cluster; the kubeconfig's current context is never a default",
        given="no cluster.existing",
        allowed="a context that `kubectl config get-contexts` lists",
        fix=Fix(message="set cluster: {existing: CONTEXT}"),
    )


def wrong_cloud_finding(component: str, value: str) -> Diagnostic:
    """The finding for a component that supports another cloud than the platform's."""
    required = next(each for each in Cloud if provider_of(each).cluster_kind == component)
    return error(
        "args.cloud",
        ("platform", "cloud"),
        f"{component} creates clusters on {required} only",
        given=value,
        allowed=required,
        fix=Fix(message=f"write cloud: {required}"),
    )
