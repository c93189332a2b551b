"""The bill: tables for a terminal, Markdown for a pull request, a document for programs."""

from collections.abc import Iterable, Sequence
from typing import Any

from gpuyard.cli.views.documents import money
from gpuyard.plan.money.bill_changes import CLUSTER_FEE, UNASSIGNED
from gpuyard.plan.money.savings import Saving, savings, to_monthly_total, unit_costs
from gpuyard.plan.records import COST_CASES, Bill, BillLine, PlatformPlan, Total
from gpuyard.spec.platform import HOURS_PER_MONTH
from gpuyard_core.terminal.console import Cell, Column, Console, number_columns, table
from gpuyard_core.terminal.documents import tree
from gpuyard_core.terminal.text import pluralize, usd

SIMULATED = (
    "Simulated nodes cost nothing; these are list prices of the same machines on their cloud."
)


def show_cost(plan: PlatformPlan, console: Console) -> None:
    """Show totals, then cost by pool, team, unit and commitment, then the price sources."""
    console.print((plan.name, "bold"), f"  {plan.cloud}, US dollars {priced(plan)}")
    show_totals(plan, console)
    _show_pools(plan.bill, console)
    _show_teams(plan, console)
    _show_units(plan, console)
    _show_commitments(plan.bill, console)
    _show_savings(plan, console)
    _show_prices(plan, console)


def priced(plan: PlatformPlan) -> str:
    """Which prices apply, and in which region."""
    where = f" in {' and '.join(plan.bill.priced_in)}" if plan.bill.priced_in else ""
    if not plan.spec.prices:
        return f"at list price{where}"
    return f"at your prices, else at list price{where}" if where else "at your prices"


def expected_case_assumptions(bill: Bill) -> str:
    """The assumptions of the expected cost, in one sentence."""
    return (
        f"expected: {bill.utilisation_percent:g} % of every pool's maximum in use all week, at least the"
        " minimum and the keep-warm nodes; capacity options in their order, spot at its mean price"
    )


def show_totals(plan: PlatformPlan, console: Console) -> None:
    """Show the three costs per hour and month, with the limit of the stack file."""
    bill, budget = plan.bill, plan.spec.budget
    most = f"limit: {usd(budget.max_usd_per_hour)} $/hour" if budget else ""
    rows = [
        (
            case,
            money(getattr(bill, case)),
            money(to_monthly_total(getattr(bill, case)), nodes=False),
            most if case == "maximum" else "",
        )
        for case in COST_CASES
    ]
    columns = [Column(""), *number_columns("$/hour", "$/month"), Column("", wraps=True)]
    console.show(table(columns, rows))
    console.note(expected_case_assumptions(bill))
    missing = unknown_prices(bill)
    for text in [*missing, *priced_elsewhere(bill)]:
        console.print_wrapped(text, first="! ", style="yellow", indent=2)
    if missing or bill.elsewhere:
        yours = "set the prices that you pay under `prices` in the stack file to include them in the sums"
        console.print_wrapped(yours, style="dim", indent=4)


def priced_elsewhere(bill: Bill) -> list[str]:
    """A note when the prices are those of another region than the platform's."""
    if not bill.elsewhere:
        return []
    return [f"prices of {' and '.join(bill.elsewhere)}, but the platform is in {bill.region}"]


def unknown_prices(bill: Bill) -> list[str]:
    """Each unknown price, with the sums that lack it."""
    lines = [
        f"{line.pool} ({line.machine}): {why}, not in {_sums(cases)}"
        for line in bill.lines
        if (cases := [case for case in COST_CASES if getattr(line, f"{case}_usd_per_hour") is None])
        for why in dict.fromkeys(p.basis for p in line.prices if p.mean is None or p.high is None)
    ]
    return lines + [
        f"commitment to {c.nodes} × {c.machine}: {c.basis}, not in the sums"
        for c in bill.commitments
        if c.usd_per_node is None
    ]


def _sums(cases: Sequence[str]) -> str:
    if len(cases) == len(COST_CASES):
        return "the sums"
    return f"the {'sums' if len(cases) > 1 else 'sum'} of {' and '.join(cases)}"


def _show_pools(bill: Bill, console: Console) -> None:
    console.title("Pools", "$/hour; running: nodes on average in the expected cost")
    figures = number_columns("nodes", "running", *COST_CASES)
    console.show(table([Column("pool", name=True), Column("machine"), *figures], _rows(bill)))
    for line in bill.lines:
        for note in filter(None, (line.note, _maximum_prices(line))):
            console.note(f"{line.pool}: {note}")
    for fee in bill.fees:
        if fee.note:
            console.note(f"{CLUSTER_FEE}: {fee.note}")
    if bill.left_out:
        console.note(excluded_costs(bill))


def excluded_costs(bill: Bill) -> str:
    """Billed items that the sums leave out."""
    return f"not in the sums: {', '.join(bill.left_out)}"


def _maximum_prices(line: BillLine) -> str:
    """For interchangeable machines: the one that sets the maximum cost, unless it is the first."""
    prices = []
    for price in line.prices:
        dearest = max(price.each, key=lambda p: p.high or 0.0, default=price)
        if dearest.machine != price.machine and dearest.high and price.high is not None:
            prices.append(f"{price.mode} at most {usd(dearest.high)} ({dearest.machine})")
    return ", ".join(dict.fromkeys(prices))


IDLE = "idle commitment"


def _rows(bill: Bill) -> list[tuple[str, ...]]:
    """Pools, unused commitments, which are of no pool, and cluster fees."""
    rows: list[tuple[str, ...]] = [
        (
            line.pool,
            line.machine,
            str(line.nodes),
            f"{line.running_nodes:.4g}",
            *(money(getattr(line, case), nodes=False) for case in COST_CASES),
        )
        for line in bill.lines
    ]
    rows += [
        (IDLE, c.machine, str(c.nodes), "", *(money(c.idle_cost(case)) for case in COST_CASES))
        for c in bill.commitments
        if any((c.idle_minimum, c.idle_expected, c.idle_maximum))
    ]
    rows += [
        (CLUSTER_FEE, fee.service, "", "", *(money(fee.total(case)) for case in COST_CASES))
        for fee in bill.fees
    ]
    return rows


def _show_teams(plan: PlatformPlan, console: Console) -> None:
    if not plan.teams:
        return
    console.title("Teams", "$/month; guarantee: at full use, its share of the maximum cost")
    bill = plan.bill
    budgets = (
        "-" if t.budget_usd_per_month is None else usd(t.budget_usd_per_month) for t in plan.teams
    )
    rows: list[Sequence[Cell]] = [
        (s.team or UNASSIGNED, _monthly(s.maximum), _monthly(s.expected), budget)
        for s, budget in zip(bill.shares, [*budgets, ""], strict=True)
    ]
    rows.append(("total", _monthly(bill.maximum), _monthly(bill.expected), ""))
    columns = number_columns("guarantee", "expected", "budget")
    console.show(table([Column("team", name=True), *columns], rows))


def _monthly(total: Total) -> str:
    return money(to_monthly_total(total), nodes=False)


def _show_units(plan: PlatformPlan, console: Console) -> None:
    console.title("Usable units", "$/hour for one; in use: expected cost / hours in use")
    rows = [
        (
            u.pool,
            u.unit or "whole GPU",
            str(u.per_node),
            u.gpu_share,
            usd(u.usd_per_hour),
            usd(u.usd_per_hour_in_use),
        )
        for u in unit_costs(plan)
    ]
    figures = number_columns("per node", "GPU share", "$/hour", "in use")
    console.show(table([Column("pool", name=True), Column("unit"), *figures], rows))


def _show_commitments(bill: Bill, console: Console) -> None:
    if not bill.commitments:
        return
    console.title("Commitments", "paid whether used or not")
    for line in bill.commitments:
        is_unknown = line.usd_per_node is None
        price = (
            f"a {line.basis}" if is_unknown else f"{usd(line.usd_per_node)} $/hour ({line.basis})"
        )
        console.print_wrapped(
            f"{line.nodes} × {line.machine} for {pluralize(line.years, 'year')} at {price}:"
            f" {_break_even(line.break_even_percent)}",
            indent=2,
        )
        # the nodes that the commitment covers, and its idle nodes
        parts = [
            f"{c.baseline} of {pluralize(c.baseline + c.burst, 'node')} of {c.pool}"
            f" ({c.minimum:.4g} minimum, {c.expected:.4g} expected), {c.burst} not covered"
            for c in line.covers
        ]
        console.print_wrapped(
            f"covers {'; '.join(parts) or 'no node of any pool'}; idle: {line.idle_minimum:.4g} at minimum cost,"
            f" {line.idle_expected:.4g} at expected cost",
            indent=4,
        )


def _break_even(percent: float | None) -> str:
    """The hours a month from which a commitment is cheaper."""
    if percent is None:
        return "break-even with on-demand unknown"
    if percent >= _ALWAYS:
        return "never cheaper than on-demand"
    return f"cheaper than on-demand from {_hours(percent)} a month in use"


_ALWAYS = 100


def _hours(percent: float) -> str:
    if percent >= _ALWAYS:
        return "never"
    return f"{percent / 100 * HOURS_PER_MONTH:.0f} h ({percent:.0f} %)"


def _show_savings(plan: PlatformPlan, console: Console) -> None:
    result, unknown = savings(plan.spec.prices, plan.bill)
    if not result and not unknown:
        return
    console.title(
        "Commitments on offer", "$/month saved compared with on-demand; in brackets: nodes"
    )
    if result:
        columns = [
            Column("pool", name=True),
            Column("commitment"),
            *number_columns("$/hour", "cheaper from", "minimum", "expected"),
        ]
        console.show(table(columns, [_saving(s) for s in result]))
        console.note("expected: the saving if this many nodes run all the time; fewer may run")
    for source in dict.fromkeys(s.source for s in result if not s.verified):
        console.note(source, "* not verified: ")
    by_offer: dict[tuple[str, str], list[str]] = {}
    for none in unknown:
        offer = (", ".join(none.commitments), str(none.since))
        by_offer.setdefault(offer, []).append(none.machine)
    for (names, since), machines in by_offer.items():
        console.print_wrapped(
            f"{', '.join(machines)}: {names}: price unknown as of {since}", indent=2
        )


def _saving(saving: Saving) -> tuple[Cell, ...]:
    named = f"{saving.commitment}{'' if saving.verified else ' *'}"
    return (
        saving.pool,
        tuple(named.split(" ", 1)),
        usd(saving.usd_per_node),
        _hours(saving.break_even_percent),
        _saved(saving.minimum_usd_per_month, saving.min_nodes),
        _saved(saving.expected_usd_per_month, saving.expected_nodes),
    )


def _saved(amount: float, nodes: int) -> Cell:
    """The amount, and the nodes on a second line, so that the table fits 80 columns."""
    return (usd(amount), f"({nodes})") if nodes else "-"


def _show_prices(plan: PlatformPlan, console: Console) -> None:
    console.title("Prices", "$/hour per node")
    results = {
        (each.machine or line.machine, each.mode): each
        for line in plan.bill.lines
        for price in line.prices
        for each in price.each or (price,)
    }
    fees = plan.bill.fees
    rows = [
        (machine, mode, _range(p.low, p.high), p.basis) for (machine, mode), p in results.items()
    ]
    rows += [
        (f.service, "cluster", _range(f.minimum_usd_per_hour, f.maximum_usd_per_hour), f.basis)
        for f in fees
    ]
    columns = [
        *map(Column, ("machine", "capacity")),
        Column("low-high", "right"),
        Column("source", wraps=True),
    ]
    console.show(table(columns, rows))
    sources = [*(p.source for p in results.values()), *(f.source for f in fees)]
    for source in filter(None, dict.fromkeys(sources)):
        console.print_wrapped(source, first="  ", style="dim", indent=0)
    if plan.bill.simulated:
        console.print_wrapped(SIMULATED, indent=2)


def _range(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "unknown" if high is None else f"at most {usd(high)}"
    return usd(low) if low == high else f"{usd(low)}-{usd(high)}"


def markdown_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], names: int = 1
) -> list[str]:
    """The lines of a table and an empty line; columns after the first `names` are numbers."""
    head, *lines = (f"| {' | '.join(row)} |" for row in (heads, *rows))
    head = head.replace("|  |", "| |")  # a column without a head
    return [head, f"|{'---|' * names}{'---:|' * (len(heads) - names)}", *lines, ""]


def cost_markdown(plan: PlatformPlan) -> str:
    """One stack's bill for a pull request."""
    bill = plan.bill
    totals = {case: getattr(bill, case) for case in COST_CASES}
    heads = ("pool", "machine", "nodes", "running", *COST_CASES)
    lines = [
        f"### Cost of `{plan.name}`",
        "",
        f"US dollars {priced(plan)}; {expected_case_assumptions(bill)}.",
        "",
        *markdown_table(
            ("", "$/hour", "$/month"),
            [(case, money(each), money(to_monthly_total(each))) for case, each in totals.items()],
        ),
        *markdown_table(heads, _rows(bill), names=2),
    ]
    if plan.teams:
        rows = [
            (s.team or UNASSIGNED, _monthly(s.maximum), _monthly(s.expected)) for s in bill.shares
        ]
        lines += markdown_table(("team, $/month", "guarantee", "expected"), rows)
    return "\n".join([*lines, *caveats(plan)]).rstrip() + "\n"


def caveats(*plans: PlatformPlan) -> list[str]:
    """Notes on what the sums leave out."""
    unknown = dict.fromkeys(
        f"{text}."
        for plan in plans
        for text in [*unknown_prices(plan.bill), *priced_elsewhere(plan.bill)]
    )
    simulated = [SIMULATED] if any(p.bill.simulated for p in plans) else []
    more = dict.fromkeys(f"{capital(excluded_costs(p.bill))}." for p in plans if p.bill.left_out)
    return [*unknown, *more, *simulated]


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def cost_document(plan: PlatformPlan) -> dict[str, Any]:
    """The bill as a document; an unknown price is null."""
    bill = plan.bill
    budget = plan.spec.budget
    offers, no_price = savings(plan.spec.prices, bill)
    sums = {case: getattr(bill, case) for case in COST_CASES}
    return {
        **{f"{case}_usd_per_hour": tree(total.usd) for case, total in sums.items()},
        **{
            f"{case}_usd_per_month": tree(to_monthly_total(total).usd)
            for case, total in sums.items()
        },
        "known_usd_per_hour": {case: tree(total.known_usd) for case, total in sums.items()},
        "unknown_nodes": {case: tree(total.unknown_nodes) for case, total in sums.items()},
        "unknown_in": {case: list(total.unknown) for case, total in sums.items()},
        "budget_max_usd_per_hour": budget.max_usd_per_hour if budget else None,
        "utilisation_percent": tree(bill.utilisation_percent),
        "unknown": list(bill.unknown),
        "simulated": bill.simulated,
        "region": bill.region,
        "priced_in": list(bill.priced_in),
        "elsewhere": list(bill.elsewhere),
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
        "fees": tree(bill.fees),
        "left_out": list(bill.left_out),
        "shares_usd_per_hour": tree(bill.shares),
        "units": tree(unit_costs(plan)),
        "commitments": tree(bill.commitments),
        "savings": tree(offers),
        "savings_unknown": tree(no_price),
    }
