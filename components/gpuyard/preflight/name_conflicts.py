"""Names of a plan: whether the account already has a resource with this name, and whose it is."""

from collections.abc import Mapping
from typing import Any

from gpuyard.preflight.probes import NOT_FOUND, ProbeAnswer, ProbeResult, at
from gpuyard.preflight.quota_requirements import PlannedAccount
from gpuyard_core.findings import Fix, Path, error, format_list, warning

OWN, LEFT = "own", "left"
"""Queries: the cluster with the platform's name, and other resources with explicit names."""
_AT: Path = ("name",)
_LEFT = ("aws:cloudwatch/logGroup:LogGroup", "gcp:compute/network:Network")
"""Resources that outlive an EKS cluster, or that an interrupted `up` creates first."""


def explicit_names(ahead: PlannedAccount) -> list[str]:
    """Unique names: of log groups on AWS, of networks on Google Cloud."""
    names = (each.inputs.get("name") for each in ahead.graph.resources if each.kind in _LEFT)
    return sorted(name for name in names if isinstance(name, str))


def is_free(answer: ProbeAnswer) -> bool:
    """Whether no cluster has the name."""
    return answer.error == NOT_FOUND or answer.error.startswith("ResourceNotFound")


def is_managed(answer: ProbeAnswer, platform: str, *path: str) -> bool:
    """Whether the existing cluster has the platform's label at this path."""
    return bool(at(answer.value, *path) == platform)


def own_name_findings(platform: str, answer: ProbeAnswer, *path: str) -> ProbeResult | None:
    """An error when another cluster has the platform's name; the stack's own is accepted."""
    if is_free(answer):
        return ProbeResult(messages=(f"no cluster has the name {platform}",))
    if is_managed(answer, platform, *path):
        return ProbeResult(
            messages=(f"cluster {platform} belongs to this platform and is deployed",)
        )
    cluster = at(answer.value, *path[:-2])
    if answer.error or not isinstance(cluster, Mapping) or "name" not in cluster:
        return None
    problem = f"a cluster with the name {platform} exists and does not belong to this platform"
    fix = Fix(message="rename the platform: its cluster has the same name")
    return ProbeResult((error("live.taken", _AT, problem, given=platform, fix=fix),))


def leftover_findings(
    ahead: PlannedAccount, own: ProbeAnswer, listed: list[Any] | None, key: str, way: str
) -> ProbeResult | None:
    """A warning when resources have the platform's names without a cluster."""
    if listed is None:
        return None
    results = [str(each.get(key)) for each in listed if each.get(key) in explicit_names(ahead)]
    if not results or not is_free(own):
        return ProbeResult()
    problem = (
        f"{format_list(results)} exists without a cluster: `pulumi up` would fail to create it"
    )
    fix = Fix(
        message=f"if a `pulumi up` of this stack was interrupted, no action; otherwise delete it: {way}"
    )
    value = format_list(results)
    return ProbeResult(
        (warning("live.taken", _AT, problem, given=value, allowed="a free name", fix=fix),)
    )
