"""A resource is read whatever way its file is written: encodings, line ends, lists, lines of JSON."""

import json

import pytest

from gpuyard_lint.cli.files import read_all
from gpuyard_lint.read import read
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES

POD = """apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
    - name: a
      image: m:latest
      resources: {limits: {nvidia.com/gpu: 1}}
"""
SPEC = {"containers": [{"image": "m:latest", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}
OBJECT = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": SPEC}
NAMELESS = {"metadata": {"name": "p"}, "spec": SPEC}
IN_CHINESE = "# 训练任务\n"


def lines(data, file="a.yaml"):
    made = build_report(read(data, file), RULES)
    assert {hit.rule.id for hit in made.hits} <= {"GPU-POD-03"}
    return [hit.line for hit in made.hits]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"\xef\xbb\xbf" + POD.encode(), [7]),
        (POD.replace("\n", "\r\n").encode(), [7]),
        (f"---\n{POD}---\n{POD}".replace("\n", "\r\n").encode(), [8, 17]),
        (POD.encode("utf-16"), [7]),
        (b"\xfe\xff" + POD.encode("utf-16-be"), [7]),
        ((IN_CHINESE + POD).encode(), [8]),
        ((IN_CHINESE + POD).encode("gbk"), [8]),
        ("# café\n".encode("latin-1") + POD.encode(), [8]),
        (b"- " + POD.replace("\n", "\n  ").encode(), [7]),
        (
            ("items:\n- " + POD.replace("\n", "\n  ") + "\nkind: List\napiVersion: v1\n").encode(),
            [8],
        ),
        (json.dumps([OBJECT, OBJECT]).encode(), [1, 1]),
        (json.dumps({"apiVersion": "v1", "kind": "PodList", "items": [NAMELESS]}).encode(), [1]),
        (
            json.dumps({"apiVersion": "v1", "kind": "List", "items": [NAMELESS, OBJECT]}).encode(),
            [1],
        ),
        (f"{json.dumps(OBJECT)}\n\n{json.dumps(OBJECT)}\n".encode(), [1, 3]),
        ((POD + "    - &b\n      image: n:latest\n    - <<: *b\n").encode(), [7, 10, 11]),
    ],
    ids=range(15),
)
def test_a_pod_is_found_at_its_line(data, found):
    assert sorted(set(lines(data))) == sorted(set(found))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (bytes(range(256)), "not text"),
        (b"\xff\xfea:\x00", "not text"),
        (b'{"a": 1}\n{"b": \n', "not JSON: line 2"),
        (json.dumps([OBJECT, 1]).encode(), "no known format"),
    ],
)
def test_what_is_no_resource_in_any_way_is_said(data, why):
    reading = read(data, "a.json")
    assert reading.items == ()
    assert [each.reason[: len(why)] for each in reading.skipped] == [why]


def test_a_name_that_is_no_text_is_shown_by_its_numbers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open(b"a\xff.yaml", "wb") as file:  # noqa: PTH123  a path of bytes
        file.write(POD.encode())
    (tmp_path / "gone.yaml").symlink_to("nowhere")
    reading, _ = read_all(["."])
    assert reading.files == (r"a\xff.yaml", "gone.yaml")
    (hit,) = build_report(reading, RULES).hits
    assert (hit.file, len(hit.fingerprint)) == (r"a\xff.yaml", 16)


def test_lines_of_json_are_read_by_their_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.jsonl", "b.ndjson"):
        (tmp_path / name).write_text(json.dumps(OBJECT) + "\n", encoding="utf-8")
    reading, _ = read_all(["."])
    assert [hit.file for hit in build_report(reading, RULES).hits] == ["a.jsonl", "b.ndjson"]


def test_a_circle_of_links_ends(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "up").symlink_to("..")
    (tmp_path / "ring.yaml").symlink_to("ring.yaml")
    (tmp_path / "a" / "p.yaml").write_text(POD, encoding="utf-8")
    reading, _ = read_all(["."])
    assert [hit.file for hit in build_report(reading, RULES).hits] == ["a/p.yaml"]
