"""Live tests: each area has one in every run, and those that share a cluster run on one worker, the longest first."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kit import live

ROOT = Path(__file__).parents[3]
TOGETHER = ["tests/yard/test_policy_pack.py::test_a", "tests/yard/test_layouts.py::test_b"]
FILE = ["tests/cluster/test_short.py::test_a[x/y]", "tests/cluster/test_short.py::test_b"]
SINGLE = ["tests/engine/test_e.py::test_slow", "tests/engine/test_e.py::test_quick"]
UNITS = ["tests/plan/money/test_bill.py::test_1", "tests/plan/money/test_bill.py::test_2"]
COLLECTED = [*UNITS, *SINGLE, *FILE, *TOGETHER]


class Worker:
    """Records the tests that it should run."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.told: list[str] = []
        self.shutting_down = False

    def send_runtest_some(self, places: list[int]) -> None:
        self.told += [COLLECTED[place] for place in places]

    def shutdown(self) -> None:
        self.shutting_down = True


def dealt(count: int) -> tuple[live.LongestFirst, list[Worker]]:
    option = SimpleNamespace(loadscopereorder=False, tx=["popen"] * count, maxprocesses=None)
    config: Any = SimpleNamespace(
        option=option, getvalue=lambda name: getattr(option, name), rootpath="."
    )
    scheduler = live.LongestFirst(config, None)
    found = [Worker(f"gw{n}") for n in range(count)]
    for one in found:
        scheduler.add_node(one)
        scheduler.add_node_collection(one, COLLECTED)
    scheduler.schedule()
    return scheduler, found


def done(scheduler: live.LongestFirst, worker: Worker, nodeid: str) -> None:
    scheduler.mark_test_complete(worker, COLLECTED.index(nodeid))


def test_groups_of_files_come_first_then_clusters_and_then_all_others():
    scheduler, (worker,) = dealt(1)
    while scheduler.has_pending:
        done(scheduler, worker, next(t for t in worker.told if not _is_done(scheduler, worker, t)))
    assert worker.told == [*TOGETHER, *FILE, *UNITS, *SINGLE]


def _is_done(scheduler: live.LongestFirst, worker: Worker, nodeid: str) -> bool:
    """A finished group is dropped."""
    return scheduler.assigned_work[worker].get(live.group_of(nodeid), {}).get(nodeid, True)


def test_what_is_over_is_not_counted_again_at_each_test_that_follows():
    """With ten thousand tests that took the distributing process 17 s, in which nothing else ran."""
    scheduler, (worker,) = dealt(1)
    most = len(TOGETHER) + len(FILE)
    while scheduler.has_pending:
        assert sum(len(group) for group in scheduler.assigned_work[worker].values()) <= most
        done(scheduler, worker, next(t for t in worker.told if not _is_done(scheduler, worker, t)))
    assert scheduler.assigned_work[worker] == {}
    assert scheduler.remove_node(worker) is None, "no test is left of a worker that ends now"


def test_a_test_is_found_at_the_place_where_the_worker_has_it():
    places = live.Places(COLLECTED)
    assert [places.index(nodeid) for nodeid in COLLECTED] == list(range(len(COLLECTED)))
    assert places == COLLECTED


def test_a_worker_has_its_next_group_only_when_it_is_down_to_its_last_test():
    scheduler, (first, second) = dealt(2)
    assert (first.told, second.told) == (TOGETHER, FILE)
    done(scheduler, first, TOGETHER[0])
    assert first.told == [*TOGETHER, UNITS[0]]


def test_a_group_never_has_two_workers():
    scheduler, found = dealt(3)
    while scheduler.has_pending:
        for worker in found:
            for nodeid in worker.told:
                if not _is_done(scheduler, worker, nodeid):
                    done(scheduler, worker, nodeid)
                    break
    assert sorted(t for w in found for t in w.told) == sorted(COLLECTED)
    for group in (TOGETHER, FILE):
        assert sum(set(group) <= set(w.told) for w in found) == 1


def test_a_crashed_workers_tests_go_to_another():
    scheduler, (first, second) = dealt(2)
    assert scheduler.remove_node(first) == TOGETHER[0]
    while scheduler.workqueue:
        done(scheduler, second, next(t for t in second.told if not _is_done(scheduler, second, t)))
    assert set(TOGETHER) <= set(second.told)


@pytest.mark.parametrize(
    ("arguments", "cores", "expected"),
    [
        (["tests/cluster", "tests/engine/", "tests/yard"], 2, 4),
        (["tests/cluster"], 8, 16),
        (["tests/cluster/test_kueue.py"], 1, 4),
        (["tests/cluster", "tests/plan"], 2, 2),
        (["tests"], 4, 4),
        (["tests"], 1, 2),
        ([], 4, 4),
    ],
)
def test_live_tests_alone_have_more_workers_than_cores(arguments, cores, expected):
    assert live.workers(arguments, cores) == expected


def test_clusters_of_a_worker_end_when_what_is_left_needs_none():
    """A cluster is started once per session: a later file would find none."""
    assert [each for each in COLLECTED if live.ends_clusters(each)] == [*UNITS, *SINGLE]


def test_every_file_in_the_tables_is_one_that_there_is():
    """A renamed file would be distributed without those that share its cluster."""
    assert all((ROOT / file).is_file() for file in (*live.TOGETHER, *live.ONCE))


def test_every_folder_of_live_tests_has_one_in_each_run():
    folders = {
        path.parent for each in live.LIVE for path in (ROOT / "tests" / each).rglob("test_*.py")
    }
    marked = {
        folder
        for folder in folders
        if any("pytest.mark.always" in path.read_text("utf-8") for path in folder.glob("test_*.py"))
    }
    assert folders - marked == set()
