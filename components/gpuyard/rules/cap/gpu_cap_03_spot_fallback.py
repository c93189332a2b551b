"""GPU-CAP-03: a pool on spot has somewhere else to turn."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.findings import Severity
from gpuyard.rules.rule import (
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    is_true,
    mapping,
    mappings,
    text,
)
from gpuyard.rules.subjects.pools import POOL_KINDS, GpuPool, gpu_pools, is_gpu_machine

_ENOUGH_TYPES = 2
_CLASS = "cloud.google.com/ComputeClass"


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    for compute_class in stack.of(_CLASS):
        yield from _of_class(compute_class)
    pools = list(gpu_pools(stack.of(*POOL_KINDS)))
    if any(pool.on_demand for pool in pools):
        return
    for pool in pools:
        if pool.spot and len(set(pool.machines)) == 1:  # none: it may be any of a family
            yield Violation(
                _where(pool),
                "all GPU nodes are spot of one machine type: when it runs out there is none at all",
                "allow several machine types, or add a pool on demand that spot falls back to",
                pool.resource,
            )


def _of_class(compute_class: Resource) -> Iterator[Violation]:
    """Each priority is tried when the one before has nothing; then what may be anything, or nothing."""
    spec = mapping(compute_class.properties, "spec")
    tried = mappings(spec, "priorities")
    usual = mapping(spec, "priorityDefaults")
    if any("nodepools" in each for each in tried) or not any(map(_has_gpus, tried)):
        return  # how a pool that is named buys its nodes stands elsewhere
    spot = all(is_true(each.get("spot", usual.get("spot"))) for each in tried)
    if spot and len({str(_machine(each)) for each in tried}) < _ENOUGH_TYPES:
        yield Violation(
            ("spec", "priorities"),
            "all GPU nodes of this class are spot of one machine type: when it runs out there is none at all",
            "add a priority without spot, or of other machines",
            compute_class,
        )


def _has_gpus(priority: Mapping[str, Any]) -> bool:
    return bool(mapping(priority, "gpu")) or is_gpu_machine(text(priority, "machineType"))


def _machine(priority: Mapping[str, Any]) -> Any:
    """What one priority gets nodes of."""
    return text(priority, "machineType") or text(priority, "gpu", "type")


def _where(pool: GpuPool) -> tuple[str, ...]:
    return {
        "aws:eks/NodeGroup": ("capacityType",),
        "gcp:container/NodePool": ("nodeConfig", "spot"),
    }.get(pool.resource.group_kind, ("spec", "template", "spec", "requirements"))


RULE = Rule(
    id="GPU-CAP-03",
    title="Spot GPU nodes have a fallback",
    severity=Severity.WARNING,
    why="Spot capacity of one GPU type in one region goes all at once, and with it every job.",
    fix="Give spot pools several machine types, or a pool on demand beside them.",
    sources=(
        "Karpenter documentation, disruption: interruption; AWS spot best practices",
        "GKE documentation, custom compute classes: priorities, spot, priorityDefaults",
    ),
    kinds=(*POOL_KINDS, _CLASS),
    check_stack=_check,
)
