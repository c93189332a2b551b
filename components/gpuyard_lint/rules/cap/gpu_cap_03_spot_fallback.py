"""GPU-CAP-03: a spot pool has a fallback."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import (
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
from gpuyard_lint.rules.subjects.pools import POOL_KINDS, GpuPool, gpu_pools, is_gpu_machine

_ENOUGH_TYPES = 2
_CLASS = "cloud.google.com/ComputeClass"


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    for compute_class in stack.resources_of_kinds(_CLASS):
        yield from _of_class(compute_class)
    pools = list(gpu_pools(stack.resources_of_kinds(*POOL_KINDS)))
    if any(pool.on_demand for pool in pools):
        return
    for pool in pools:
        if pool.may_use_spot and len(set(pool.machines)) == 1:  # none: any machine of a family
            yield Violation(
                _where(pool),
                "all GPU nodes are spot of one machine type: when it is unavailable, no node starts",
                "allow several machine types, or add an on-demand pool as fallback",
                pool.resource,
            )


def _of_class(compute_class: Resource) -> Iterator[Violation]:
    """GKE tries priorities in order; after the last, any machine or none."""
    spec = mapping(compute_class.properties, "spec")
    tried = mappings(spec, "priorities")
    usual = mapping(spec, "priorityDefaults")
    if any("nodepools" in each for each in tried) or not any(map(_has_gpus, tried)):
        return  # the provisioning of a named pool is defined elsewhere
    spot = all(is_true(each.get("spot", usual.get("spot"))) for each in tried)
    if spot and len({str(_machine(each)) for each in tried}) < _ENOUGH_TYPES:
        yield Violation(
            ("spec", "priorities"),
            "all GPU nodes of this class are spot of one machine type: when it is unavailable, no node starts",
            "add a priority without spot or with another machine type",
            compute_class,
        )


def _has_gpus(priority: Mapping[str, Any]) -> bool:
    return bool(mapping(priority, "gpu")) or is_gpu_machine(text(priority, "machineType"))


def _machine(priority: Mapping[str, Any]) -> Any:
    """The machines of one priority."""
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
    why="Spot capacity of one GPU type in one region disappears all at once, with every job on it.",
    fix="Allow several machine types in spot pools, or add an on-demand pool.",
    sources=(
        "Karpenter documentation, disruption: interruption; AWS spot best practices",
        "GKE documentation, custom compute classes: priorities, spot, priorityDefaults",
    ),
    kinds=(*POOL_KINDS, _CLASS),
    check_stack=_check,
)
