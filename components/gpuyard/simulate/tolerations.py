"""Taints and who bears them: what the scheduler lets onto a node, and where pods of a DaemonSet start."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

BLOCKING_EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})
_OF_KUBERNETES: Final = "node.kubernetes.io/"
"""Taints of conditions of a node: pods of every DaemonSet bear them, by its controller."""
USUAL: Final = ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},)
"""What NVIDIA's operator gives its DaemonSets where it is told nothing."""


def tolerates_taints(
    tolerations: Sequence[Mapping[str, Any]], taints: Sequence[Mapping[str, Any]]
) -> bool:
    """Whether a pod with these may start where those are."""
    blocking = [taint for taint in taints if taint["effect"] in BLOCKING_EFFECTS]
    return all(any(_bears(each, taint) for each in tolerations) for taint in blocking)


def daemon_set_reaches(tolerations: Sequence[Mapping[str, Any]], node: Mapping[str, Any]) -> bool:
    """Whether a pod of a DaemonSet with these starts on a node."""
    taints = (node.get("spec") or {}).get("taints") or []
    return tolerates_taints(
        tolerations, [t for t in taints if not t["key"].startswith(_OF_KUBERNETES)]
    )


def tolerations_of(spec: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Those of all that the operator starts, from what it is told of its DaemonSets."""
    tolerations = (spec.get("daemonsets") or {}).get("tolerations")
    return USUAL if tolerations is None else tuple(tolerations)


def _bears(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    exists = toleration.get("operator") == "Exists"
    if toleration.get("effect") not in {None, "", taint["effect"]}:
        return False
    if exists and not toleration.get("key"):
        return True
    same = toleration.get("key") == taint["key"]
    return same and (exists or toleration.get("value", "") == taint.get("value", ""))
