"""`gpuyard top`: pools, teams, queues and idle GPUs now, refreshed in a terminal."""

import io
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.views.findings import document, reject
from gpuyard_advisor.cli.commands.report import read_live
from gpuyard_advisor.cli.options import PROMETHEUS
from gpuyard_core.errors import EnvironmentMissing
from gpuyard_core.terminal.console import Console, results, write
from gpuyard_core.terminal.documents import as_json
from gpuyard_core.terminal.exit_codes import OK
from gpuyard_core.terminal.options import Format, FormatOption

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

    from gpuyard_advisor.usage.fleet import Fleet

_LEAST_SECONDS = 1.0


def top(
    live: Annotated[str, PROMETHEUS],
    stack: Annotated[
        str | None,
        typer.Argument(
            metavar="[STACK]",
            help="Also list the pools of this stack that have no data.",
            show_default=False,
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Print once and end, as without a terminal.")
    ] = False,
    interval: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="Time between two queries.", min=_LEAST_SECONDS),
    ] = 5.0,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Show pools, teams, queues and idle GPUs now. Refreshed until Ctrl-C in a terminal, else once."""
    from gpuyard_advisor.cli.views.top import show_top, top_document

    judged = None if stack is None else validate_stack(stack)
    if judged is not None and judged.plan is None:
        return reject("top", judged, format, fleet=None)
    plan = judged.plan if judged else None
    pools = [pool.name for pool in plan.pools] if plan else []
    fleet = read_live(live, plan)
    if format is Format.JSON:
        write(as_json(document("top", judged, fleet=top_document(fleet))))
    elif once or not sys.stdout.isatty():
        show_top(fleet, results(), pools)
    else:
        _refresh(fleet, lambda: read_live(live, plan), pools, interval)
    return OK


def _refresh(
    first: "Fleet", read: Callable[[], "Fleet"], pools: Sequence[str], interval: float
) -> None:
    """Show the state again and again until the user interrupts."""
    from rich.live import Live

    with Live(_screen(first, pools), screen=True, auto_refresh=False) as shown:
        try:
            while True:
                time.sleep(interval)
                _update(shown, read, pools)
        except KeyboardInterrupt:
            return


def _update(shown: "Live", read: Callable[[], "Fleet"], pools: Sequence[str]) -> None:
    """Show the new state; a server that does not respond leaves the old one, with the reason."""
    from rich.console import Group
    from rich.text import Text

    try:
        shown.update(_screen(read(), pools), refresh=True)
    except EnvironmentMissing as error:
        old = shown.renderable
        shown.update(Group(Text(str(error)), old), refresh=True)


def _screen(fleet: "Fleet", pools: Sequence[str]) -> "Text":
    """The view with the width and colours of the terminal."""
    from rich.text import Text

    from gpuyard_advisor.cli.views.top import show_top

    terminal = results()
    page = Console(io.StringIO(), terminal.width, coloured=terminal.coloured)
    show_top(fleet, page, pools)
    assert isinstance(page.file, io.StringIO)  # noqa: S101  it is the one above
    return Text.from_ansi(page.file.getvalue())
