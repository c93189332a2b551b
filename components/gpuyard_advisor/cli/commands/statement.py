"""`gpuyard statement`: GPU-hours and cost of a month by team, from recorded series."""

from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Annotated

import typer

from gpuyard.cli.options import StackArgument
from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.views.findings import document, show_rejection
from gpuyard_advisor.cli.options import ExportOption, PrometheusOption, check_source, time_zone
from gpuyard_core.errors import UsageError
from gpuyard_core.terminal.console import results, write
from gpuyard_core.terminal.documents import as_json
from gpuyard_core.terminal.exit_codes import FINDINGS, OK


class StatementFormat(StrEnum):
    """Output format of a statement."""

    TEXT = "text"
    CSV = "csv"
    JSON = "json"
    MARKDOWN = "markdown"


def statement(
    stack: StackArgument,
    month: Annotated[str, typer.Option(metavar="YYYY-MM", help="The month.", show_default=False)],
    export: ExportOption = None,
    live: PrometheusOption = None,
    bill: Annotated[
        str | None,
        typer.Option(
            metavar="USD",
            help="Amount of the provider's invoice, which is split instead of the plan's prices.",
            show_default=False,
        ),
    ] = None,
    timezone: Annotated[
        str,
        typer.Option(
            metavar="ZONE",
            help="Time zone of the billing period, for example America/Los_Angeles.",
        ),
    ] = "UTC",
    format: Annotated[  # noqa: A002  the option's name
        StatementFormat, typer.Option("--format", help="Output format; csv has FOCUS columns.")
    ] = StatementFormat.TEXT,
) -> int:
    """Show the cost of a month by team. Allocated, used and idle GPU-hours, and what is of no team."""
    from gpuyard_advisor.cli.exports import query_metrics, read_export
    from gpuyard_advisor.cli.views.focus import focus_csv
    from gpuyard_advisor.cli.views.statement import (
        show_statement,
        statement_document,
        statement_markdown,
    )
    from gpuyard_advisor.usage.statement import KEYS, make_statement, month_of

    check_source(export, live)
    zone = time_zone(timezone)
    when, cents = month_of(month, zone), None if bill is None else _cents(bill)
    judged = validate_stack(stack)
    plan = judged.plan
    if plan is None:
        if format is StatementFormat.JSON:
            write(as_json(document("statement", judged, statement=None)))
        else:
            show_rejection(judged)
        return FINDINGS
    read = (
        query_metrics(live, when.period, KEYS)
        if live
        else read_export(export or "", when.period, KEYS)
    )
    made = make_statement(when, read, {t.name: t.budget_usd_per_month for t in plan.teams}, cents)
    if format is StatementFormat.JSON:
        write(as_json(document("statement", judged, statement=statement_document(made, plan))))
    elif format is StatementFormat.CSV:
        write(focus_csv(made, plan))
    elif format is StatementFormat.MARKDOWN:
        write(statement_markdown(made, plan, zone))
    else:
        show_statement(made, plan, zone, results())
    return OK


def _cents(text: str) -> int:
    """The cents of an amount in dollars."""
    try:
        amount = Decimal(text)
        cents = int(amount * 100)
    except (InvalidOperation, ValueError, OverflowError):
        amount, cents = Decimal(-1), 0
    if not 0 < amount < 10**12 or amount * 100 != cents:
        raise UsageError(f"--bill {text}: not an amount in dollars and cents, such as 81234.56")
    return cents
