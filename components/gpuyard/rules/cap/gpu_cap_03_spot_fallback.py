"""GPU-CAP-03: a pool on spot has somewhere else to turn."""

from collections.abc import Iterator

from gpuyard.findings import Severity
from gpuyard.rules.rule import Parameters, Rule, Stack, Violation
from gpuyard.rules.subjects.pools import POOL_KINDS, GpuPool, gpu_pools

_ENOUGH_TYPES = 2


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    pools = list(gpu_pools(stack.of(*POOL_KINDS)))
    if any(pool.on_demand for pool in pools):
        return
    for pool in pools:
        if pool.spot and len(set(pool.machines)) < _ENOUGH_TYPES:
            yield Violation(
                _where(pool),
                "all GPU nodes are spot of one machine type: when it runs out there is none at all",
                "allow several machine types, or add a pool on demand that spot falls back to",
                pool.resource,
            )


def _where(pool: GpuPool) -> tuple[str, ...]:
    return {
        "aws:eks/NodeGroup": ("capacityType",),
        "gcp:container/NodePool": ("nodeConfig", "spot"),
    }.get(pool.resource.group_kind, ("spec", "template", "spec", "requirements"))


RULE = Rule(
    id="GPU-CAP-03",
    title="Spot GPU nodes have a fallback",
    severity=Severity.WARN,
    why="Spot capacity of one GPU type in one region goes all at once, and with it every job.",
    fix="Give spot pools several machine types, or a pool on demand beside them.",
    sources=("Karpenter documentation, disruption: interruption; AWS spot best practices",),
    kinds=POOL_KINDS,
    check_stack=_check,
)
