"""Comparison of two bills: added, removed, changed and renamed pools, and teams. Figures only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gpuyard.plan.money.savings import to_monthly_total
from gpuyard.plan.records import (
    COST_CASES,
    Bill,
    BillLine,
    CommitmentLine,
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
    old_names, new_names = (_first_names(p) for p in (before, after))
    was = {old_names.get(line.pool, line.pool): line for line in before.bill.lines}
    now = {new_names.get(line.pool, line.pool): line for line in after.bill.lines}
    changes = [_pool(was.get(key), now.get(key)) for key in dict.fromkeys([*was, *now])]
    return [*changes, *_idle_change(before.bill, after.bill), *_fee_change(before.bill, after.bill)]


def _idle_change(before: Bill, after: Bill) -> list[PoolChange]:
    """All idle commitments together: no team's share includes them."""
    was, now = (_committed(bill) for bill in (before, after))
    if not was and not now:
        return []
    cases = (
        BillChange(
            case,
            _idle(before.commitments, case) if was else None,
            _idle(after.commitments, case) if now else None,
        )
        for case in COST_CASES
    )
    return [PoolChange((IDLE,), was, now, tuple(cases))]


IDLE = "idle commitments"


def _committed(bill: Bill) -> tuple[BilledNodes, ...]:
    return tuple(BilledNodes(str(c.nodes), c.machine) for c in bill.commitments)


def _idle(commitments: Sequence[CommitmentLine], case: str) -> Total:
    return sum((c.idle_cost(case) for c in commitments), start=Total())


CLUSTER_FEE = "cluster fee"


def _fee_change(before: Bill, after: Bill) -> list[PoolChange]:
    was, now = (tuple(BilledNodes("1", fee.service) for fee in b.fees) for b in (before, after))
    if not was and not now:
        return []
    cases = (BillChange(case, _fees(before, case), _fees(after, case)) for case in COST_CASES)
    return [PoolChange((CLUSTER_FEE,), was, now, tuple(cases))]


def _fees(bill: Bill, case: str) -> Total | None:
    return sum((fee.total(case) for fee in bill.fees), start=Total()) if bill.fees else None


def _first_names(plan: PlatformPlan) -> dict[str, str]:
    return {pool.name: pool.stable_name for pool in plan.pools}


def _pool(was: BillLine | None, now: BillLine | None) -> PoolChange:
    names = dict.fromkeys(line.pool for line in (was, now) if line)
    return PoolChange(tuple(names), _nodes(was), _nodes(now), _cases(was, now))


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
