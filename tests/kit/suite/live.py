"""Last measurement of live tests: their names, the cost of each, and whether every run includes it.

Used by the choice of tests for a run (turns), by their distribution to workers (dealing), and by the writer
of the table (measured).
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

BY_FILE = ("cluster", "yard")
"""Folders whose files prepare one cluster for all of their tests; elsewhere each test is independent."""
LIVE = (*BY_FILE, "engine")
TABLE = Path(__file__).with_name("live.txt")
"""Seconds of CPU, `always` or `turn`, and the name."""


@dataclass(frozen=True)
class Row:
    """The cost of a file that shares a cluster, or of a test that does not, and whether each run includes it."""

    seconds: float
    always: bool


Table = Mapping[str, Row]


@functools.cache
def table() -> Table:
    """The measurements."""
    return read(TABLE.read_text(encoding="utf-8"))


def read(text: str) -> Table:
    """`12.3 always tests/yard/test_x.py`, line by line; lines with `#` are comments."""
    rows = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            seconds, when, name = line.split(maxsplit=2)
            if when not in ("always", "turn"):
                message = f"{line!r}: the second word is {when!r}; allowed: always, turn"
                raise ValueError(message)
            rows[name] = Row(float(seconds), when == "always")
    return rows


def folder_of(nodeid: str) -> str:
    """The folder below tests/ of a test."""
    parts = nodeid.partition("::")[0].split("/")
    return parts[1] if len(parts) > 2 and parts[0] == "tests" else ""


def name_of(nodeid: str) -> str:
    """The unit of selection: a file whose tests share a cluster, else a test."""
    return nodeid.partition("::")[0] if folder_of(nodeid) in BY_FILE else nodeid
