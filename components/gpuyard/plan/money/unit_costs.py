"""The hourly cost of each unit that a pod can request, for every pool; and totals by month."""

from dataclasses import dataclass, replace

from gpuyard.plan.records import AdvertisedResource, PlatformPlan, PoolPlan, Total
from gpuyard.spec.platform import HOURS_PER_MONTH


@dataclass(frozen=True, slots=True)
class UnitCost:
    """The hourly cost of one unit that a pod can request."""

    pool: str
    unit: str
    """As a stack file counts it; "" for whole GPUs."""
    per_node: int
    gpu_share: str
    usd_per_hour: float | None
    """Its part of a node's price, on the most expensive capacity option."""
    usd_per_hour_in_use: float | None
    """Its part of the expected cost for each hour in use: it includes idle nodes."""


def unit_costs(plan: PlatformPlan) -> tuple[UnitCost, ...]:
    """Every unit of every pool; all units of a node together cost as much as the node."""
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
                _usd_per_used_node(
                    lines[pool.name].expected_usd_per_hour, lines[pool.name].used_nodes
                ),
            ),
        )
        for pool in plan.pools
        for a in pool.advertised
    )


def _usd_per_used_node(usd: float | None, nodes: float) -> float | None:
    """The cost of a node in use; None where none is."""
    return None if usd is None or nodes == 0 else usd / nodes


def _part(pool: PoolPlan, offer: AdvertisedResource, node: float | None) -> float | None:
    total = sum(a.per_node * a.gpu_share for a in pool.advertised)
    return None if node is None else node * float(offer.gpu_share / total)


def to_monthly_total(total: Total) -> Total:
    """The same by month; the number of nodes with unknown price stays."""
    return replace(total, known_usd=total.known_usd * HOURS_PER_MONTH)
