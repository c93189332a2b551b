"""`gpuyard why`: the documentation of a finding or a rule."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from gpuyard.cli.exit_codes import OK
from gpuyard.cli.shipped import shipped_folder
from gpuyard.cli.terminal.console import Console, results
from gpuyard.errors import UsageError
from gpuyard.spec.suggestions import nearest_name

_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_FENCE = "```"
_MADE_FROM = "This page is made from"


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
            console.print_wrapped(_title(path), first=f"{name.ljust(width)}  ")
        return OK
    by_id = {name.lower(): page for name, page in pages.items()}
    page = by_id.get(id.lower())
    if page is None:
        raise UsageError(f"no finding and no rule {id!r}. {_hint(id.lower(), pages)}")
    _show(page.read_text(encoding="utf-8"), console)
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
        page for name in ("findings", "rules") for page in sorted(shipped_folder(name).glob("*.md"))
    ]
    return {page.stem: page for page in results if page.stem != "index"}


def _title(page: Path) -> str:
    """The first sentence of the page."""
    match = re.search(r"\*\*(.+?)\.?\*\*", page.read_text(encoding="utf-8"))
    return _plain(match[1]) if match else ""


def _show(page: str, console: Console) -> None:
    """Print the page as text: headings are bold, code blocks are indented."""
    inside = False
    paragraph: list[str] = []
    for line in [*page.splitlines(), ""]:
        is_prose = not inside and not line.startswith((_FENCE, "#", "- ", "|"))
        if is_prose and line:
            paragraph.append(line)
            continue
        if paragraph and _MADE_FROM not in paragraph[-1]:
            console.print_wrapped(_plain(" ".join(paragraph)))
        paragraph = []
        if line.startswith(_FENCE):
            inside = not inside
        elif line.startswith("#"):
            console.print((line.lstrip("# "), "bold"))
        else:
            console.print(f"    {line}".rstrip() if inside else _plain(line))


def _plain(text: str) -> str:
    """A sentence without Markdown markup; code keeps its backticks."""
    return _LINK.sub(r"\1", text).replace("**", "").replace("\\|", "|")
