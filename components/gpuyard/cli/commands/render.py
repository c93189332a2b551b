"""`gpuyard render`: plain Kubernetes manifests, in a folder of their own."""

from pathlib import Path
from typing import Annotated

import typer

from gpuyard.cli.exit_codes import FINE
from gpuyard.cli.options import Format, FormatOption, StackArgument
from gpuyard.cli.stacks import judge_stack
from gpuyard.cli.terminal.console import asides, results, write
from gpuyard.cli.views.documents import as_json
from gpuyard.cli.views.findings import document, refused, show_beside


def render(
    stack: StackArgument,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Output folder: new, empty, or rendered before.",
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
    from gpuyard.cli.late_values import read_values, unasked
    from gpuyard.render.files import late_values, render_files

    judged = judge_stack(stack)
    known = read_values(values) if values is not None else {}
    if judged.plan is None:
        return refused("render", judged, format, files=[], removed=[])
    written = write_folder(out, render_files(judged.plan, known))
    if format is Format.JSON:
        write(
            as_json(
                document(
                    "render",
                    judged,
                    out=str(out),
                    files=written.files,
                    removed=written.removed,
                    kept=written.kept,
                )
            )
        )
        return FINE
    console = results()
    for name in written.files:
        console.say(str(out / name))
    aside = asides()
    for says in unasked(known, late_values(judged.plan)):
        aside.tell(f"{values}: {says}", first="! ")
    for name in written.removed:
        aside.say(f"removed {out / name}: this stack no longer makes it")
    for name in written.kept:
        aside.say(f"kept {out / name}: this stack no longer makes it, but somebody has changed it")
    show_beside(judged)
    return FINE
