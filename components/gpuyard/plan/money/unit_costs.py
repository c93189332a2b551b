"""What one unit that a pod can ask for costs an hour, of every pool; and the same sums a month."""

from dataclasses import dataclass, replace

from gpuyard.plan.records import Advertised, PlatformPlan, PoolPlan, Total
from gpuyard.spec.platform import HOURS_PER_MONTH

CASES = ("floor", "expected", "worst")


@dataclass(frozen=True, slots=True)
class UnitCost:
    """What one thing that a pod can ask for costs an hour."""

    pool: str
    unit: str
    """As a stack file counts it; "" for whole GPUs."""
    per_node: int
    gpu_share: str
    usd_per_hour: float | None
    """Its part of a node, at the dearest way to buy one."""
    usd_per_hour_in_use: float | None
    """Its part of the expected bill for each hour in use: idle nodes are paid for too."""


def unit_costs(plan: PlatformPlan) -> tuple[UnitCost, ...]:
    """Every unit of every pool; all units of a node together cost what the node costs."""
    lines = {line.pool: line for line in plan.bill.lines}
    return tuple(
        UnitCost(
            pool=pool.name,
            unit=a.unit,
            per_node=a.per_node,
            gpu_share=str(a.gpu_share),
            usd_per_hour=_part(pool, a, lines[pool.name].usd_per_node),
            usd_per_hour_in_use=_part(
                pool,
                a,
                _usd_per_used_node(lines[pool.name].expected_usd, lines[pool.name].used_nodes),
            ),
        )
        for pool in plan.pools
        for a in pool.advertised
    )


def _usd_per_used_node(usd: float | None, nodes: float) -> float | None:
    """What a node in use costs; nobody can say where none is."""
    return None if usd is None or nodes == 0 else usd / nodes


def _part(pool: PoolPlan, offer: Advertised, node: float | None) -> float | None:
    total = sum(a.per_node * a.gpu_share for a in pool.advertised)
    return None if node is None else node * float(offer.gpu_share / total)


def monthly(total: Total) -> Total:
    """The same a month: as many nodes are unknown as before."""
    return replace(total, known_usd=total.known_usd * HOURS_PER_MONTH)
