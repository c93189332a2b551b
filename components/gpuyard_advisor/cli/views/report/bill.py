"""The bill as bars: the three cases, then pools, teams and price sources."""

from collections.abc import Iterator, Sequence

from gpuyard.cli.views.cost import (
    SIMULATED,
    excluded_costs,
    expected_case_assumptions,
    priced,
    priced_elsewhere,
    unknown_prices,
)
from gpuyard.cli.views.documents import money
from gpuyard.plan.money.bill_changes import CLUSTER_FEE, UNASSIGNED
from gpuyard.plan.money.savings import to_monthly_total
from gpuyard.plan.records import COST_CASES, Bill, PlatformPlan
from gpuyard.plan.records.money import Total
from gpuyard_advisor.cli.views.report.html import (
    Cell,
    Element,
    bar,
    el,
    fold,
    legend,
    section,
    table,
)
from gpuyard_core.terminal.text import usd


def bill_section(plan: PlatformPlan) -> Element:
    """Totals, pools, teams and sources; an unknown price is named, never a number."""
    bill = plan.bill
    warnings = [*unknown_prices(bill), *priced_elsewhere(bill)]
    if bill.left_out:
        warnings.append(excluded_costs(bill))
    return section(
        "bill",
        "Bill",
        f"US dollars {priced(plan)}.{f' {SIMULATED}' if bill.simulated else ''}",
        _totals(plan),
        el("p", {"class": "note"}, expected_case_assumptions(bill)),
        el("ul", {"class": "warnings"}, *(el("li", None, each) for each in warnings))
        if warnings
        else None,
        legend(("full", "minimum"), ("lent", "up to expected"), ("may", "up to maximum")),
        _pools(bill),
        _teams(plan) if plan.teams else None,
        _sources(bill),
    )


def _totals(plan: PlatformPlan) -> Element:
    bill, budget = plan.bill, plan.spec.budget
    limit = budget.max_usd_per_hour if budget else 0.0
    scale = max([bill.maximum.known_usd, limit])
    rows: list[tuple[Cell, ...]] = [
        (case, _bar(total, scale), money(total), money(to_monthly_total(total), nodes=False))
        for case in COST_CASES
        for total in (getattr(bill, case),)
    ]
    if limit:
        monthly = usd(to_monthly_total(Total(limit)).usd)
        rows.append(("limit of the budget", bar([("may", limit)], scale), usd(limit), monthly))
    return table("Cost of the platform", ("case", "", "$/hour", "$/month"), rows, (2, 3))


def _bar(total: Total, scale: float) -> Element:
    """The known part as a bar, and a hatched end for an unknown part."""
    unknown = scale * 0.06 if total.unknown else 0.0
    known = min(total.known_usd, scale - unknown)
    return bar([("cost", known), ("none", unknown)], scale)


def _cases(total: dict[str, Total], scale: float) -> Element:
    """Minimum, expected and maximum as consecutive parts of one bar."""
    low, middle, high = (total[case].known_usd for case in COST_CASES)
    return bar([("full", low), ("lent", middle - low), ("may", high - middle)], scale)


def _pools(bill: Bill) -> Element:
    lines = [
        (line.pool, line.machine, {c: getattr(line, c) for c in COST_CASES}) for line in bill.lines
    ]
    lines += [
        (each.display_name, "unused part", {c: each.idle_cost(c) for c in COST_CASES})
        for each in bill.commitments
        if any((each.idle_minimum, each.idle_expected, each.idle_maximum))
    ]
    lines += [
        (CLUSTER_FEE, fee.service, {c: fee.total(c) for c in COST_CASES}) for fee in bill.fees
    ]
    scale = max((total["maximum"].known_usd for _, _, total in lines), default=0.0)
    rows: list[Sequence[Cell]] = [
        (name, machine, _cases(total, scale), *(money(total[c], nodes=False) for c in COST_CASES))
        for name, machine, total in lines
    ]
    heads = ("pool", "machine", "minimum, expected, maximum", *COST_CASES)
    return table("Pools, $/hour", heads, rows, (3, 4, 5))


def _teams(plan: PlatformPlan) -> Element:
    budgets = [team.budget_usd_per_month for team in plan.teams]
    scale = max(
        [s.maximum.known_usd for s in plan.bill.shares]
        + [(b or 0.0) / to_monthly_total(Total(1.0)).known_usd for b in budgets]
    )
    rows: list[tuple[Cell, ...]] = []
    for share, budget in zip(plan.bill.shares, [*budgets, None], strict=True):
        total = {c: getattr(share, c) for c in COST_CASES}
        each = (money(to_monthly_total(total[c]), nodes=False) for c in COST_CASES)
        name = UNASSIGNED if share.team is None else share.team
        rows.append((name, _cases(total, scale), *each, "–" if budget is None else usd(budget)))
    heads = ("team", "minimum, expected, maximum", *COST_CASES, "budget")
    return table("Teams, $/month, by their guarantees", heads, rows, (2, 3, 4, 5))


def _sources(bill: Bill) -> Element:
    """Where each price comes from."""
    heads = ("machine", "capacity", "$/hour for a node", "source")
    return fold("Price sources", table("Price sources", heads, dict.fromkeys(_prices(bill)), (2,)))


def _prices(bill: Bill) -> Iterator[tuple[str, ...]]:
    for line in bill.lines:
        for price in line.prices:
            for each in price.each or (price,):
                source = f"{each.basis}; {each.source}" if each.source else each.basis
                yield each.machine or line.machine, each.mode, _range(each.low, each.high), source
    for fee in bill.fees:
        source = f"{fee.basis}; {fee.source}" if fee.source else fee.basis
        amount = _range(fee.minimum_usd_per_hour, fee.maximum_usd_per_hour)
        yield fee.service, "cluster", amount, source


def _range(low: float | None, high: float | None) -> str:
    if low is None or high is None or low == high:
        return usd(high)
    return f"{usd(low)} to {usd(high)}"
