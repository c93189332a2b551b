"""Figures out of last words: over all nodes, bounded, and nothing but numbers and short texts."""

import json

from hypothesis import given
from hypothesis import strategies as st

from gpuyard.resources.validation.measurements import (
    FIGURES_START,
    MOST_CHECKS,
    MOST_LETTERS,
    parse_measurements,
    readable_lines,
    recorded_text,
    recorded_values,
    termination_message,
)
from gpuyard_validator.report import termination_message as written
from gpuyard_validator.run import validate
from kit.cases.figures import FIGURES, figures_line
from kit.cases.hardware import altered, expected, machine
from kit.every import every

HEAD = "passed: node a, pool train: 2 checks ran, 0 failed\n"


def said(checks, sources=("the plan",)):
    return HEAD + figures_line(checks, sources)


def row(*values):
    return dict(zip(("min", "max", "floor", "unit", "source"), values, strict=False))


def test_the_golden_message_of_the_validator_is_read():
    message = FIGURES.read_text(encoding="utf-8")
    assert readable_lines(message) == message.splitlines()[:1]
    found = parse_measurements([message])
    assert len(found) == len(json.loads(message.splitlines()[1])["checks"]) > 15
    assert found["gpu.temperature"] == {
        "least": 49, "most": 49, "floor": 1, "unit": "°C to slowdown", "source": "the device's own limit",
        "nodes": 1,
    }  # fmt: skip
    assert found["gpu.compute_mode"]["floor"] is None


def test_the_program_writes_what_is_read_here():
    one, other = machine("H100"), altered(machine("H100"), 3, thermal_margin=7)
    wanted = expected("H100")
    found = parse_measurements(written(validate(wanted, each)) for each in (one, other))
    assert found["gpu.count"] == {
        "least": 8, "most": 8, "floor": 8, "unit": "GPUs", "source": "the plan", "nodes": 2,
    }  # fmt: skip
    margin = found["gpu.temperature"]
    assert (margin["least"], margin["most"], margin["floor"], margin["nodes"]) == (7, 49, 1, 2)
    assert "DCGM" in found["pcie.width"]["source"]
    assert "driver.version" not in found, "a version is not a number"
    assert "fabric.state" not in found


def test_a_floor_that_is_not_everywhere_the_same_is_none():
    one, other = said({"x.y": row(1, 2, 3, "u", 0)}), said({"x.y": row(0, 9, 4, "u", 0)})
    (found,) = parse_measurements([one, other]).values()
    assert found == {
        "least": 0, "most": 9, "floor": None, "unit": "u", "source": "the plan", "nodes": 2,
    }  # fmt: skip
    (alone,) = parse_measurements([said({"x.y": row(1, 2, None, "u", 0)})]).values()
    assert alone["floor"] is None


@every(
    "message",
    [
        "",
        HEAD,
        f"{HEAD}{FIGURES_START}\n",
        f"{HEAD}{FIGURES_START}}}\n",
        f"{HEAD}{FIGURES_START}{'[' * 3000}\n",
        said({"x": row(1, 2, 3, "u", 0)}).replace("figures/v1", "figures/v2"),
        said({"x": [1, 2, 3, "u", 0]}),
        said([]),
        said({"x": row(1, 2, 3, "u")}),
        said({"x": row("1", 2, 3, "u", 0)}),
        said({"x": row(True, 2, 3, "u", 0)}),
        said({"x": row(1, float("nan"), 3, "u", 0)}),
        said({"x": row(1, 2, float("inf"), "u", 0)}),
        said({"x": row(1, 2, 3, {"token": "secret"}, 0)}),
        said({"x": row(1, 2, 3, "u", 5)}),
        said({"x": row(1, 2, 3, "u", 0)}, [["secret"]]),
    ],
)
def test_what_nobody_can_read_counts_as_not_said(message):
    assert parse_measurements([message]) == {}


def test_a_node_that_says_too_much_is_cut():
    many = {f"{n}.{'x' * 400}": row(1, 1, 1, "u" * 400, 0) for n in range(300)}
    text = recorded_text(parse_measurements([said(many, ["s" * 400])]))
    found = json.loads(text)
    assert len(found) == MOST_CHECKS
    for check, figure in found.items():
        assert max(len(check), len(figure["unit"]), len(figure["source"])) <= MOST_LETTERS
    assert len(text.encode()) < 64 * 1024


@given(st.text(max_size=300), st.text(max_size=300))
def test_no_text_breaks_it(before, after):
    assert isinstance(parse_measurements([f"{before}\n{FIGURES_START}{after}"]), dict)
    assert isinstance(recorded_values(after), dict)


def test_people_read_the_lines_before_it():
    assert readable_lines(said({"x": row(1, 1, 1, "", 0)})) == [HEAD.strip()]
    assert readable_lines("") == []


def test_what_is_kept_is_read_again():
    found = parse_measurements([said({"x.y": row(1, 2, 3, "u", 0)})])
    assert recorded_values(recorded_text(found)) == found != {}
    assert recorded_values(None) == recorded_values("[1]") == {}


def test_last_words_are_those_of_the_container_that_has_some():
    ended = {"state": {"terminated": {"message": " a\n"}}}
    assert termination_message({"status": {"containerStatuses": [{"state": {}}, {}, ended]}}) == "a"
    assert termination_message({}) == ""
