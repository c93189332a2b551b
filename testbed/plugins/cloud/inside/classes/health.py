"""Conditions of a ComputeClass and its node pools, as GKE's autoscaler reports them: the first of each type.

Source: GoogleCloudPlatform/cluster-autoscaler at 7d250507 (2026-08-21), below
pkg/computeclass/status/validator/conditions: evaluator.go, nodepool_misconfigured.go, nodepool_not_exist.go,
nap_disabled_no_matching_nodegroups.go, conditions_constants.go.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

LABEL = "cloud.google.com/compute-class"
_POOL, _CLASS = "NodepoolMisconfigured", "CrdMisconfigured"


@dataclass(frozen=True)
class PoolSeen:
    """Relevant fields of a node pool that the autoscaler may enlarge; it sees no other."""

    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]


def named(spec: Mapping[str, Any]) -> list[list[str]]:
    """The node pools of each rule, best first."""
    return [list(rule.get("nodepools") or ()) for rule in spec.get("priorities") or ()]


def rank(spec: Mapping[str, Any], pool: str) -> int | None:
    """The number of the first rule that names a pool."""
    return next((place for place, names in enumerate(named(spec)) if pool in names), None)


def conditions(
    name: str, spec: Mapping[str, Any], pools: Mapping[str, PoolSeen]
) -> list[dict[str, str]]:
    """The conditions of the status: problems first, then the health."""
    results: dict[str, dict[str, str]] = {}
    for kind, reason, message in _wrong(name, spec, pools):
        results.setdefault(kind, _condition(kind, "True", reason, message))
    well = "Crd is not healthy." if results else "Crd is healthy."
    return [*results.values(), _condition("Health", "False" if results else "True", "Health", well)]


def _condition(kind: str, status: str, reason: str, message: str) -> dict[str, str]:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def _wrong(
    name: str, spec: Mapping[str, Any], pools: Mapping[str, PoolSeen]
) -> Iterator[tuple[str, str, str]]:
    anyway = spec.get("whenUnsatisfiable") == "ScaleUpAnyway"
    mine = {each: seen for each, seen in pools.items() if seen.labels.get(LABEL) == name}
    requested = [each for names in named(spec) for each in names]
    for each in sorted(set() if anyway else set(mine) - set(requested)):
        message = f"Nodepool {each} has an Crd label but doesn't match any priority rule."
        yield _POOL, "NoRuleMatching", message
    for each in sorted((set(requested) & set(pools)) - set(mine)):
        yield (
            _POOL,
            "CrdLabelNotMatching",
            f"Crd label doesn't match Crd name for the nodepool {each}.",
        )
    yield from _taints(name, mine)
    for each in sorted(set(requested) - set(pools)):
        message = f"Nodepool {each} specified by name has autoscaling disabled or doesn't exist in the cluster."
        yield _CLASS, "NodePoolNotExist", message
    if not anyway and not any(each in requested for each in mine):
        message = "Crd with NAP disabled should have at least one matching nodepool with autoscaling enabled."
        yield _CLASS, "NapDisabledAndNoMatchingNodegroups", message


def _taints(name: str, mine: Mapping[str, PoolSeen]) -> Iterator[tuple[str, str, str]]:
    for each, seen in mine.items():
        values = [taint.get("value", "") for taint in seen.taints if taint["key"] == LABEL]
        if not values:
            yield _POOL, "TaintMissing", f"Crd taint is missing for the nodepool {each}."
        elif values[0] != name:
            message = f"Crd taint value doesn't match Crd name for the nodepool {each}."
            yield _POOL, "TaintValueNotMatching", message
