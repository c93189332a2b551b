"""The bill: tables on a terminal, Markdown for a pull request, a tree for programs."""

from collections.abc import Sequence
from typing import Any

from gpuyard.cli.terminal.console import Cell, Column, Console, table
from gpuyard.cli.terminal.text import money, pluralize, usd
from gpuyard.cli.views.documents import tree
from gpuyard.plan.money.bill_changes import CLUSTER_FEE
from gpuyard.plan.money.savings import Saving, savings
from gpuyard.plan.money.unit_costs import CASES, monthly, unit_costs
from gpuyard.plan.records import Bill, BillLine, CommitmentLine, NodePrice, PlatformPlan
from gpuyard.spec.platform import HOURS_PER_MONTH

SIMULATED = (
    "Simulated nodes cost nothing; these are list prices of the same machines on their cloud."
)


def show_cost(plan: PlatformPlan, console: Console) -> None:
    """Totals, then by pool, team, unit and commitment, then where the prices come from."""
    console.print((plan.name, "bold"), f"  {plan.cloud}, US dollars {priced(plan)}")
    show_totals(plan, console)
    _show_pools(plan.bill, console)
    _show_teams(plan, console)
    _show_units(plan, console)
    _show_commitments(plan.bill, console)
    _show_savings(plan, console)
    _show_prices(plan, console)


def priced(plan: PlatformPlan) -> str:
    """Whose prices, and where they are asked."""
    where = f" in {' and '.join(plan.bill.priced_in)}" if plan.bill.priced_in else ""
    if not plan.spec.prices:
        return f"at list price{where}"
    return f"at your prices, else at list price{where}" if where else "at your prices"


def profile(bill: Bill) -> str:
    """What the expected case assumes, in one sentence."""
    return (
        f"expected: {bill.utilisation_percent:g} % of every pool's maximum in use all week, never fewer"
        " nodes than the minimum and the warm windows; the ladder in its order, spot at its mean"
    )


def show_totals(plan: PlatformPlan, console: Console) -> None:
    """The three cases, an hour and a month, with the limit the stack file sets."""
    bill, budget = plan.bill, plan.spec.budget
    most = f"{usd(budget.max_usd_per_hour)} an hour allowed" if budget else ""
    rows = [
        (
            case,
            money(getattr(bill, case)),
            money(monthly(getattr(bill, case)), nodes=False),
            most if case == "worst" else "",
        )
        for case in CASES
    ]
    columns = [
        Column(""),
        Column("$/hour", "right"),
        Column("$/month", "right"),
        Column("", wraps=True),
    ]
    console.show(table(columns, rows))
    console.print_wrapped(profile(bill), style="dim", indent=2)
    missing = unknown_prices(bill)
    for text in [*missing, *priced_elsewhere(bill)]:
        console.print_wrapped(text, first="! ", style="yellow", indent=2)
    if missing or bill.elsewhere:
        console.print_wrapped(_YOURS, style="dim", indent=4)


_YOURS = "what you pay goes under `prices` in the stack file, and into the sums"


def priced_elsewhere(bill: Bill) -> list[str]:
    """That prices are those of another region than the platform's, where they are."""
    if not bill.elsewhere:
        return []
    return [f"prices of {' and '.join(bill.elsewhere)}, and the platform is in {bill.region}"]


def unknown_prices(bill: Bill) -> list[str]:
    """Each price that is in no sum, with the day it was looked for."""
    lines = [
        f"{line.pool} ({line.machine}): {why}, not in {_sums(cases)}"
        for line in bill.lines
        if (cases := [case for case in CASES if getattr(line, f"{case}_usd") is None])
        for why in dict.fromkeys(p.basis for p in line.prices if p.mean is None or p.high is None)
    ]
    return lines + [
        f"commitment to {c.nodes} × {c.machine}: {c.basis}, not in the sums"
        for c in bill.commitments
        if c.usd_per_node is None
    ]


def _sums(cases: Sequence[str]) -> str:
    if len(cases) == len(CASES):
        return "the sums"
    return f"the {'sums' if len(cases) > 1 else 'sum'} of {' and '.join(cases)}"


def _show_pools(bill: Bill, console: Console) -> None:
    console.title("Pools", "$/hour; running: nodes on average, as expected")
    columns = [
        Column("pool", name=True),
        Column("machine"),
        Column("nodes", "right"),
        Column("running", "right"),
        *(Column(case, "right") for case in CASES),
    ]
    console.show(table(columns, _rows(bill)))
    for line in bill.lines:
        for note in filter(None, (line.note, _at_worst(line))):
            console.print_wrapped(f"{line.pool}: {note}", style="dim", indent=2)
    for fee in bill.fees:
        if fee.note:
            console.print_wrapped(f"{CLUSTER_FEE}: {fee.note}", style="dim", indent=2)
    if bill.left_out:
        console.print_wrapped(excluded_costs(bill), style="dim", indent=2)


def excluded_costs(bill: Bill) -> str:
    """What else the cloud bills."""
    return f"not in the sums: {', '.join(bill.left_out)}"


def _fees(bill: Bill) -> list[tuple[str, ...]]:
    return [
        (CLUSTER_FEE, fee.service, "", "", *(money(fee.total(case)) for case in CASES))
        for fee in bill.fees
    ]


def _at_worst(line: BillLine) -> str:
    """Of like machines: whose price the worst case takes, where it is not the first one's."""
    prices = []
    for price in line.prices:
        dearest = max(price.each, key=lambda p: p.high or 0.0, default=price)
        if dearest.machine != price.machine and dearest.high and price.high is not None:
            prices.append(f"{price.mode} at worst {dearest.machine} at {usd(dearest.high)}")
    return ", ".join(dict.fromkeys(prices))


def _line(line: BillLine) -> tuple[str, ...]:
    return (
        line.pool,
        line.machine,
        str(line.nodes),
        f"{line.running_nodes:.4g}",
        *(money(getattr(line, case), nodes=False) for case in CASES),
    )


IDLE = "idle commitment"


def _rows(bill: Bill) -> list[tuple[str, ...]]:
    return [*map(_line, bill.lines), *_idle(bill), *_fees(bill)]


def _idle(bill: Bill) -> list[tuple[str, ...]]:
    """Commitments that are paid and not used are nobody's nodes, but they are on the bill."""
    rows = []
    for c in bill.commitments:
        if any((c.idle_floor, c.idle_expected, c.idle_worst)):
            costs = [money(c.idle(case)) for case in CASES]
            rows.append((IDLE, c.machine, str(c.nodes), "", *costs))
    return rows


def _show_teams(plan: PlatformPlan, console: Console) -> None:
    if not plan.teams:
        return
    console.title("Teams", "$/month; guarantee: at full use, its part of the worst case")
    budgets = [
        "-" if t.budget_usd_per_month is None else usd(t.budget_usd_per_month) for t in plan.teams
    ]
    rows: list[Sequence[Cell]] = [
        (
            "nobody's" if s.team is None else s.team,
            money(monthly(s.worst), nodes=False),
            money(monthly(s.expected), nodes=False),
            budget,
        )
        for s, budget in zip(plan.bill.shares, [*budgets, ""], strict=True)
    ]
    bill = plan.bill
    together = (money(monthly(each), nodes=False) for each in (bill.worst, bill.expected))
    rows.append(("together", *together, ""))
    columns = [
        Column("team", name=True),
        Column("guarantee", "right"),
        Column("expected", "right"),
        Column("budget", "right"),
    ]
    console.show(table(columns, rows))


def _show_units(plan: PlatformPlan, console: Console) -> None:
    console.title("Usable units", "$/hour of one; in use: the expected bill over the hours in use")
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
    columns = [
        Column("pool", name=True),
        Column("unit"),
        Column("a node", "right"),
        Column("of a GPU", "right"),
        Column("$/hour", "right"),
        Column("in use", "right"),
    ]
    console.show(table(columns, rows))


def _show_commitments(bill: Bill, console: Console) -> None:
    if not bill.commitments:
        return
    console.title("Commitments", "paid for whether they run or not")
    for line in bill.commitments:
        console.print_wrapped(
            f"{line.nodes} × {line.machine} for {pluralize(line.years, 'year')} at {_each(line)}:"
            f" {_break_even(line.break_even_percent)}",
            indent=2,
        )
        console.print_wrapped(_split(line), indent=4)


def _each(line: CommitmentLine) -> str:
    if line.usd_per_node is None:
        return f"a {line.basis}"
    return f"{usd(line.usd_per_node)} $/hour ({line.basis})"


def _split(line: CommitmentLine) -> str:
    """What the commitment pays for, and what is left."""
    parts = [
        f"{c.baseline} of {pluralize(c.baseline + c.burst, 'node')} of {c.pool}"
        f" ({c.floor:.4g} at the floor, {c.expected:.4g} as expected), {c.burst} are burst"
        for c in line.covers
    ]
    pays = f"pays for {'; '.join(parts)}" if parts else "pays for no node of any pool"
    return f"{pays}; idle: {line.idle_floor:.4g} at the floor, {line.idle_expected:.4g} as expected"


def _break_even(percent: float | None) -> str:
    """From how many hours a month a commitment is the cheaper way."""
    if percent is None:
        return "when it is cheaper than on demand is unknown"
    if percent >= _ALWAYS:
        return "never cheaper than on demand"
    return f"cheaper than on demand from {_hours(percent)} of running a month"


_ALWAYS = 100


def _hours(percent: float) -> str:
    if percent >= _ALWAYS:
        return "never"
    return f"{percent / 100 * HOURS_PER_MONTH:.0f} h ({percent:.0f} %)"


def _show_savings(plan: PlatformPlan, console: Console) -> None:
    result, unknown = savings(plan.spec.prices, plan.bill)
    if not result and not unknown:
        return
    console.title("Commitments on offer", "$/month saved against on demand; in brackets: nodes")
    if result:
        columns = [
            Column("pool", name=True),
            Column("commitment"),
            Column("a node", "right"),
            Column("cheaper from", "right"),
            Column("floor", "right"),
            Column("expected", "right"),
        ]
        console.show(table(columns, [_saving(s) for s in result]))
        console.print_wrapped(
            "expected: if that many nodes run all the time; an average does not promise it",
            style="dim",
            indent=2,
        )
    for source in dict.fromkeys(s.source for s in result if not s.verified):
        console.print_wrapped(source, first="* not verified: ", style="dim", indent=2)
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
        _saved(saving.floor_usd_per_month, saving.floor_nodes),
        _saved(saving.expected_usd_per_month, saving.expected_nodes),
    )


def _saved(amount: float, nodes: int) -> Cell:
    """The nodes in a line of their own: a fleet saves millions, and the table has 80 columns."""
    return (usd(amount), f"({nodes})") if nodes else "-"


def _show_prices(plan: PlatformPlan, console: Console) -> None:
    console.title("Prices", "$/hour of a node")
    results = {
        (each.machine or line.machine, each.mode): each
        for line in plan.bill.lines
        for price in line.prices
        for each in price.each or (price,)
    }
    rows = [(machine, mode, _range(p), p.basis) for (machine, mode), p in results.items()]
    fees = plan.bill.fees
    rows += [(f.service, "cluster", _from_to(f.floor_usd, f.worst_usd), f.basis) for f in fees]
    columns = [
        Column("machine"),
        Column("bought"),
        Column("low-high", "right"),
        Column("from", wraps=True),
    ]
    console.show(table(columns, rows))
    sources = [*(p.source for p in results.values()), *(f.source for f in fees)]
    for source in filter(None, dict.fromkeys(sources)):
        console.print_wrapped(source, first="  ", style="dim", indent=0)
    if plan.bill.simulated:
        console.print_wrapped(SIMULATED, indent=2)


def _range(price: NodePrice) -> str:
    if price.low is None or price.high is None:
        return "unknown" if price.high is None else f"at most {usd(price.high)}"
    return _from_to(price.low, price.high)


def _from_to(low: float, high: float) -> str:
    return usd(low) if low == high else f"{usd(low)}-{usd(high)}"


def cost_markdown(plan: PlatformPlan) -> str:
    """One stack's bill for a pull request."""
    bill = plan.bill
    lines = [
        f"### Cost of `{plan.name}`",
        "",
        f"US dollars {priced(plan)}; {profile(bill)}.",
        "",
        "| | $/hour | $/month |",
        "|---|---:|---:|",
    ]
    for case in CASES:
        total = getattr(bill, case)
        lines.append(f"| {case} | {money(total)} | {money(monthly(total))} |")
    lines += [
        "",
        "| pool | machine | nodes | running | floor | expected | worst |",
        "|---|---|---:|---:|---:|---:|---:|",
        *("| " + " | ".join(row) + " |" for row in _rows(bill)),
        "",
    ]
    if plan.teams:
        lines += ["| team, $/month | guarantee | expected |", "|---|---:|---:|"]
        for s in bill.shares:
            name = "nobody's" if s.team is None else s.team
            sums = (money(monthly(each), nodes=False) for each in (s.worst, s.expected))
            lines.append(f"| {name} | {' | '.join(sums)} |")
        lines.append("")
    return "\n".join([*lines, *caveats(plan)]).rstrip() + "\n"


def caveats(*plans: PlatformPlan) -> list[str]:
    """What a sum does not say by itself."""
    unknown = dict.fromkeys(
        f"{text}."
        for plan in plans
        for text in [*unknown_prices(plan.bill), *priced_elsewhere(plan.bill)]
    )
    simulated = [SIMULATED] if any(p.bill.simulated for p in plans) else []
    more = dict.fromkeys(_sentence(excluded_costs(p.bill)) for p in plans if p.bill.left_out)
    return [*unknown, *more, *simulated]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def cost_document(plan: PlatformPlan) -> dict[str, Any]:
    """The bill as a tree; unknown money is null, and its pools are named."""
    bill = plan.bill
    budget = plan.spec.budget
    offers, no_price = savings(plan.spec.prices, bill)
    sums = {case: getattr(bill, case) for case in CASES}
    return {
        **{f"{case}_usd_per_hour": tree(total.usd) for case, total in sums.items()},
        **{f"{case}_usd_per_month": tree(monthly(total).usd) for case, total in sums.items()},
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
