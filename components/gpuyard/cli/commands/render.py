"""`gpuyard render`: write plain Kubernetes manifests to a folder."""

from pathlib import Path
from typing import Annotated

import typer

from gpuyard.cli.options import StackArgument
from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.views.findings import reject, show_accepted_findings, write_document
from gpuyard_core.terminal.console import diagnostics, results
from gpuyard_core.terminal.exit_codes import OK
from gpuyard_core.terminal.options import Format, FormatOption


def render(
    stack: StackArgument,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Output folder: new, empty, or written by this command before.",
            show_default=False,
        ),
    ],
    values: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Late values, as YAML or JSON: `cluster.name: …`.",
            show_default=False,
        ),
    ] = None,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Write plain Kubernetes manifests. The output is reproducible and needs no cluster."""
    from gpuyard.cli.folder import write_folder
    from gpuyard.cli.late_values import read_output_values, unused_values
    from gpuyard.render.files import late_values, render_files

    judged = validate_stack(stack)
    known = read_output_values(values) if values is not None else {}
    if judged.plan is None:
        return reject("render", judged, format, files=[], removed=[])
    written = write_folder(out, render_files(judged.plan, known))
    if format is Format.JSON:
        write_document(
            "render",
            judged,
            out=str(out),
            files=written.files,
            removed=written.removed,
            kept=written.retained,
        )
        return OK
    console = results()
    for name in written.files:
        console.print(str(out / name))
    aside = diagnostics()
    for message in unused_values(known, late_values(judged.plan)):
        aside.print_wrapped(f"{values}: {message}", first="! ")
    for name in written.removed:
        aside.print(f"removed {out / name}: this stack no longer renders it")
    for name in written.retained:
        aside.print(f"kept {out / name}: this stack no longer renders it, but the file was edited")
    show_accepted_findings(judged)
    return OK
