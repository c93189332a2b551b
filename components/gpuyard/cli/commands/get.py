"""`gpuyard get`: one value of the plan."""

from typing import Annotated

import typer

from gpuyard.cli.options import StackArgument
from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.views.findings import reject, write_document
from gpuyard.cli.views.paths import find, plain_value
from gpuyard_core.terminal.console import write
from gpuyard_core.terminal.documents import tree
from gpuyard_core.terminal.exit_codes import OK
from gpuyard_core.terminal.options import Format, FormatOption


def get(
    stack: StackArgument,
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="For example pools.train.nodes or bill.maximum_usd_per_hour.",
            show_default=False,
        ),
    ],
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Print one value of the plan. Plain text for scripts; JSON for a mapping or a list."""
    judged = validate_stack(stack)
    if judged.plan is None:
        return reject("get", judged, format, path=path, value=None)
    value = find(tree(judged.plan), path)
    if format is Format.JSON:
        write_document("get", judged, path=path, value=value)
    else:
        write(f"{plain_value(value, path)}\n")
    return OK
