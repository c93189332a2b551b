"""The JSON of every command: one shape for programs, and plain values only."""

import json
from datetime import date
from fractions import Fraction

import pytest

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard_core.findings import Severity
from gpuyard_core.models.values import Range
from gpuyard_core.terminal.documents import as_json, tree
from kit.stacks import cut_pool, platform, pool, team

STACK = platform([pool(nodes="0..4"), cut_pool()], [team(guarantee={"serve/3g.20gb": 2})])
REFUSED = platform([pool(machine="p9")])
COMMON = {"version", "command", "findings"}
OF_A_STACK = COMMON | {"stack", "counts"}
SHAPES = {
    "check": ((), OF_A_STACK | {"fail_on", "failed", "platform"}),
    "plan": ((), OF_A_STACK | {"plan"}),
    "cost": ((), OF_A_STACK | {"cost"}),
    "get": (("name",), OF_A_STACK | {"path", "value"}),
}


@pytest.mark.parametrize("raw", [STACK, REFUSED], ids=["sound", "refused"])
@pytest.mark.parametrize("command", SHAPES)
def test_a_document_has_the_same_keys_whatever_the_verdict(gpuyard, write, command, raw):
    more, keys = SHAPES[command]
    path = write(raw)
    ended = gpuyard(command, path, *more, "--format", "json")
    found = json.loads(ended.out)
    assert set(found) == keys
    assert (found["version"], found["command"], found["stack"]) == (1, command, str(path))
    assert set(found["counts"]) == {s.value for s in Severity}
    assert sum(found["counts"].values()) == len(found["findings"])
    assert ended.code == (3 if found["counts"]["error"] else 0)
    assert ended.err == ""


def test_the_document_of_a_rendered_folder_lists_what_became_of_each_file(gpuyard, write, tmp_path):
    raw = platform(cloud="simulated")
    out = tmp_path / "out"
    found = json.loads(gpuyard("render", write(raw), "--out", out, "--format", "json").out)
    assert set(found) == OF_A_STACK | {"out", "files", "removed", "kept"}
    assert found["out"] == str(out)
    assert {p.name for p in out.iterdir() if not p.name.startswith(".")} == set(found["files"])
    assert found["removed"] == found["kept"] == []


def test_every_finding_of_a_document_says_where_it_stands(gpuyard, write):
    path = write(platform([pool(machine="p9"), pool("two", machine="p9")]))
    found = json.loads(gpuyard("check", path, "--format", "json").out)["findings"]
    assert [f["path"] for f in found] == [["pools", 0, "machine"], ["pools", 1, "machine"]]
    assert all(f["file"] == str(path) for f in found)
    lines = path.read_text().splitlines()
    assert ["p9" in lines[f["line"] - 1] for f in found] == [True, True]


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Severity.WARNING, "warning"),
        (0.1 + 0.2, 0.3),
        (True, True),
        (Fraction(3, 7), "3/7"),
        (Range(0, 4), "0..4"),
        (date(2026, 11, 21), "2026-11-21"),
        (frozenset({"b", "a"}), ["a", "b"]),
        ((1, (2,)), [1, [2]]),
        ({1: None}, {"1": None}),
        (UnresolvedOutput("cluster.name"), {"late": "cluster.name"}),
    ],
)
def test_a_value_becomes_plain(value, plain):
    assert tree(value) == plain
    assert type(tree(value)) is type(plain)


def test_json_is_ascii_and_safe_to_show():
    text = as_json({"a": "ü\x7f\u202e\x1b"})
    assert text.isascii()
    assert text.replace("\n", "").isprintable()
    assert json.loads(text) == {"a": "ü\x7f\u202e\x1b"}


# ── late values ──


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("cluster: {name: blue, region: x}\n", "blue"),
        ("cluster.name: blue\nnobody.asked: 1\n", "blue"),
        ("# which cluster\n---\ncluster.name: 'on'\n", "on"),
    ],
)
def test_values_nobody_asked_for_are_no_fault(gpuyard, write, tmp_path, text, name):
    out = tmp_path / "out"
    values = write(text, "values.yaml")
    assert (
        gpuyard("render", write(platform(cloud="aws")), "--out", out, "--values", values).code == 0
    )
    written = "".join(p.read_text(encoding="utf-8") for p in out.glob("*.yaml"))
    assert name in written


@pytest.mark.parametrize("name", ["none.yaml", "."])
def test_a_values_file_that_cannot_be_read_is_wrong_usage(gpuyard, write, tmp_path, name):
    out = tmp_path / "out"
    ended = gpuyard("render", write(platform()), "--out", out, "--values", tmp_path / name)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
    assert not out.exists()


def test_values_do_not_change_what_the_stack_knows_itself(gpuyard, write, tmp_path):
    raw = platform(cloud="simulated")
    values = write("cluster.name: other\n", "values.yaml")
    outs = [tmp_path / "a", tmp_path / "b"]
    assert gpuyard("render", write(raw), "--out", outs[0]).code == 0
    assert gpuyard("render", write(raw), "--out", outs[1], "--values", values).code == 0
    one, two = ({p.name: p.read_bytes() for p in out.glob("*.yaml")} for out in outs)
    assert one == two
