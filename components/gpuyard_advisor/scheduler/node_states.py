"""Nodes as their cluster reports them: allocatable resources and taints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuyard_core.manifests.fields import mapping, mappings, text
from gpuyard_core.manifests.pods import Taint
from gpuyard_core.manifests.quantities import quantity, whole_units

CORDONED = "node.kubernetes.io/unschedulable"
NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
_OF_READINESS = frozenset({NOT_READY, UNREACHABLE})
_KEEP_OFF = frozenset({"NoSchedule", "NoExecute"})


@dataclass(frozen=True, slots=True)
class NodeState:
    """The current state of one node."""

    allocatable: Mapping[str, int] | None = None
    """Allocatable resources; None if unknown."""
    taints: tuple[Taint, ...] = ()
    """Taints other than the pool's, including cordoned and not ready."""


def node_state(value: Any, of_pool: Sequence[Taint]) -> NodeState:
    """Read a Node; fields that it lacks are as planned."""
    return NodeState(_allocatable(value), tuple(dict.fromkeys(_taints(value, of_pool))))


def _allocatable(value: Any) -> dict[str, int] | None:
    allocatable = mapping(value, "status", "allocatable")
    amounts = {r: quantity(amount) for r, amount in allocatable.items() if isinstance(r, str)}
    return {r: whole_units(r, n) for r, n in amounts.items() if n is not None} or None


def _taints(value: Any, of_pool: Sequence[Taint]) -> list[Taint]:
    """The node controller adds these taints with a delay, so the conditions are read as well."""
    conditions = {
        text(c, "type"): text(c, "status") for c in mappings(value, "status", "conditions")
    }
    ours = {(t.key, t.effect) for t in of_pool}
    results = [
        Taint(text(t, "key"), text(t, "value"), text(t, "effect"))
        for t in mappings(value, "spec", "taints")
    ]
    blocking = [t for t in results if t.effect in _KEEP_OFF and (t.key, t.effect) not in ours]
    if mapping(value, "spec").get("unschedulable") is True:
        blocking.insert(0, Taint(CORDONED, ""))
    if conditions.get("Ready", "True") != "True" and not any(
        t.key in _OF_READINESS for t in blocking
    ):
        blocking.append(Taint(NOT_READY, ""))
    return blocking
