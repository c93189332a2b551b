"""What a platform costs, taken apart: by pool, by team, by what one can ask for. No text, only figures."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gpuyard.cli.documents import tree
from gpuyard.plan.records import Advertised, BillLine, PlatformPlan, PoolPlan
from gpuyard.spec.platform import HOURS_PER_MONTH


@dataclass(frozen=True, slots=True)
class UnitCost:
    """The list price of one thing a pod can ask for, an hour."""

    pool: str
    unit: str
    """As a stack file counts it; "" for whole GPUs."""
    per_node: int
    gpu_share: str
    usd_per_hour: float | None


def unit_costs(plan: PlatformPlan) -> tuple[UnitCost, ...]:
    """Every unit of every pool; all units of a node together cost what the node costs."""
    prices = {line.pool: line.usd_per_node for line in plan.bill.lines}
    return tuple(
        UnitCost(
            pool.name, a.unit, a.per_node, str(a.gpu_share), _unit_price(pool, a, prices[pool.name])
        )
        for pool in plan.pools
        for a in pool.advertised
    )


def _unit_price(pool: PoolPlan, offer: Advertised, node: float | None) -> float | None:
    total = sum(a.per_node * a.gpu_share for a in pool.advertised)
    return None if node is None else node * float(offer.gpu_share / total)


@dataclass(frozen=True, slots=True)
class Change:
    """One figure before and after; None is unknown, or not there."""

    name: str
    before: float | None
    after: float | None
    was: str
    """What it was before in words; "" when it was not there."""
    now: str

    @property
    def difference(self) -> float | None:
        """After less before. What is not there costs nothing; what is unknown stays unknown."""
        before = self.before if self.was else 0.0
        after = self.after if self.now else 0.0
        return None if before is None or after is None else after - before


def pool_changes(before: PlatformPlan, after: PlatformPlan) -> list[Change]:
    """The worst hour of every pool that is in either."""
    was, now = (_by_pool(p.bill.lines) for p in (before, after))
    return [_change(name, was.get(name), now.get(name)) for name in dict.fromkeys([*was, *now])]


def _by_pool(lines: Iterable[BillLine]) -> dict[str, BillLine]:
    return {line.pool: line for line in lines}


def _change(name: str, was: BillLine | None, now: BillLine | None) -> Change:
    return Change(
        name,
        was.worst_usd if was else None,
        now.worst_usd if now else None,
        f"{was.nodes} × {was.machine}" if was else "",
        f"{now.nodes} × {now.machine}" if now else "",
    )


def team_changes(before: PlatformPlan, after: PlatformPlan) -> list[Change]:
    """The guarantees of every team that is in either, a month."""
    was, now = ({t.name: t for t in p.teams} for p in (before, after))
    changes = []
    for name in dict.fromkeys([*was, *now]):
        old, new = was.get(name), now.get(name)
        changes.append(
            Change(
                name,
                old.guarantee_usd_per_month if old else None,
                new.guarantee_usd_per_month if new else None,
                "there" if old else "",
                "there" if new else "",
            )
        )
    return changes


def total_changes(before: PlatformPlan, after: PlatformPlan) -> list[Change]:
    """Floor and worst hour; only what is known, as everywhere."""
    return [
        Change("floor", before.bill.floor_usd, after.bill.floor_usd, "there", "there"),
        Change("worst", before.bill.worst_usd, after.bill.worst_usd, "there", "there"),
    ]


def unknown_since(line: BillLine) -> str:
    """How an unknown price is written, everywhere."""
    return f"unknown since {line.checked_on}"


def cost_document(plan: PlatformPlan) -> dict[str, Any]:
    """The bill as a tree; unknown money is null, and its pools are named."""
    bill = plan.bill
    budget = plan.spec.budget
    return {
        "floor_usd_per_hour": tree(bill.floor_usd),
        "worst_usd_per_hour": tree(bill.worst_usd),
        "floor_usd_per_month": tree(bill.floor_usd * HOURS_PER_MONTH),
        "worst_usd_per_month": tree(bill.worst_usd * HOURS_PER_MONTH),
        "budget_worst_usd_per_hour": budget.worst_usd_per_hour if budget else None,
        "unknown": list(bill.unknown),
        "simulated": bill.simulated,
        "pools": tree(bill.lines),
        "teams": [
            {
                "team": t.name,
                "guarantee_usd_per_month": tree(t.guarantee_usd_per_month),
                "budget_usd_per_month": t.budget_usd_per_month,
            }
            for t in plan.teams
        ],
        "units": tree(unit_costs(plan)),
    }


def change_document(before: PlatformPlan, after: PlatformPlan) -> dict[str, Any]:
    """Every change as a tree."""

    def listed(changes: list[Change]) -> list[dict[str, Any]]:
        return [
            {
                "name": c.name,
                "before": tree(c.before),
                "after": tree(c.after),
                "difference": tree(c.difference),
            }
            for c in changes
        ]

    return {
        "usd_per_hour": listed(total_changes(before, after)),
        "pools_worst_usd_per_hour": listed(pool_changes(before, after)),
        "teams_usd_per_month": listed(team_changes(before, after)),
    }
