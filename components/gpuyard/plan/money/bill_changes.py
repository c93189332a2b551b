"""One bill against another: pools that come, go, change or are renamed, teams, and what else differs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuyard.cli.terminal.text import many, usd
from gpuyard.cli.views.documents import tree
from gpuyard.plan.money.unit_costs import CASES, monthly
from gpuyard.plan.records import Bill, BillLine, PlatformPlan, Share, Total
from gpuyard.spec.sections import Commitment, Prices


@dataclass(frozen=True, slots=True)
class BillChange:
    """One figure before and after; None is unknown, or not there."""

    name: str
    before: float | None
    after: float | None
    was: str
    """What it was before in words; "" when it was not there."""
    now: str
    partial: tuple[bool, bool] = (False, False)
    """Before and after: whether it is a sum of which a part is unknown."""

    @property
    def difference(self) -> float | None:
        """After less before. What is not there costs nothing; what is unknown stays unknown."""
        before = self.before if self.was else 0.0
        after = self.after if self.now else 0.0
        if before is None or after is None or any(self.partial):
            return None
        return after - before

    @property
    def is_one(self) -> bool:
        """True when anything is different, in the figure or in words."""
        was, now = self.partial
        return (self.before, self.was, was) != (self.after, self.now, now)


@dataclass(frozen=True, slots=True)
class PoolChange:
    """One pool in the three cases, floor first."""

    name: str
    cases: tuple[BillChange, ...]

    @property
    def is_one(self) -> bool:
        """True when nodes, machine or a cost is different."""
        return any(case.is_one for case in self.cases)

    @property
    def nodes(self) -> str:
        """`4 → 2 × p5.48xlarge`, or that it is new or removed."""
        was, now = self.cases[0].was, self.cases[0].now
        if not was:
            return f"new: {now}"
        if not now:
            return f"removed: {was}"
        if was == now:
            return now
        (before, _, old), (after, _, new) = was.partition(_TIMES), now.partition(_TIMES)
        return f"{before} → {after}{_TIMES}{new}" if old == new else f"{was} → {now}"


_TIMES = " × "
_THERE = "there"


def pool_changes(before: PlatformPlan, after: PlatformPlan) -> list[PoolChange]:
    """Every pool that is in either; a pool that the stack file says was renamed is one pool.

    Commitments that no pool uses are on the bill beside the pools, and so they are here.
    """
    old_names, new_names = (_first_names(p) for p in (before, after))
    was = {old_names.get(line.pool, line.pool): line for line in before.bill.lines}
    now = {new_names.get(line.pool, line.pool): line for line in after.bill.lines}
    changes = [
        PoolChange(_named(was.get(key), now.get(key)), _cases(was.get(key), now.get(key)))
        for key in dict.fromkeys([*was, *now])
    ]
    return [*changes, *_idle_change(before.bill, after.bill)]


def _idle_change(before: Bill, after: Bill) -> list[PoolChange]:
    """All idle commitments together: shares know them as nobody's."""
    was, now = (_committed(bill) for bill in (before, after))
    if not was and not now:
        return []
    cases = (BillChange(case, _idle(before, case), _idle(after, case), was, now) for case in CASES)
    return [PoolChange("idle commitments", tuple(cases))]


def _committed(bill: Bill) -> str:
    return ", ".join(f"{c.nodes}{_TIMES}{c.machine}" for c in bill.commitments)


def _idle(bill: Bill, case: str) -> float | None:
    costs: list[float | None] = [getattr(c, f"idle_{case}_usd") for c in bill.commitments]
    return None if None in costs else sum(usd for usd in costs if usd is not None)


def _first_names(plan: PlatformPlan) -> dict[str, str]:
    return {pool.name: pool.stable_name for pool in plan.pools}


def _named(was: BillLine | None, now: BillLine | None) -> str:
    names = dict.fromkeys(line.pool for line in (was, now) if line)
    return " → ".join(names)


def _cases(was: BillLine | None, now: BillLine | None) -> tuple[BillChange, ...]:
    return tuple(
        BillChange(
            case,
            getattr(was, f"{case}_usd") if was else None,
            getattr(now, f"{case}_usd") if now else None,
            f"{was.nodes}{_TIMES}{was.machine}" if was else "",
            f"{now.nodes}{_TIMES}{now.machine}" if now else "",
        )
        for case in CASES
    )


def team_changes(
    before: PlatformPlan, after: PlatformPlan, case: str = "worst"
) -> list[BillChange]:
    """Every team's part of the bill a month, and nobody's; `worst` is the guarantees at full use."""
    was, now = (_shares(p.bill.shares, case) for p in (before, after))
    return [
        _sums(name, was.get(name), now.get(name))
        for name in sorted({**was, **now}, key=lambda name: name == NOBODY)
    ]


NOBODY = "nobody's"


def _shares(shares: Sequence[Share], case: str) -> Mapping[str, Total]:
    """Without teams everything is nobody's, which says nothing."""
    if len(shares) == 1:
        return {}
    return {NOBODY if s.team is None else s.team: monthly(getattr(s, case)) for s in shares}


def total_changes(before: PlatformPlan, after: PlatformPlan) -> list[BillChange]:
    """The three cases."""
    return [_sums(case, getattr(before.bill, case), getattr(after.bill, case)) for case in CASES]


def _sums(name: str, was: Total | None, now: Total | None) -> BillChange:
    return BillChange(
        name,
        was.usd if was else None,
        now.usd if now else None,
        _THERE if was else "",
        _THERE if now else "",
        (bool(was and was.unknown), bool(now and now.unknown)),
    )


def notes(before: PlatformPlan, after: PlatformPlan) -> list[str]:
    """What else is different, and bears on the bill."""
    said = []
    was, now = before.bill.utilisation_percent, after.bill.utilisation_percent
    if was != now:
        said.append(f"the expected case has {now:g} % in use, before {was:g} %")
    limits = [p.spec.budget.worst_usd_per_hour if p.spec.budget else None for p in (before, after)]
    if limits[0] != limits[1]:
        shown = ["none" if limit is None else f"{usd(limit)} $/hour" for limit in limits]
        said.append(f"the limit on the worst hour: {shown[0]} → {shown[1]}")
    old, new = before.spec.prices or Prices(), after.spec.prices or Prices()
    if old.discount_percent != new.discount_percent:
        said.append(
            f"the discount on list prices: {old.discount_percent:g} % → {new.discount_percent:g} %"
        )
    said += [
        f"your price of {name} is another"
        for name in sorted({*old.machines, *new.machines})
        if old.machines.get(name) != new.machines.get(name)
    ]
    said += [f"no more: {_commitment(c)}" for c in old.commitments if c not in new.commitments]
    said += [f"new: {_commitment(c)}" for c in new.commitments if c not in old.commitments]
    return said


def _commitment(entry: Commitment) -> str:
    return f"commitment to {entry.nodes} × {entry.machine} for {many(entry.years, 'year')}"


def change_document(before: PlatformPlan, after: PlatformPlan) -> dict[str, Any]:
    """Every change as a tree, also of what stays the same."""
    return {
        "usd_per_hour": [_tree(c) for c in total_changes(before, after)],
        "pools_usd_per_hour": [
            {
                "name": pool.name,
                "was": pool.cases[0].was,
                "now": pool.cases[0].now,
                **{case.name: _tree(case, named=False) for case in pool.cases},
            }
            for pool in pool_changes(before, after)
        ],
        "teams_usd_per_month": [_tree(c) for c in team_changes(before, after)],
        "teams_expected_usd_per_month": [_tree(c) for c in team_changes(before, after, "expected")],
        "notes": notes(before, after),
    }


def _tree(change: BillChange, *, named: bool = True) -> dict[str, Any]:
    figures = {
        "before": tree(change.before),
        "after": tree(change.after),
        "difference": tree(change.difference),
    }
    return {"name": change.name, **figures} if named else figures
