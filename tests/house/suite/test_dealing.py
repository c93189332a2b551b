"""Distribution to workers: tests that share a cluster stay together, and the longest come first."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kit.suite import dealing, live

MEASURED = dealing.measured
LONG = ["tests/yard/test_long.py::test_a", "tests/yard/test_long.py::test_b"]
SHORT = ["tests/cluster/test_short.py::test_a[x/y]", "tests/cluster/test_short.py::test_b"]
NEW = ["tests/cluster/test_new.py::test_new"]
SINGLE = ["tests/engine/test_e.py::test_slow", "tests/engine/test_e.py::test_quick"]
UNITS = ["tests/plan/money/test_bill.py::test_1", "tests/plan/money/test_bill.py::test_2"]
COLLECTED = [*UNITS, *SINGLE[::-1], *SHORT, *NEW, *LONG]


@pytest.fixture(autouse=True)
def table(monkeypatch):
    seconds = {
        "tests/yard/test_long.py": 90.0,
        "tests/engine/test_e.py::test_slow": 40.0,
        "tests/cluster/test_short.py": 10.0,
        "tests/engine/test_e.py::test_quick": 15.0,
    }
    monkeypatch.setattr(dealing, "measured", lambda: seconds)


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


def dealt(count: int) -> tuple[dealing.LongestFirst, list[Worker]]:
    option = SimpleNamespace(loadscopereorder=False, tx=["popen"] * count, maxprocesses=None)
    config: Any = SimpleNamespace(
        option=option, getvalue=lambda name: getattr(option, name), rootpath="."
    )
    scheduler = dealing.LongestFirst(config, None)
    found = [Worker(f"gw{n}") for n in range(count)]
    for one in found:
        scheduler.add_node(one)
        scheduler.add_node_collection(one, COLLECTED)
    scheduler.schedule()
    return scheduler, found


def done(scheduler: dealing.LongestFirst, worker: Worker, nodeid: str) -> None:
    scheduler.mark_test_complete(worker, COLLECTED.index(nodeid))


def test_the_longest_comes_first_and_units_last():
    scheduler, (worker,) = dealt(1)
    while scheduler.has_pending:
        done(scheduler, worker, next(t for t in worker.told if not _is_done(scheduler, worker, t)))
    assert worker.told == [*LONG, SINGLE[0], *NEW, *SHORT, SINGLE[1], *UNITS]


def _is_done(scheduler: dealing.LongestFirst, worker: Worker, nodeid: str) -> bool:
    """A finished group is dropped."""
    return scheduler.assigned_work[worker].get(dealing.group_of(nodeid), {}).get(nodeid, True)


def test_what_is_over_is_not_counted_again_at_each_test_that_follows():
    """With ten thousand tests that took the distributing process 17 s, in which nothing else ran."""
    scheduler, (worker,) = dealt(1)
    most = max(len(units) for units in (LONG, SHORT)) + 1
    while scheduler.has_pending:
        assert sum(len(group) for group in scheduler.assigned_work[worker].values()) <= most
        done(scheduler, worker, next(t for t in worker.told if not _is_done(scheduler, worker, t)))
    assert scheduler.assigned_work[worker] == {}
    assert scheduler.remove_node(worker) is None, "no test is left of a worker that ends now"


def test_a_test_is_found_at_the_place_where_the_worker_has_it():
    places = dealing.Places(COLLECTED)
    assert [places.index(nodeid) for nodeid in COLLECTED] == list(range(len(COLLECTED)))
    assert places == COLLECTED


def test_a_worker_has_its_next_group_only_when_it_is_down_to_its_last_test():
    scheduler, (first, second) = dealt(2)
    assert first.told == LONG
    assert second.told == [SINGLE[0], *NEW], "a worker starts its last test when it knows the next"
    done(scheduler, first, LONG[0])
    assert first.told == [*LONG, *SHORT]


def test_a_group_never_has_two_workers():
    scheduler, found = dealt(3)
    while scheduler.has_pending:
        for worker in found:
            for nodeid in worker.told:
                if not _is_done(scheduler, worker, nodeid):
                    done(scheduler, worker, nodeid)
                    break
    assert sorted(t for w in found for t in w.told) == sorted(COLLECTED)
    for group in (LONG, SHORT):
        assert sum(set(group) <= set(w.told) for w in found) == 1


def test_a_crashed_workers_tests_go_to_another():
    scheduler, (first, second) = dealt(2)
    assert scheduler.remove_node(first) == LONG[0]
    while scheduler.workqueue:
        done(scheduler, second, next(t for t in second.told if not _is_done(scheduler, second, t)))
    assert set(LONG) <= set(second.told)


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
    assert dealing.workers(arguments, cores) == expected


def test_clusters_of_a_worker_end_when_what_is_left_needs_none():
    """Short groups without a cluster come after all that need one, even after shorter ones."""
    ends = {each: dealing.ends_clusters(each) for each in COLLECTED}
    assert [each for each in COLLECTED if ends[each]] == [*UNITS, SINGLE[1]]
    assert dealing.seconds_of(SINGLE[1]) > dealing.seconds_of("tests/cluster/test_short.py")


def test_no_cluster_that_was_measured_is_needed_once_it_has_ended(monkeypatch):
    """A cluster is started once per session: a later file would find none."""
    monkeypatch.setattr(dealing, "measured", MEASURED)
    groups = sorted({dealing.group_of(name) for name in live.table()}, key=dealing.place_of)
    ends = [dealing.ends_clusters(group) for group in groups]
    first = ends.index(True)
    assert all(ends[first:])
    assert not any(dealing.folder_of(each) in dealing.BY_FILE for each in groups[first:])
    assert sum(map(MEASURED().__getitem__, groups[:first])) > 0.9 * sum(MEASURED().values())


def test_a_group_takes_what_all_of_its_files_and_tests_took(monkeypatch):
    rows = {
        "tests/engine/test_recover.py::test_a[x y]": live.Row(30.0, always=False),
        "tests/engine/test_ways_out.py::test_b": live.Row(11.0, always=True),
        "tests/engine/test_e.py::test_c": live.Row(2.0, always=False),
        "tests/yard/test_y.py": live.Row(7.0, always=False),
    }
    monkeypatch.setattr(live, "table", lambda: rows)
    assert MEASURED.__wrapped__() == {
        "tests/engine/test_ways_out.py": 41.0,
        "tests/engine/test_e.py::test_c": 2.0,
        "tests/yard/test_y.py": 7.0,
    }


def test_files_that_would_wait_for_each_other_are_one_group():
    chart, ways = (f"tests/engine/test_{name}.py::test_x" for name in ("kueue_chart", "ways_out"))
    assert dealing.group_of(chart) == dealing.group_of(ways) == "tests/engine/test_ways_out.py"
    assert (
        dealing.group_of("tests/engine/test_engine.py::test_x")
        == "tests/engine/test_engine.py::test_x"
    )


def test_a_program_that_many_units_read_is_run_by_one_worker():
    one, other = (f"{file}::test_x" for file in dealing.ONCE)
    assert dealing.group_of(one) == one.partition("::")[0] != dealing.group_of(other)
    assert dealing.seconds_of(dealing.group_of(one)) == 0


def test_every_file_in_the_tables_is_one_that_there_is():
    """A renamed file would be distributed without those that share its cluster."""
    root = Path(__file__).parents[3]
    assert all((root / file).is_file() for file in (*dealing.TOGETHER, *dealing.ONCE))
