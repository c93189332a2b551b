"""`gpuyard why`: the documentation of a finding or a rule."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from gpuyard.cli.shipped import distribution_folder
from gpuyard_core.errors import UsageError
from gpuyard_core.suggestions import nearest_name
from gpuyard_core.terminal.console import results
from gpuyard_core.terminal.exit_codes import OK
from gpuyard_core.terminal.pages import page_title, show_page
from gpuyard_lint import rules_folder


def complete_ids(incomplete: str) -> list[str]:
    """Complete ids for the shell."""
    return [each for each in _pages() if each.lower().startswith(incomplete.lower())]


def why(
    id: Annotated[  # noqa: A002  what it is called everywhere
        str | None,
        typer.Argument(
            metavar="[ID]",
            help="Id of a finding such as mig.placement, or of a rule such as GPU-TEN-02. "
            "Default: list all.",
            autocompletion=complete_ids,
            show_default=False,
        ),
    ] = None,
) -> int:
    """Show the documentation of a finding or a rule. Includes an example and a fix."""
    pages = _pages()
    console = results()
    if id is None:
        width = max(map(len, pages))
        for name, path in pages.items():
            console.print_wrapped(page_title(path), first=f"{name.ljust(width)}  ")
        return OK
    by_id = {name.lower(): page for name, page in pages.items()}
    page = by_id.get(id.lower())
    if page is None:
        raise UsageError(f"no finding and no rule {id!r}. {_hint(id.lower(), pages)}")
    show_page(page, console)
    return OK


def _hint(value: str, ids: Iterable[str]) -> str:
    """All ids of an area if only the area is given, else the nearest id."""
    ids = tuple(ids)
    area = [each for each in ids if each.lower().startswith((f"{value}.", f"{value}-"))]
    if value and area:
        return f"Known: {', '.join(area)}."
    suggestion = nearest_name(value, ids)
    return f"Did you mean {suggestion}?" if suggestion else "`gpuyard why` lists all."


def _pages() -> dict[str, Path]:
    """Every page by its id, findings first."""
    results = [
        page
        for folder in (distribution_folder("findings"), rules_folder())
        for page in sorted(folder.glob("*.md"))
    ]
    return {page.stem: page for page in results if page.stem != "index"}
