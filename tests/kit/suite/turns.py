"""The live tests of a run: some always, the others in turns, limited by the available time.

All of them take most of an hour on two cores, and their number grows. So `scripts/test` runs the tests marked
`always` in live.txt, one path through each capability, and one of several turns, a different one with each
commit: tests left out of one run are in another. An unmeasured (new) test always runs. pytest itself, a
campaign, and `GPUYARD_TURN=all make test` run everything.
"""

import functools
import os
import subprocess
from collections.abc import Mapping

import pytest

from kit.suite import live
from kit.suite.live import LIVE, Table, folder_of, name_of

TURN = "GPUYARD_TURN"
ALL = "all"
OF_COMMIT = "commit"
TURNS = 8


def dealt(rows: Table, turns: int = TURNS) -> dict[str, int]:
    """The turn of each name that has one, from 1 on: the most expensive first, each into the smallest turn."""
    spent = dict.fromkeys(range(1, turns + 1), 0.0)
    results = {}
    for name, row in sorted(rows.items(), key=lambda each: (-each[1].seconds, each[0])):
        if not row.always:
            emptiest = min(spent, key=lambda turn: (spent[turn], turn))
            results[name] = emptiest
            spent[emptiest] += row.seconds
    return results


def turn_asked() -> int | None:
    """The turn of this run; None for all."""
    text = os.environ.get(TURN, ALL)
    if text == ALL:
        return None
    if text == OF_COMMIT:
        return commits() % TURNS + 1
    if text.isascii() and text.isdigit() and 1 <= int(text) <= TURNS:
        return int(text)
    message = f"{TURN} is {text!r}; allowed: {ALL}, {OF_COMMIT}, or a number from 1 to {TURNS}"
    raise pytest.UsageError(message)


def commits() -> int:
    """The number of commits: each has a different turn, and one commit always the same."""
    counted = subprocess.run(
        ["git", "rev-list", "--count", "HEAD"],
        cwd=live.TABLE.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return int(counted.stdout) if counted.returncode == 0 else 0


def is_left_out(nodeid: str, turn: int) -> bool:
    """True for a live test of another turn."""
    if folder_of(nodeid) not in LIVE:
        return False
    return turns().get(name_of(nodeid), turn) != turn


@functools.cache
def turns() -> Mapping[str, int]:
    """The turn of each name in the table."""
    return dealt(live.table())


def words(turn: int | None, rows: Table) -> str:
    """The tests of a run, for its first lines."""
    if turn is None:
        return "live tests: all of them"
    mine = [name for name, each in dealt(rows).items() if each == turn]
    always = [row.seconds for row in rows.values() if row.always]
    total = sum(row.seconds for row in rows.values())
    seconds = sum(always) + sum(rows[name].seconds for name in mine)
    return (
        f"live tests: {len(always)} groups that every run has and the {len(mine)} of turn {turn} of {TURNS},"
        f" of {len(rows)}: about {seconds:.0f} of {total:.0f} s of CPU; {TURN}={ALL} runs all"
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    """Print which tests are left out."""
    turn = turn_asked()
    return None if turn is None else words(turn, live.table())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests of other turns."""
    turn = turn_asked()
    if turn is None:
        return
    left_out, retained = [], []
    for item in items:
        (left_out if is_left_out(item.nodeid, turn) else retained).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = retained
