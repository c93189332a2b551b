"""Comparison of two bills: added, removed, changed and renamed pools, and teams. Figures only."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gpuyard.plan.money.savings import to_monthly_total
from gpuyard.plan.records import (
    COST_CASES,
    Bill,
    BillLine,
    PlatformPlan,
    TeamCostShare,
    Total,
)


class BilledNodes(NamedTuple):
    """A number of nodes of one machine: `0..4` of `p5.48xlarge`."""

    number: str
    machine: str


@dataclass(frozen=True, slots=True)
class BillChange:
    """One figure before and after; None: absent."""

    name: str
    before: Total | None
    after: Total | None

    @property
    def difference(self) -> float | None:
        """After minus before. What is absent costs nothing; what is unknown stays unknown."""
        before, after = ((each or Total()).usd for each in (self.before, self.after))
        return None if before is None or after is None else after - before

    @property
    def is_changed(self) -> bool:
        """True when the figure is different, added or removed."""
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class PoolChange:
    """One pool in the three cases, minimum first."""

    names: tuple[str, ...]
    """Its name; of a pool that was renamed the old and the new one."""
    nodes_before: tuple[BilledNodes, ...]
    """Empty when the pool is new."""
    nodes_after: tuple[BilledNodes, ...]
    cases: tuple[BillChange, ...]

    @property
    def is_changed(self) -> bool:
        """True when nodes, machine or a cost is different."""
        return self.nodes_before != self.nodes_after or any(case.is_changed for case in self.cases)


def pool_changes(before: PlatformPlan, after: PlatformPlan) -> list[PoolChange]:
    """Every pool of either plan; a pool that the stack file declares as renamed is one pool.

    As on the bill, the cluster fee and commitments that no pool uses are listed with the pools.
    """
    was, now = (_lines_by_first_name(plan) for plan in (before, after))
    bills = before.bill, after.bill
    return [
        *(_pool(was.get(key), now.get(key)) for key in dict.fromkeys([*was, *now])),
        *_whole(
            IDLE,
            bills,
            lambda bill: tuple(BilledNodes(str(c.nodes), c.machine) for c in bill.commitments),
            lambda bill, case: sum((c.idle_cost(case) for c in bill.commitments), start=Total()),
        ),
        *_whole(
            CLUSTER_FEE,
            bills,
            lambda bill: tuple(BilledNodes("1", fee.service) for fee in bill.fees),
            lambda bill, case: sum((fee.total(case) for fee in bill.fees), start=Total()),
        ),
    ]


def _lines_by_first_name(plan: PlatformPlan) -> dict[str, BillLine]:
    names = {pool.name: pool.stable_name for pool in plan.pools}
    return {names.get(line.pool, line.pool): line for line in plan.bill.lines}


def _pool(was: BillLine | None, now: BillLine | None) -> PoolChange:
    names = dict.fromkeys(line.pool for line in (was, now) if line)
    return PoolChange(tuple(names), _nodes(was), _nodes(now), _cases(was, now))


def _whole(
    name: str,
    bills: tuple[Bill, Bill],
    nodes: Callable[[Bill], tuple[BilledNodes, ...]],
    cost: Callable[[Bill, str], Total],
) -> list[PoolChange]:
    """A change of what no team's share includes; empty if neither bill has it."""
    before, after = bills
    was, now = nodes(before), nodes(after)
    cases = (
        BillChange(case, cost(before, case) if was else None, cost(after, case) if now else None)
        for case in COST_CASES
    )
    return [PoolChange((name,), was, now, tuple(cases))] if was or now else []


IDLE = "idle commitments"


CLUSTER_FEE = "cluster fee"


def _nodes(line: BillLine | None) -> tuple[BilledNodes, ...]:
    return (BilledNodes(str(line.nodes), line.machine),) if line else ()


def _cases(was: BillLine | None, now: BillLine | None) -> tuple[BillChange, ...]:
    return tuple(
        BillChange(case, getattr(was, case) if was else None, getattr(now, case) if now else None)
        for case in COST_CASES
    )


def team_changes(
    before: PlatformPlan, after: PlatformPlan, case: str = "maximum"
) -> list[BillChange]:
    """Each team's monthly share, and the unassigned one; `maximum` is guarantees at full use."""
    was, now = (_shares(p.bill.shares, case) for p in (before, after))
    return [
        BillChange(name, was.get(name), now.get(name))
        for name in sorted({**was, **now}, key=lambda name: name == UNASSIGNED)
    ]


UNASSIGNED = "unassigned"


def _shares(shares: Sequence[TeamCostShare], case: str) -> Mapping[str, Total]:
    """Without teams everything is unassigned, and there is nothing to compare."""
    if len(shares) == 1:
        return {}
    return {
        UNASSIGNED if s.team is None else s.team: to_monthly_total(getattr(s, case)) for s in shares
    }


def total_changes(before: PlatformPlan, after: PlatformPlan) -> list[BillChange]:
    """The three cases."""
    return [
        BillChange(case, getattr(before.bill, case), getattr(after.bill, case))
        for case in COST_CASES
    ]
