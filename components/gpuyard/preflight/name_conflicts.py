"""Names that a plan gives: whether the account has something of that name, the platform's or another's."""

from collections.abc import Mapping
from typing import Any

from gpuyard.findings import Fix, Path, error, format_list, warning
from gpuyard.preflight.probes import NOT_FOUND, ProbeAnswer, ProbeResult, at
from gpuyard.preflight.quota_requirements import PlannedAccount

OWN, LEFT = "own", "left"
"""Questions: the cluster of the platform's name, and what is there beside it under names that are given."""
_AT: Path = ("name",)
_LEFT = ("aws:cloudwatch/logGroup:LogGroup", "gcp:compute/network:Network")
"""What EKS writes on into after a cluster's end; what an `up` that stopped midway has made first."""


def explicit_names(ahead: PlannedAccount) -> list[str]:
    """Of log groups at AWS, of networks at Google: those that the account has once."""
    names = (each.inputs.get("name") for each in ahead.graph.resources if each.kind in _LEFT)
    return sorted(name for name in names if isinstance(name, str))


def is_free(answer: ProbeAnswer) -> bool:
    """Whether there is no cluster of that name."""
    return answer.error == NOT_FOUND or answer.error.startswith("ResourceNotFound")


def is_managed(answer: ProbeAnswer, platform: str, *path: str) -> bool:
    """Whether the cluster that is there says at this path that it is the platform's."""
    return bool(at(answer.value, *path) == platform)


def own_name_findings(platform: str, answer: ProbeAnswer, *path: str) -> ProbeResult | None:
    """No cluster is made beside one of the same name; this stack's own is the stack's to change."""
    if is_free(answer):
        return ProbeResult(messages=(f"no cluster is called {platform} yet",))
    if is_managed(answer, platform, *path):
        return ProbeResult(messages=(f"cluster {platform} is this platform's own: it is deployed",))
    cluster = at(answer.value, *path[:-2])
    if answer.error or not isinstance(cluster, Mapping) or "name" not in cluster:
        return None
    problem = f"a cluster is called {platform} already, and it is not this platform's"
    fix = Fix(message="give the platform another name: its cluster is called by it")
    return ProbeResult((error("live.taken", _AT, problem, value=platform, fix=fix),))


def leftover_findings(
    ahead: PlannedAccount, own: ProbeAnswer, listed: list[Any] | None, key: str, way: str
) -> ProbeResult | None:
    """What has names of the platform's while no cluster has: nothing, or what somebody left there."""
    if listed is None:
        return None
    results = [str(each.get(key)) for each in listed if each.get(key) in explicit_names(ahead)]
    if not results or not is_free(own):
        return ProbeResult()
    problem = f"{format_list(results)} is there, and no cluster: `up` would make it and be refused"
    fix = Fix(
        message=f"if an `up` of this stack has stopped midway, all is well; else delete it: {way}"
    )
    value = format_list(results)
    return ProbeResult(
        (warning("live.taken", _AT, problem, value=value, allowed="a free name", fix=fix),)
    )
