"""Arguments that several commands share."""

from typing import Annotated

import typer

from gpuyard_core.stack_files import complete_stacks

StackArgument = Annotated[
    str,
    typer.Argument(
        metavar="STACK",
        help="Name of a stack in `stacks/`, or path of a stack file.",
        autocompletion=complete_stacks,
        show_default=False,
    ),
]
