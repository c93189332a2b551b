"""Budgets of the stack file: for the maximum hourly cost, and for every team's guarantees."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import ceil

from gpuyard.plan.draft import Draft
from gpuyard.plan.money.savings import to_monthly_total
from gpuyard.plan.records import Bill, Total
from gpuyard_core.findings import Diagnostic, Fix, Path, Severity, error, format_list, warning

_ROUNDING_USD = 1e-6
"""Totals have rounding errors of binary fractions; a budget is exceeded by more than that."""

_PRICES = Fix(message="write what these nodes cost you under `prices.machines`")


def check_budgets(draft: Draft) -> list[Diagnostic]:
    """Budgets that the bill exceeds, and those that an unknown price may exceed.

    Totals exclude invalid pools: a total that is too high without them is reported, but a lower one
    does not prove that the budget suffices.
    """
    spec = draft.spec
    missing = tuple(name for name, pool in draft.pools.items() if pool is None)
    bill = replace(draft.bill, maximum=_without(draft.bill.maximum, missing))
    lines = {line.pool: line for line in bill.lines}
    findings: list[Diagnostic] = []
    unproved: dict[str, list[int]] = {}
    if spec.budget:
        findings += _check_maximum(spec.budget.max_usd_per_hour, bill)
    for index, team in enumerate(spec.teams):
        limit = team.budget_usd_per_month
        if limit is not None:
            named = {key.partition("/")[0] for key in team.guarantee}
            cost = _without(
                to_monthly_total(bill.shares[index].maximum), named.intersection(missing)
            )
            # the team pays for these pools only, so prices of others do not affect its budget
            own = replace(
                bill,
                lines=tuple(lines[name] for name in sorted(named.intersection(lines))),
                commitments=tuple(
                    c for c in bill.commitments if not named.isdisjoint(p.pool for p in c.covers)
                ),
            )
            if cost.known_usd - limit > _ROUNDING_USD:
                findings.append(_over(index, team.name, limit, own, cost))
            elif why := _unproved(cost, own):
                unproved.setdefault(why, []).append(index)
    findings += (_teams_unproved(draft, why, teams) for why, teams in unproved.items())
    # skipped checks are reported at the pool: "unknown" would suggest that a price is missing
    return [f for f in findings if f.severity is Severity.ERROR] if missing else findings


def _without(cost: Total, missing: Iterable[str]) -> Total:
    return replace(cost, unknown=(*cost.unknown, *missing))


def _over(index: int, name: str, limit: float, bill: Bill, cost: Total) -> Diagnostic:
    path: Path = ("teams", index, "budget_usd_per_month")
    return error(
        "budget.team",
        path,
        f"the guarantees of {name} cost {cost.known_usd:,.0f} $/month at full use{_but(cost, bill)}",
        given=f"{limit:,.0f} $/month",
        allowed=f"at least {ceil(cost.known_usd - _ROUNDING_USD):,} $/month, or smaller guarantees",
        fix=_fix(cost, bill, path),
    )


def _teams_unproved(draft: Draft, why: str, indices: list[int]) -> Diagnostic:
    """One finding for all teams whose budgets depend on the same unknown prices, at the first."""
    names = format_list(draft.spec.teams[index].name for index in indices)
    path: Path = ("teams", indices[0], "budget_usd_per_month")
    return warning("budget.unproved", path, f"the guarantees of {names}: {why}", fix=_PRICES)


def _check_maximum(limit: float, bill: Bill) -> Iterator[Diagnostic]:
    path: Path = ("budget", "max_usd_per_hour")
    cost = bill.maximum
    if cost.known_usd - limit > _ROUNDING_USD:
        costliest = max(bill.lines, key=lambda line: line.maximum.known_usd)
        yield error(
            "budget.worst",
            path,
            f"with every node running, the platform costs {cost.known_usd:,.2f} $/hour{_but(cost, bill)};"
            f" the most expensive pool is {costliest.pool}: {costliest.nodes.high} × {costliest.machine}",
            given=f"{limit:,.2f} $/hour",
            allowed=f"at least {cost.known_usd:,.2f} $/hour, or fewer nodes",
            fix=_fix(cost, bill, path),
        )
    elif why := _unproved(cost, bill):
        yield warning("budget.unproved", path, why, fix=_PRICES)


def _unproved(cost: Total, bill: Bill) -> str:
    """Why a total within its budget is inconclusive; "" where it is not."""
    if cost.unknown:
        return f"the sum excludes unknown prices: {', '.join(cost.unknown)}"
    if bill.elsewhere:
        return f"the sum uses prices of {' and '.join(bill.elsewhere)}, but the platform is in {bill.region}"
    return ""


def _but(cost: Total, bill: Bill) -> str:
    """What a total that is too high excludes or assumes."""
    more = " plus unknown prices" if cost.unknown else ""
    return more + (f" at prices of {' and '.join(bill.elsewhere)}" if bill.elsewhere else "")


def _fix(cost: Total, bill: Bill, path: Path) -> Fix:
    """The lowest sufficient budget, which an inconclusive total does not give."""
    if _unproved(cost, bill):
        return Fix(message=f"{_PRICES.message}, or plan fewer nodes")
    least = ceil(cost.known_usd - _ROUNDING_USD)
    return Fix.write(least, path)
