"""`gpuyard cost`: the cost of a stack, or the difference to another stack."""

from enum import StrEnum
from typing import Annotated

import typer

from gpuyard.cli.options import StackArgument
from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.views.findings import document, show_rejection, write_document
from gpuyard.stack_validation import plan_rejected_by_budget
from gpuyard_core.terminal.console import results, write
from gpuyard_core.terminal.exit_codes import FINDINGS, OK


class CostFormat(StrEnum):
    """Output format of a bill."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


CostFormatOption = Annotated[CostFormat, typer.Option("--format", help="Output format.")]


def cost(
    stack: StackArgument,
    against: Annotated[
        str | None,
        typer.Option(metavar="STACK", help="Compare with this stack.", show_default=False),
    ] = None,
    format: CostFormatOption = CostFormat.TEXT,  # noqa: A002  the option's name
) -> int:
    """Show the cost of a stack. Minimum, expected and maximum by pool, team and unit, or a comparison."""
    if against is None:
        return _cost_of(stack, format)
    return _changes(against, stack, format)


def _cost_of(stack: str, form: CostFormat) -> int:
    """The bill of one stack."""
    from gpuyard.cli.views.cost import cost_document, cost_markdown, show_cost

    judged = validate_stack(stack)
    # A stack over its budget still shows where the cost comes from.
    plan = judged.plan or plan_rejected_by_budget(judged)
    if form is CostFormat.JSON:
        bill = None if plan is None else cost_document(plan)
        write_document("cost", judged, cost=bill)
    elif plan is not None and form is CostFormat.MARKDOWN:
        write(cost_markdown(plan))
    elif plan is not None:
        show_cost(plan, results())
    if judged.plan is None and form is not CostFormat.JSON:
        show_rejection(judged)
    return FINDINGS if judged.plan is None else OK


def _changes(before: str, after: str, form: CostFormat) -> int:
    """Show the cost difference between two stacks."""
    from gpuyard.cli.views.cost import cost_document
    from gpuyard.cli.views.cost_changes import change_document, changes_markdown, show_changes

    old, new = validate_stack(before), validate_stack(after)
    refused = [judged for judged in (old, new) if judged.plan is None]
    if form is CostFormat.JSON:
        both = None if old.plan is None or new.plan is None else change_document(old.plan, new.plan)
        bill = None if new.plan is None else cost_document(new.plan)
        write_document(
            "cost",
            new,
            cost=bill,
            against=old.file,
            against_findings=document("cost", old)["findings"],
            changes=both,
        )
        return FINDINGS if refused else OK
    if old.plan is None or new.plan is None:
        for judged in refused:
            show_rejection(judged)
        return FINDINGS
    names = (old.file, new.file)
    if form is CostFormat.MARKDOWN:
        write(changes_markdown(old.plan, new.plan, names))
    else:
        show_changes(old.plan, new.plan, names, results())
    return OK
