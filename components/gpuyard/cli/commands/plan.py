"""`gpuyard plan`: the derived platform."""

from typing import Annotated

import typer

from gpuyard.cli.options import StackArgument
from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.views.findings import reject, show_accepted_findings, write_document
from gpuyard_core.terminal.console import results
from gpuyard_core.terminal.documents import tree
from gpuyard_core.terminal.exit_codes import OK
from gpuyard_core.terminal.options import Format, FormatOption


def plan(
    stack: StackArgument,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Also show labels, taints and zones.")
    ] = False,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Show the derived platform. Its pools, nodes, teams, queues, shapes and cost."""
    judged = validate_stack(stack)
    if judged.plan is None:
        return reject("plan", judged, format, plan=None)
    if format is Format.JSON:
        write_document("plan", judged, plan=tree(judged.plan))
        return OK
    from gpuyard.cli.views.plan import show_plan

    show_plan(judged.plan, results(), verbose=verbose)
    show_accepted_findings(judged)
    return OK
