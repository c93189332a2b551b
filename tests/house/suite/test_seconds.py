"""Where the seconds of a run go, and what is not traced."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import seconds, traced
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


def test_work_in_this_process_and_in_others_is_told_apart_from_waiting():
    before = seconds.now()
    assert sum(range(2_000_000))
    spent = seconds.now().since(before)
    assert spent.own > 0
    assert spent.children == 0
    assert Spent(1.0, 1.0, 5.0).waited == 3.0
    assert Spent(3.0, 0.0, 1.0).waited == 0.0, "threads work side by side"


@given(st.booleans())
def test_a_search_is_known_as_one(request, value):
    assert seconds.cause(request.node) == "random search"


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
    ],
)
def test_a_long_search_and_a_figure_of_speed_are_not_traced(request, kind):
    assert request.node.get_closest_marker(kind)
    assert not traced.is_traced(request.node)


class Tracer:
    def __init__(self):
        self.said = []

    def stop(self):
        self.said.append("stop")

    def start(self):
        self.said.append("start")


@pytest.mark.parametrize(
    ("searching", "expected"), [(True, ["stop", "test", "start"]), (False, ["test"])]
)
def test_the_tracer_rests_for_the_length_of_a_test_that_needs_none(
    monkeypatch, searching, expected
):
    tracer = Tracer()
    monkeypatch.setattr(traced.Coverage, "current", classmethod(lambda _: tracer))
    monkeypatch.setattr(traced, "is_traced", lambda _: not searching)
    around = traced.pytest_runtest_protocol(None)
    next(around)
    tracer.said.append("test")
    with pytest.raises(StopIteration):
        around.send(True)
    assert tracer.said == expected


def test_the_tracer_goes_on_after_a_test_that_was_broken_off(monkeypatch):
    tracer = Tracer()
    monkeypatch.setattr(traced.Coverage, "current", classmethod(lambda _: tracer))
    monkeypatch.setattr(traced, "is_traced", lambda _: False)
    around = traced.pytest_runtest_protocol(None)
    next(around)
    with pytest.raises(KeyboardInterrupt):
        around.throw(KeyboardInterrupt())
    assert tracer.said == ["stop", "start"]


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
