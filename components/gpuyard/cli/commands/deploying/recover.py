"""`gpuyard recover`: repair a stack after an interrupted `pulumi up`."""

import os
from pathlib import Path
from typing import Annotated

import typer

from gpuyard.cli.views.findings import write_document
from gpuyard.recovery import PulumiStack
from gpuyard.recovery import recover as recovered
from gpuyard_core.terminal.console import write
from gpuyard_core.terminal.exit_codes import FINDINGS, OK
from gpuyard_core.terminal.options import Format, FormatOption


def recover(
    stack: Annotated[
        str,
        typer.Argument(
            metavar="STACK", help="A Pulumi stack of this folder's project.", show_default=False
        ),
    ],
    config_file: Annotated[
        Path | None,
        typer.Option(
            "--config-file",
            metavar="FILE",
            help="Configuration file of the stack, if `pulumi up` used another file.",
            exists=True,
            dir_okay=False,
            show_default=False,
        ),
    ] = None,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Repair a stack after an interrupted `pulumi up`. Removes its lock and imports what it created."""
    result = recovered(PulumiStack(stack, Path.cwd(), os.environ, config_file))
    up = f"pulumi up --stack {stack}" + (f" --config-file {config_file}" if config_file else "")
    if format is Format.JSON:
        write_document("recover", stack=stack, did=result.actions, left=result.remaining)
    else:
        lines = [*result.actions]
        if result.remaining:
            lines += ["You must decide:", *(f"  {one}" for one in result.remaining)]
        elif result.actions:
            lines.append(f"Next: {up}")
        else:
            lines.append(
                f"Stack {stack} needs no repair: no lock, no pending operation, no existing resource to import."
            )
        write("".join(f"{line}\n" for line in lines))
    return FINDINGS if result.remaining else OK
