"""Which tests are traced, and that the tracer is off for the others."""

import functools
import sys
import types
from types import SimpleNamespace

import pytest

from kit import traced


class Item(SimpleNamespace):
    """A collected test."""

    def get_closest_marker(self, name):
        return name in self.markers


def items(nodeid, count=3, **more):
    return [Item(nodeid=f"{nodeid}[{n}]", markers=(), **more) for n in range(count)]


def cases_traced(collected):
    return len(traced.traced(collected))


def test_a_layer_is_traced_completely_where_every_branch_is_a_gate():
    assert cases_traced(items("tests/plan/money/test_bill.py::test_x")) == 3


def test_elsewhere_the_first_case_of_each_test_is_traced():
    two = [*items("tests/cli/test_a.py::test_x"), *items("tests/cli/test_a.py::test_y")]
    names = {f"tests/cli/test_a.py::test_{name}[0]" for name in "xy"}
    assert traced.traced(two) == names


def test_a_folder_that_mirrors_no_package_is_not_traced():
    assert cases_traced(items("tests/house/test_tree.py::test_x")) == 0


@pytest.mark.parametrize("marker", traced.UNTRACED)
def test_what_runs_no_line_of_its_own_is_not_traced(marker):
    (item,) = items("tests/plan/test_x.py::test_x", 1)
    item.markers = (marker,)
    assert cases_traced([item]) == 0


def test_a_search_is_not_traced():
    found = items("tests/plan/test_x.py::test_x", 1, obj=SimpleNamespace(hypothesis=True))
    assert cases_traced(found) == 0


class Measuring:
    def __init__(self, said=None, name=""):
        self.said = [] if said is None else said
        self.name = name

    def stop(self):
        self.said.append(f"stop{self.name}")

    def start(self):
        self.said.append(f"start{self.name}")


@pytest.fixture
def tracer():
    """A tracer that traces the test `t` alone."""
    found = traced.Tracer(Measuring())
    found.traced = {"t"}
    return found


def around(tracer, name):
    return tracer.pytest_runtest_protocol(Item(nodeid=name))


def test_the_tracer_is_switched_only_where_the_state_differs(tracer):
    for name in "-tt--t":
        running = around(tracer, name)
        next(running)
        tracer.measuring.said.append(name)
        with pytest.raises(StopIteration):
            running.send(True)
    assert tracer.measuring.said == ["-", "start", "t", "t", "stop", "-", "-", "start", "t"]


def test_an_interrupted_test_does_not_affect_the_next(tracer):
    running = around(tracer, "t")
    next(running)
    with pytest.raises(KeyboardInterrupt):
        running.throw(KeyboardInterrupt())
    next(around(tracer, "-"))
    assert tracer.measuring.said == ["start", "stop"]


def test_traced_tests_come_first_in_their_order(monkeypatch, tracer):
    monkeypatch.setattr(traced, "forget", lambda _: None)
    house, plan = items("tests/house/test_a.py::a", 2), items("tests/plan/test_a.py::a", 2)
    mixed = [house[0], plan[0], house[1], plan[1]]
    tracer.pytest_collection_modifyitems(mixed)
    assert mixed == [*plan, *house]


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
