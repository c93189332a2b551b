"""Documentation pages as text."""

import re
from pathlib import Path

from gpuyard_core.terminal.console import Console

_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_FENCE = "```"
_MADE_FROM = "This page is made from"


def shipped_folder(package: str, name: str, place: str) -> Path:
    """A folder of a distribution: `shipped/NAME` next to its modules, or its path in a checkout.

    `package` is the `__file__` of a package in `components/`.
    """
    folder = Path(package).parent
    installed = folder / "shipped" / name
    return installed if installed.is_dir() else folder.parents[1] / place


def page_title(page: Path) -> str:
    """The first sentence of the page."""
    match = re.search(r"\*\*(.+?)\.?\*\*", page.read_text(encoding="utf-8"))
    return _plain(match[1]) if match else ""


def show_page(path: Path, console: Console) -> None:
    """Print the page as text: headings are bold, code blocks are indented."""
    inside = False
    paragraph: list[str] = []
    for line in [*path.read_text(encoding="utf-8").splitlines(), ""]:
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
