"""`gpuyard version`, `gpuyard schema` and `gpuyard completion`."""

import platform
from enum import StrEnum
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from typing import Annotated

import typer

from gpuyard.cli.views.findings import write_document
from gpuyard_core.terminal.console import Column, results, table, write
from gpuyard_core.terminal.documents import as_json
from gpuyard_core.terminal.exit_codes import OK
from gpuyard_core.terminal.options import COMPLETE_VARIABLE, Format, FormatOption


def version(
    facts: Annotated[
        bool,
        typer.Option(
            "--facts",
            help="Show the age of prices, bulletins, pinned versions and support windows.",
        ),
    ] = False,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Show the version."""
    if facts:
        _show_facts(as_document=format is Format.JSON)
    else:
        show_version(as_document=format is Format.JSON)
    return OK


def _show_facts(*, as_document: bool) -> None:
    """Show the oldest row of each kind of facts, with its age."""
    from gpuyard_core.catalogue.software.ages import ages
    from gpuyard_core.today import today

    result = ages(today())
    if as_document:
        rows = [
            {
                "kind": age.kind,
                "oldest": age.row,
                "as_of": f"{age.as_of}",
                "days": age.days,
                "limit": age.limit,
                "old": age.is_stale,
            }
            for age in result
        ]
        write_document("facts", facts=rows)
        return
    heads = (Column("kind"), Column("oldest row"), Column("of"))
    numbers = (Column("days old", "right"), Column("limit", "right"))
    cells = [(a.kind, a.row, f"{a.as_of}", f"{a.days}", f"{a.limit}") for a in result]
    results().show(table([*heads, *numbers], cells, indent=0))


def show_version(*, as_document: bool) -> None:
    """Show the version; as a document also the Python version."""
    result = installed_version()
    if as_document:
        write_document("version", gpuyard=result, python=platform.python_version())
    else:
        write(f"gpuyard {result}\n")


def installed_version() -> str:
    """Return the version of the installed distribution."""
    try:
        return installed("gpuyard")
    except PackageNotFoundError:
        return "unknown (on sys.path, but not installed)"


def schema() -> int:
    """Print the JSON Schema of stack files."""
    from gpuyard.spec.schema import stack_schema

    write(as_json(stack_schema()))
    return OK


class Shell(StrEnum):
    """A shell with a completion script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(metavar="SHELL", show_default=False)]) -> int:
    """Print the completion script of a shell. Source it in the shell's startup file."""
    from typer._completion_shared import get_completion_script

    script = get_completion_script(
        prog_name="gpuyard", complete_var=COMPLETE_VARIABLE, shell=shell.value
    )
    write(f"{script}\n")
    return OK
