"""Durations and times as text, and a bar while a replay runs."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

Advance = Callable[[float, float], None]
"""Called with what is done and the total."""


@contextmanager
def progress_bar(text: str) -> Iterator[Advance | None]:
    """A bar while the block runs, removed at its end; None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True, markup=False, highlight=False)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(text, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def iso_time(time: float) -> str:
    """A time in seconds since 1970 as ISO 8601 in UTC."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_TIME_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


def format_seconds(seconds: float) -> str:
    """A duration in its largest unit: `12 s`, `3.5 min`, `26.1 h`, `4.2 d`."""
    for size, unit in _TIME_UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.0f} s"
