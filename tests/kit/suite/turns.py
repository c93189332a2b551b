"""Which live tests a run has: some always, the others in turns, as many of them as there is time for.

All of them take most of an hour on two cores, and tomorrow there are more. So `scripts/test` runs what is
marked `always` in live.txt, one way through each capability, and one of so many turns, another one with
each commit: what is left out of one run is in another. A test that nobody has measured is run always, as new
ones are. pytest by hand, a campaign, and `GPUYARD_TURN=all make test` run everything.
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
    """The turn of each name that has one, from 1 on: the dearest first, each into the emptiest."""
    spent = dict.fromkeys(range(1, turns + 1), 0.0)
    results = {}
    for name, row in sorted(rows.items(), key=lambda each: (-each[1].seconds, each[0])):
        if not row.always:
            emptiest = min(spent, key=lambda turn: (spent[turn], turn))
            results[name] = emptiest
            spent[emptiest] += row.seconds
    return results


def turn_asked() -> int | None:
    """The turn that this run is to have; None for all."""
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
    """How many commits led here: with each the turn is another, and for one commit always the same."""
    counted = subprocess.run(
        ["git", "rev-list", "--count", "HEAD"],
        cwd=live.TABLE.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return int(counted.stdout) if counted.returncode == 0 else 0


def is_left_out(nodeid: str, turn: int) -> bool:
    """True for a live test that another turn has."""
    if folder_of(nodeid) not in LIVE:
        return False
    return turns().get(name_of(nodeid), turn) != turn


@functools.cache
def turns() -> Mapping[str, int]:
    """The turn of each name in the table."""
    return dealt(live.table())


def words(turn: int | None, rows: Table) -> str:
    """What a run has, for its first lines."""
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
    """Say what is left out, where something is."""
    turn = turn_asked()
    return None if turn is None else words(turn, live.table())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what another turn has."""
    turn = turn_asked()
    if turn is None:
        return
    left_out, retained = [], []
    for item in items:
        (left_out if is_left_out(item.nodeid, turn) else retained).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = retained
