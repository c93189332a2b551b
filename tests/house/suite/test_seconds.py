"""The time of a run by part, and untraced tests."""

import ast
import contextlib
import functools
import json
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sizes
from kit import seconds, traced, waiting
from kit.cluster import planes as planes_of
from kit.cluster.planes import OF, Planes
from kit.seconds import Spent


def part(*rows, collected=(1.0, 0.0, 2.0)):
    return {
        "collected": dict(zip(("own", "children", "wall"), collected, strict=True)),
        "rows": [
            [name, kind, {"own": own, "children": children, "wall": wall}]
            for name, kind, own, children, wall in rows
        ],
    }


def test_seconds_are_summed_over_workers_by_folder_and_by_cause_dearest_first():
    lines = seconds.report(
        [
            part(("tests/plan/a/test_x.py::t", "cases", 1.0, 0.0, 1.5)),
            part(
                ("tests/plan/test_y.py::t", "random search", 2.0, 0.0, 2.0),
                ("tests/yard/test_z.py::t", "cluster", 0.5, 4.0, 20.0),
            ),
        ]
    )
    assert lines[:4] == [
        "| by folder | count | CPU | processes | waited |",
        "| tests/yard | 1 | 0.5 | 4.0 | 15.5 |",
        "| tests/plan | 2 | 3.0 | 0.0 | 0.5 |",
        "| sum | 3 | 3.5 | 4.0 | 16.0 |",
    ]
    assert "| collection | 2 | 2.0 | 0.0 | 2.0 |" in lines
    assert "| cluster | 1 | 0.5 | 4.0 | 15.5 |" in lines


def test_work_in_this_process_and_in_others_is_separate_from_waiting():
    before = seconds.now()
    assert sum(range(2_000_000))
    spent = seconds.now().since(before)
    assert spent.own > 0
    assert spent.children == 0
    assert Spent(1.0, 1.0, 5.0).waited == 3.0
    assert Spent(3.0, 0.0, 1.0).waited == 0.0, "threads work in parallel"


@given(st.booleans())
def test_a_search_is_known_as_one(request, value):
    assert seconds.cause(request.node) == "random search"
    assert not traced.is_traced(request.node), "a separate case covers what it may find"


def test_a_test_of_cases_is_known_as_one(request):
    assert seconds.cause(request.node) == "cases"
    assert seconds.folder(request.node.nodeid) == "tests/house"


def test_a_unit_test_is_traced(request):
    assert traced.is_traced(request.node)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("search", marks=pytest.mark.search),
        pytest.param("timed", marks=pytest.mark.timed),
        pytest.param("repeats", marks=pytest.mark.repeats("the one above")),
    ],
)
def test_what_says_that_it_runs_nothing_of_its_own_is_not_traced(request, kind):
    assert request.node.get_closest_marker(kind)
    assert not traced.is_traced(request.node)


def test_what_was_measured_to_repeat_others_is_not_traced_unless_all_are(request, monkeypatch):
    monkeypatch.delenv(traced.ALL, raising=False)  # set while the list is measured
    monkeypatch.setattr(traced, "repeating", lambda: {traced.function_of(request.node)})
    assert not traced.is_traced(request.node)
    monkeypatch.setenv(traced.ALL, "1")
    assert traced.is_traced(request.node)


@pytest.mark.parametrize("case", ["a[b]"])
def test_a_test_is_named_without_its_case(request, case):
    assert request.node.nodeid.endswith("its_case[a[b]]")
    assert traced.function_of(request.node).endswith("test_a_test_is_named_without_its_case")


def test_each_test_of_the_list_is_there():
    """An obsolete name would be passed to pytest when the gates fail, and rejected."""
    found = {}
    for each in traced.repeating():
        file, _, name = each.partition("::")
        found.setdefault(file, set()).add(name.rpartition("::")[2])
    lost = {
        (file, name)
        for file, names in found.items()
        for name in names - functions(sizes.ROOT / file)
    }
    assert lost == set(), f"remove them from {traced.REPEATING}, or run `make repeating`"


def functions(path):
    if not path.exists():
        return set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_who_runs_what_is_recorded_under_the_name_of_the_test(monkeypatch, tmp_path, request):
    measuring = Measuring()
    measuring.switch_context = measuring.said.append
    recorder = traced.Recorder(measuring, tmp_path)
    for counts in (True, False):
        monkeypatch.setattr(traced, "is_traced", lambda _, counts=counts: counts)
        around = recorder.pytest_runtest_protocol(request.node)
        next(around)
        with pytest.raises(StopIteration):
            around.send(True)
    recorder.pytest_sessionfinish()
    name = traced.function_of(request.node)
    assert measuring.said == [name]
    (written,) = tmp_path.iterdir()
    assert list(json.loads(written.read_text(encoding="utf-8"))) == [name]


class Measuring:
    def __init__(self, said=None, name=""):
        self.said = [] if said is None else said
        self.name = name

    def stop(self):
        self.said.append(f"stop{self.name}")

    def start(self):
        self.said.append(f"start{self.name}")


def test_the_tracer_runs_for_tests_that_count_and_is_started_and_stopped_no_oftener(monkeypatch):
    measuring = Measuring()
    tracer = traced.Tracer(measuring)
    monkeypatch.setattr(traced, "is_traced", lambda item: item)
    for counts in (False, True, True, False, False, True):
        around = tracer.pytest_runtest_protocol(counts)
        next(around)
        measuring.said.append(counts)
        with pytest.raises(StopIteration):
            around.send(True)
    assert measuring.said == [False, "start", True, True, "stop", False, False, "start", True]


def test_a_test_that_was_broken_off_says_nothing_of_the_next(monkeypatch):
    measuring = Measuring()
    tracer = traced.Tracer(measuring)
    monkeypatch.setattr(traced, "is_traced", lambda item: item)
    around = tracer.pytest_runtest_protocol(True)
    next(around)
    with pytest.raises(KeyboardInterrupt):
        around.throw(KeyboardInterrupt())
    next(tracer.pytest_runtest_protocol(False))
    assert measuring.said == ["start", "stop"]


def test_tests_that_count_come_first_in_their_order(monkeypatch):
    monkeypatch.setattr(traced, "is_traced", lambda item: item.islower())
    monkeypatch.setattr(traced, "forget", lambda _: None)
    items = ["A", "b", "C", "a"]
    traced.Tracer(Measuring()).pytest_collection_modifyitems(items)
    assert items == ["b", "a", "A", "C"]


def test_values_computed_without_a_tracer_are_computed_again(monkeypatch):
    ours, strangers = types.ModuleType("measured_two.deep"), types.ModuleType("other")
    for module in (ours, strangers):
        monkeypatch.setitem(sys.modules, module.__name__, module)
        module.rows = functools.cache(list)
        module.word = "cache_clear"
        assert module.rows() is module.rows()
    kept, foreign = ours.rows(), strangers.rows()
    traced.forget(["measured_two"])
    assert ours.rows() is not kept
    assert strangers.rows() is foreign


def test_every_measurement_is_stopped_and_the_innermost_counts(monkeypatch):
    """A worker has two, and stopping one starts the tracer of the other."""
    said = []
    running = [Measuring(said, " outer"), Measuring(said, " inner")]
    for each in running:
        stop = each.stop
        each.stop = lambda stop=stop: (stop(), running.pop())
    inner = running[-1]
    current = classmethod(lambda _: running[-1] if running else None)
    monkeypatch.setattr(traced.Coverage, "current", current)
    assert traced.stop_all() is inner
    assert said == ["stop inner", "stop outer"]
    assert traced.stop_all() is None


@pytest.mark.repeats("any other: this test inspects the tracer")
def test_no_tracer_is_left_where_a_test_runs_that_is_not_traced():
    """With coverage, and in a worker of pytest-xdist too."""
    assert "coverage" not in type(sys.gettrace()).__module__


def test_every_module_that_is_measured_is_imported_but_programs_are_not_started(
    tmp_path, monkeypatch
):
    inner = tmp_path / "measured_one" / "deep"
    inner.mkdir(parents=True)
    for path in (inner.parent / "__init__.py", inner / "__init__.py", inner / "last.py"):
        path.write_text("", encoding="utf-8")
    (inner / "__main__.py").write_text("raise SystemExit(1)", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    traced.import_all("measured_one")
    found = {name for name in sys.modules if name.startswith("measured_one")}
    for name in found:
        monkeypatch.delitem(sys.modules, name)
    assert found == {"measured_one", "measured_one.deep", "measured_one.deep.last"}


LEAST = 0.2
"""Of the 0.3 s that a part uses, reported in truncated hundredths."""
BURNS = "import time\nwhile time.process_time() < 0.3: pass\n"
STAYS = "import sys; sys.stdin.read()"
LEAVES = f"""
import os, subprocess, sys
subprocess.Popen([sys.executable, "-c", {BURNS + STAYS!r}])
"""


HERE = f"here-{os.getpid()}"
"""A name unique to this worker: another one may run the next test of this file at the same time."""


def part_of(planes, code, *without):
    """A part of a cluster that uses 0.3 s and stays until its stdin closes."""
    env = {**os.environ, OF: planes.whose, "KWOK_WORKDIR": "/x"}
    env = {name: value for name, value in env.items() if name not in without}
    command = [sys.executable, "-c", f"{BURNS}{code}"]
    return subprocess.Popen(command, env=env, stdin=subprocess.PIPE)


def test_a_part_of_a_cluster_counts_while_it_runs_and_the_kernel_counts_it_then():
    planes = Planes(HERE)
    before = seconds.now(planes).children
    process = part_of(planes, STAYS)
    waiting.until(lambda: planes.spent() >= LEAST)
    process.communicate()
    assert planes.spent() == 0
    assert LEAST <= seconds.now(planes).children - before < 3


def test_a_part_that_a_program_left_behind_is_counted_as_it_was_seen_last():
    planes = Planes(HERE)
    starter = part_of(planes, LEAVES)
    starter.wait()
    waiting.until(lambda: planes.spent() >= LEAST)
    seen = planes.spent()
    starter.communicate()
    waiting.until(lambda: not living(HERE))
    assert planes.spent() >= seen


def living(whose):
    """The processes of a worker of that name."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{OF}={whose}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(folder.name)
    return found


def test_other_processes_and_those_of_other_workers_are_not_counted():
    planes = Planes(HERE)
    others = [part_of(planes, STAYS, name) for name in (OF, "KWOK_WORKDIR")]
    own = part_of(planes, STAYS)
    waiting.until(lambda: planes.spent() >= LEAST)
    assert planes.parts() == {str(own.pid)}
    for one in (*others, own):
        one.communicate()


def test_a_worker_looks_by_itself_and_tells_its_programs_whose_they_are(monkeypatch):
    monkeypatch.setattr(planes_of, "PAUSE", 0.01)
    monkeypatch.delenv(OF, raising=False)
    planes = Planes("there")
    stop = planes.watch()
    assert os.environ[OF] == "there"
    process = part_of(planes, STAYS)
    waiting.until(planes.parts)
    process.communicate()
    stop.set()
