"""Unit costs of a platform: by pool, by team, by what one can ask for. No text, only figures."""

from dataclasses import dataclass
from typing import Any

from gpuyard.cli.views.documents import tree
from gpuyard.plan.money.savings import savings
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
                pool, a, _in_use(lines[pool.name].expected_usd, lines[pool.name].used_nodes)
            ),
        )
        for pool in plan.pools
        for a in pool.advertised
    )


def _in_use(usd: float | None, nodes: float) -> float | None:
    """What a node in use costs; nobody can say where none is."""
    return None if usd is None or nodes == 0 else usd / nodes


def _part(pool: PoolPlan, offer: Advertised, node: float | None) -> float | None:
    total = sum(a.per_node * a.gpu_share for a in pool.advertised)
    return None if node is None else node * float(offer.gpu_share / total)


def monthly(total: Total) -> Total:
    """The same a month."""
    return Total(total.usd * HOURS_PER_MONTH, total.unknown)


def cost_document(plan: PlatformPlan) -> dict[str, Any]:
    """The bill as a tree; unknown money is null, and its pools are named."""
    bill = plan.bill
    budget = plan.spec.budget
    offers, no_price = savings(plan.spec.prices, bill)
    sums = {case: getattr(bill, case) for case in CASES}
    return {
        **{f"{case}_usd_per_hour": tree(total.usd) for case, total in sums.items()},
        **{
            f"{case}_usd_per_month": tree(total.usd * HOURS_PER_MONTH)
            for case, total in sums.items()
        },
        "unknown_in": {case: list(total.unknown) for case, total in sums.items()},
        "budget_worst_usd_per_hour": budget.worst_usd_per_hour if budget else None,
        "utilisation_percent": tree(bill.utilisation_percent),
        "unknown": list(bill.unknown),
        "simulated": bill.simulated,
        "pools": tree(bill.lines),
        "teams": [
            {
                "team": t.name,
                "guarantee_usd_per_month": tree(t.guarantee_usd_per_month),
                "expected_usd_per_month": tree(t.expected_usd_per_month),
                "budget_usd_per_month": t.budget_usd_per_month,
            }
            for t in plan.teams
        ],
        "shares_usd_per_hour": tree(bill.shares),
        "units": tree(unit_costs(plan)),
        "commitments": tree(bill.commitments),
        "savings": tree(offers),
        "savings_unknown": tree(no_price),
    }
