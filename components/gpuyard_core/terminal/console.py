"""Two consoles: results on stdout, the rest on stderr. No information is in colour alone.

All output passes `Console.print` or a table made here; both escape control characters and markup of texts
from files.

Lines without colour are written directly. Rich is loaded for colours and tables only: a `check` in a
pipeline needs neither, and starts faster.
"""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TextIO

from gpuyard_core.findings import Severity
from gpuyard_core.terminal.streams import discard_stdout
from gpuyard_core.terminal.text import clean, wrap

if TYPE_CHECKING:
    import rich.console
    from rich.console import ConsoleOptions, RenderableType, RenderResult
    from rich.text import Text

PIPE_WIDTH = 80
MAX_WIDTH = 100
"""Maximum line width, also on a wider terminal."""
MIN_WIDTH = 40

STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
"""Colours of the terminal's palette, so that its theme sets the contrast."""


class Console:
    """Prints lines and tables without interpreting markup; a closed pipe is not an error."""

    def __init__(self, file: TextIO, width: int = PIPE_WIDTH, *, coloured: bool = False) -> None:
        self.file = file
        self.width = width
        self.coloured = coloured
        self.quiet = False
        self._begun = False

    def print(self, *parts: str | tuple[str, str], indent: int = 0) -> None:
        """Print one line; a part is text, or (text, style)."""
        self._begun = True
        if self.coloured:
            self._rich.print(_line(parts, indent), soft_wrap=True)
            return
        words = (part if isinstance(part, str) else part[0] for part in parts)
        self._write(" " * indent + "".join(clean(word) for word in words))

    def _write(self, line: str) -> None:
        if self.quiet:
            return
        try:
            self.file.write(f"{line}\n")
            self.file.flush()
        except BrokenPipeError:
            self.on_broken_pipe()

    def on_broken_pipe(self) -> None:
        """Continue after a closed pipe: the exit code is still correct."""
        self.quiet = True
        discard_stdout()

    def print_wrapped(
        self, text: str, *, first: str = "", style: str = "", indent: int = 0
    ) -> None:
        """Print wrapped text with `first` before its first line, and a hanging indent."""
        room = self.width - indent - len(first)
        for number, line in enumerate(wrap(clean(text), room)):
            self.print((first if number == 0 else " " * len(first), style), line, indent=indent)

    def note(self, text: str, first: str = "") -> None:
        """Print dim wrapped text below a section title or a table."""
        self.print_wrapped(text, first=first, style="dim", indent=2)

    def show(self, renderable: "RenderableType") -> None:
        """Print a table; what does not fit overflows and is never cut off."""
        self._begun = True
        if not self.quiet:
            self._rich.print(renderable, crop=False)

    def title(self, text: str, note: str = "") -> None:
        """Print a section title, after an empty line unless it comes first."""
        if self._begun:
            self.print()
        self.print((text, "bold"), (f"  {note}" if note else "", "dim"))

    @cached_property
    def _rich(self) -> "rich.console.Console":
        import rich.console

        handle_broken_pipe = self.on_broken_pipe

        class Quiet(rich.console.Console):
            """Handle a closed pipe as `Console` does."""

            def on_broken_pipe(self) -> None:
                self.quiet = True
                handle_broken_pipe()

        return Quiet(
            file=self.file,
            width=self.width,
            color_system="auto" if self.coloured else None,
            force_terminal=self.coloured,
            markup=False,
            highlight=False,
            emoji=False,
            legacy_windows=False,
        )


def _line(parts: Iterable[str | tuple[str, str]], indent: int) -> "Text":
    from rich.text import Text

    line = Text(" " * indent)
    for part in parts:
        text, style = (part, "") if isinstance(part, str) else part
        line.append(clean(text), style=style)
    return line


def results() -> Console:
    """The console of results, on stdout."""
    return _console(sys.stdout)


def diagnostics() -> Console:
    """The console of progress and diagnostics, on stderr."""
    return _console(sys.stderr)


def write(text: str) -> None:
    """Write data to stdout unchanged."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()


def _console(stream: TextIO) -> Console:
    force = os.environ.get("FORCE_COLOR")
    terminal = stream.isatty()
    coloured = force not in {"0", "false"} if force else terminal
    width = _terminal_width() if terminal else _pipe_width()
    width = min(MAX_WIDTH, max(MIN_WIDTH, width))
    return Console(stream, width, coloured=coloured and not _plain())


def _terminal_width() -> int:
    from shutil import get_terminal_size

    return get_terminal_size((PIPE_WIDTH, 0)).columns


def _plain() -> bool:
    """Whether to write no escape sequences: NO_COLOR is set, or the terminal has none."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM", "") in {"dumb", "unknown"}


def _pipe_width() -> int:
    columns = os.environ.get("COLUMNS", "")
    return (
        int(columns)
        if columns.isascii() and columns.isdigit() and columns[:5] == columns
        else PIPE_WIDTH
    )


Align = Literal["left", "right"]
_NARROW = 10
_NAME_WIDTH = 18
_GAP = 2


class Column:
    """One column of a table: its head, and how too wide cells are shown.

    A plain column is as wide as its cells. A column that `wraps` shrinks first, then a `name` column
    folds long names. A table that is still too wide overflows: nothing is cut off.
    """

    def __init__(
        self, head: str, align: Align = "left", *, name: bool = False, wraps: bool = False
    ) -> None:
        self.head = head
        self.align: Align = align
        self.no_wrap = not wraps and not name
        self.wraps = wraps
        self.max_width = _NAME_WIDTH if name else None

    def least(self, cells: "Iterable[Text]") -> int:
        """The minimum width."""
        if self.wraps:
            return _NARROW
        widest = max((text.cell_len for cell in cells for text in cell.split()), default=0)
        return max(widest if self.max_width is None else min(widest, _NARROW), len(self.head))

    def whole(self, cells: "Iterable[Text]") -> int:
        """The width without folding or wrapping."""
        lines = (line.cell_len for cell in cells for line in cell.split())
        return max(max(lines, default=0), len(self.head))


def number_columns(*heads: str) -> list[Column]:
    """Right-aligned columns."""
    return [Column(head, "right") for head in heads]


Cell = str | tuple[str, ...]
"""Text, or lines of text."""


def table(
    columns: Sequence[Column], rows: Iterable[Sequence[Cell]], indent: int = 2
) -> "RenderableType":
    """A table without borders and trailing blanks."""
    cells = [[_text(cell) for cell in row] for row in rows]
    widths = [column.least(row[n] for row in cells) for n, column in enumerate(columns)]
    gaps = indent + _GAP * (len(widths) - 1)
    full_width = gaps + sum(
        column.whole(row[n] for row in cells) for n, column in enumerate(columns)
    )

    def made(available_width: int) -> "RenderableType":
        from rich.padding import Padding
        from rich.table import Table

        result = Table(
            box=None,
            pad_edge=False,
            padding=(0, _GAP, 0, 0),
            header_style="dim",
            collapse_padding=True,
        )
        for column, width in zip(columns, widths, strict=True):
            result.add_column(
                column.head,
                justify=column.align,
                no_wrap=column.no_wrap,
                overflow="fold",
                min_width=width,
                max_width=None if full_width <= available_width else column.max_width,
            )
        for row in cells:
            result.add_row(*row)
        return Padding(result, (0, 0, 0, indent))

    return _Trimmed(made, gaps + sum(widths))


def _text(cell: Cell) -> "Text":
    from rich.text import Text

    lines = (cell,) if isinstance(cell, str) else cell
    return Text("\n".join(clean(line) for line in lines))


class _Trimmed:
    """A table with the width that it needs, without trailing blanks.

    Rich would cut the cells to the available width, and fill lines with blanks.
    """

    def __init__(self, build: "Callable[[int], RenderableType]", least: int) -> None:
        self.made = build
        self.least = least

    def __rich_console__(
        self, console: "rich.console.Console", options: "ConsoleOptions"
    ) -> "RenderResult":
        from rich.segment import Segment

        options = options.update_width(max(options.max_width, self.least))
        inner = self.made(options.max_width)
        for line in console.render_lines(inner, options, pad=False):
            text = list(line)
            while text and not text[-1].text.strip():
                text.pop()
            if text:
                last = text[-1]
                text[-1] = Segment(last.text.rstrip(), last.style)
            yield from text
            yield Segment.line()
