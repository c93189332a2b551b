"""Taints and tolerations: which pods the scheduler allows on a node, and where DaemonSet pods start."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

BLOCKING_EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})
_OF_KUBERNETES: Final = "node.kubernetes.io/"
"""Taints of node conditions: the DaemonSet controller adds tolerations for them to every pod."""
USUAL: Final = ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},)
"""The operator's default tolerations of its DaemonSets."""


def tolerates_taints(
    tolerations: Sequence[Mapping[str, Any]], taints: Sequence[Mapping[str, Any]]
) -> bool:
    """Whether a pod with these tolerations may start where those taints are."""
    blocking = [taint for taint in taints if taint["effect"] in BLOCKING_EFFECTS]
    return all(any(_bears(each, taint) for each in tolerations) for taint in blocking)


def daemon_set_reaches(tolerations: Sequence[Mapping[str, Any]], node: Mapping[str, Any]) -> bool:
    """Whether a DaemonSet pod with these tolerations starts on a node."""
    taints = (node.get("spec") or {}).get("taints") or []
    return tolerates_taints(
        tolerations, [t for t in taints if not t["key"].startswith(_OF_KUBERNETES)]
    )


def tolerations_of(spec: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Tolerations of all pods of the operator, from its DaemonSet settings."""
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
