"""The statement of a month: tables for a terminal and for Markdown, a document for programs."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo
from typing import Any

from gpuyard.cli.views.cost import priced
from gpuyard.plan.records import PlatformPlan
from gpuyard_advisor.cli.views.focus import focus_rows
from gpuyard_advisor.cli.views.samples import defect_document, defect_text, local_time
from gpuyard_advisor.cli.views.times import iso_time
from gpuyard_advisor.usage.hours import HOUR
from gpuyard_advisor.usage.statement import TEAM_PARTS, UNCOVERED, Gap, Statement, TeamUse
from gpuyard_core.terminal.console import Column, Console, table
from gpuyard_core.terminal.text import pluralize

_MAX_NOTES = 20
_USE = ("team", "allocated", "used", "idle", "$/allocated", "$/used")
_COST = ("team", "used $", "idle $", "total $", "budget $")


def show_statement(made: Statement, plan: PlatformPlan, zone: tzinfo, console: Console) -> None:
    """Show the teams, what belongs to no team, the total, and what is wrong with the export."""
    console.print((plan.name, "bold"), f"  {_title(made, plan, zone)}")
    console.print_wrapped(_coverage(made), indent=2)
    console.title("Use", "GPU-hours, and dollars for an allocated and for a used one")
    console.show(table(_columns(_USE), map(_use, made.teams)))
    console.title("Cost")
    console.show(table(_columns(_COST), map(_cost, made.teams)))
    for line in _overruns(made):
        console.print_wrapped(line, first="! ", style="yellow", indent=2)
    console.title("Bill")
    console.show(table([Column(""), Column("$", "right")], [*_totals(made)]))
    for line in _prices(made):
        console.print_wrapped(line, style="dim", indent=2)
    notes = [*_notes(made, zone)]
    if notes:
        console.title("Export")
        for line in notes[:_MAX_NOTES]:
            console.print_wrapped(line, first="! ", style="yellow", indent=2)
        if (more := len(notes) - _MAX_NOTES) > 0:
            console.print_wrapped(f"{more:,} more; --format json lists all", indent=2)


def _columns(names: Sequence[str]) -> list[Column]:
    return [Column(names[0], name=True), *(Column(name, "right") for name in names[1:])]


def statement_markdown(made: Statement, plan: PlatformPlan, zone: tzinfo) -> str:
    """The statement for a report or a pull request."""
    lines = [
        f"### Statement of `{plan.name}`",
        "",
        f"{_title(made, plan, zone)}; {_coverage(made)}.",
        "",
        *_markdown(_USE, map(_use, made.teams)),
        *_markdown(_COST, map(_cost, made.teams)),
        *_markdown(("bill", "$"), _totals(made)),
        *(f"{line}." for line in _prices(made)),
        *(f"- {_plain(line)}" for line in _overruns(made)),
        *(f"- {_plain(line)}" for line in _notes(made, zone)),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|---|{'---:|' * (len(head) - 1)}"
    for row in rows:
        yield f"| {' | '.join(map(_plain, row))} |"
    yield ""


def _plain(cell: str) -> str:
    return cell.replace("|", "\\|")


def _title(made: Statement, plan: PlatformPlan, zone: tzinfo) -> str:
    prices = "by the amount of the invoice" if made.invoice else priced(plan)
    return f"{made.month.name} ({zone}), US dollars {prices}"


def _coverage(made: Statement) -> str:
    share = 100 * made.covered / made.month.hours
    text = f"{made.covered:,} of {made.month.hours:,} hours are covered ({share:.1f} %)"
    if made.covered == made.month.hours:
        return text
    where = "are a line of their own" if made.invoice else "are in no sum"
    return f"{text}; the others {where}: nothing is estimated"


def _use(team: TeamUse) -> tuple[str, ...]:
    return (
        team.team,
        *(f"{hours:,.1f}" for hours in (team.allocated, team.used, team.idle)),
        _price(team.usd_per_allocated),
        _price(team.usd_per_used),
    )


def _cost(team: TeamUse) -> tuple[str, ...]:
    return (
        team.team,
        *(_usd(team.cents[part]) for part in TEAM_PARTS),
        _usd(team.total),
        _price(team.budget_usd),
    )


def _overruns(made: Statement) -> Iterator[str]:
    for team in made.teams:
        if team.budget_usd is not None and (over := team.total / 100 - team.budget_usd) > 0:
            yield f"{team.team} is {over:,.2f} $ over its budget"


def _price(usd: float | None) -> str:
    return "-" if usd is None else f"{usd:,.2f}"


def _usd(cents: int) -> str:
    return f"{cents / 100:,.2f}"


def _totals(made: Statement) -> Iterator[tuple[str, str]]:
    yield "teams", _usd(sum(team.total for team in made.teams))
    for part, cents in made.others.items():
        yield part.replace("_", " "), _usd(cents)
    yield "total", _usd(made.cents)


def _prices(made: Statement) -> Iterator[str]:
    """How the total compares with the prices of the plan."""
    allocated = sum(team.allocated for team in made.teams)
    if made.billed:
        yield (
            f"{made.billed:,.1f} GPU-hours billed, {allocated:,.1f} allocated"
            f" ({100 * allocated / made.billed:.1f} %)"
        )
    if made.invoice:
        own = float(made.plan_usd)
        covered = (made.cents - made.others.get(UNCOVERED, 0)) / 100
        difference = covered - own
        yield (
            f"at the prices of the stack file and the catalogue the covered hours cost {own:,.2f} $:"
            f" the invoice differs by {difference:+,.2f} $ ({100 * difference / own:+.1f} %)"
        )


def _notes(made: Statement, zone: tzinfo) -> Iterator[str]:
    for gap in made.gaps:
        yield _gap(gap, zone)
    for defect in made.defects:
        yield defect_text(defect, zone)


def _gap(gap: Gap, zone: tzinfo) -> str:
    return (
        f"{gap.series}: no sample for {pluralize(gap.hours, 'hour')},"
        f" {local_time(gap.start * HOUR, zone)} to {local_time(gap.end * HOUR, zone)}"
    )


def statement_document(made: Statement, plan: PlatformPlan) -> dict[str, Any]:
    """The statement as plain values; times are ISO 8601 in UTC, `charges` has the columns of FOCUS."""
    return {
        "month": made.month.name,
        "start": iso_time(made.month.start * HOUR),
        "end": iso_time(made.month.end * HOUR),
        "hours": made.month.hours,
        "covered_hours": made.covered,
        "invoice": made.invoice,
        "total_usd": made.cents / 100,
        "usd_at_plan_prices": round(float(made.plan_usd), 6),
        "billed_gpu_hours": round(made.billed, 6),
        "teams": [_team_document(team) for team in made.teams],
        "no_team_usd": {part: cents / 100 for part, cents in made.others.items()},
        "charges": focus_rows(made, plan),
        "gaps": [
            {
                "series": gap.series,
                "start": iso_time(gap.start * HOUR),
                "end": iso_time(gap.end * HOUR),
                "hours": gap.hours,
            }
            for gap in made.gaps
        ],
        "defects": [defect_document(each) for each in made.defects],
    }


def _team_document(team: TeamUse) -> dict[str, Any]:
    return {
        "team": team.team,
        "allocated_gpu_hours": round(team.allocated, 6),
        "used_gpu_hours": round(team.used, 6),
        "idle_gpu_hours": round(team.idle, 6),
        "usd_per_allocated_gpu_hour": _round(team.usd_per_allocated),
        "usd_per_used_gpu_hour": _round(team.usd_per_used),
        "usd": {part: cents / 100 for part, cents in team.cents.items()},
        "total_usd": team.total / 100,
        "budget_usd": team.budget_usd,
    }


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
