"""Live tests as they were measured last: who they are, what each costs, and whether every run has it.

Read by who chooses what a run has (turns), by who deals that to workers (dealing), and by who writes the
table anew (measured).
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

BY_FILE = ("cluster", "yard")
"""Folders whose files prepare one cluster for all of their tests; elsewhere each test stands by itself."""
LIVE = (*BY_FILE, "engine")
TABLE = Path(__file__).with_name("live.txt")
"""Seconds of CPU, `always` or `turn`, and the name."""


@dataclass(frozen=True)
class Row:
    """What a file that shares a cluster costs, or a test that shares none, and whether each run has it."""

    seconds: float
    always: bool


Table = Mapping[str, Row]


@functools.cache
def table() -> Table:
    """What was measured."""
    return read(TABLE.read_text(encoding="utf-8"))


def read(text: str) -> Table:
    """`12.3 always tests/yard/test_x.py`, line by line; lines of `#` are words for people."""
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
    """The folder of tests/ that a test is in."""
    parts = nodeid.partition("::")[0].split("/")
    return parts[1] if len(parts) > 2 and parts[0] == "tests" else ""


def name_of(nodeid: str) -> str:
    """What is chosen as one: a file whose tests share a cluster, else a test."""
    return nodeid.partition("::")[0] if folder_of(nodeid) in BY_FILE else nodeid
