"""Whatever is wrong with a file: where, what was given, what is allowed, what to do, and the code."""

import json
import os
import time

import pytest

from kit.stacks import CUT, cut_pool, platform, pool, team

NAMES = "lower-case letters, digits and dashes, starting with a letter, at most 40"

REFUSALS = {
    "unknown field": (
        platform([pool(machin="p5.48xlarge")]),
        "pools[0].machin",
        "unknown field",
        "'machin'",
        "name, machine, nodes, capacity, scaling, zones, sharing, labels, ",
        "remove it: `machine` is already set",
    ),
    "wrong type": (
        platform(teams=[team(guarantee={"train": "many"})]),
        "teams[0].guarantee.train",
        "wrong type",
        "'many'",
        "a whole number",
        None,
    ),
    "duplicate pool": (
        platform([pool(), pool()]),
        "pools[1].name",
        "the name is taken: another pool has or had it",
        "train",
        "a unique name for each pool",
        "write train-2",
    ),
    "unknown machine": (
        platform([pool(machine="p5.48xlrge")]),
        "pools[0].machine",
        "the catalogue has no such machine",
        "p5.48xlrge",
        "p5.48xlarge, p6-b300.48xlarge",
        "write p5.48xlarge",
    ),
    "impossible MIG layout": (
        platform([cut_pool(sharing={"mig": {"2g.10gb": 1, "3g.20gb": 2}})]),
        "pools[0].sharing.mig",
        "this layout does not fit on one A100-40: 8 compute slices of 7",
        "{2g.10gb: 1, 3g.20gb: 2}",
        "7 compute slices on 8 memory units",
        "write the nearest layout that fits: {3g.20gb: 2}",
    ),
    "reversed range": (
        platform([pool(nodes="9..2")]),
        "pools[0].nodes",
        "the range runs backwards",
        "'9..2'",
        "a number of nodes, or LOW..HIGH such as 0..16",
        "write 2..9",
    ),
    "huge range": (
        platform([pool(nodes="0..999999999")]),
        "pools[0].nodes",
        "out of bounds for a number of nodes",
        "'0..999999999'",
        "0 to 10000 nodes in a pool",
        "write 0..10000; use several pools for more nodes",
    ),
    "guarantee over capacity": (
        platform(teams=[team(guarantee={"train": 40})]),
        "teams[0].guarantee.train",
        "train has 32 nvidia.com/gpu with all 4 nodes (8 a node)",
        "40 nvidia.com/gpu",
        "32 nvidia.com/gpu",
        "guarantee 32, or let train have 5 nodes",
    ),
    "guarantee to an unknown pool": (
        platform(teams=[team(guarantee={"trian": 8})]),
        "teams[0].guarantee.trian",
        "no pool has this name",
        "trian",
        "train",
        "write train",
    ),
    "name": (
        platform([pool("Train_A")]),
        "pools[0].name",
        "not a valid name for Kubernetes and the clouds",
        "'Train_A'",
        NAMES,
        "write train-a",
    ),
}


@pytest.mark.parametrize("case", REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_says_where_what_was_given_what_is_allowed_and_what_to_do(gpuyard, write, case):
    content, where, problem, given, allowed, fix = case
    ended = gpuyard("check", write(content), "--format", "json")
    assert ended.code == 3, ended
    assert ended.err == ""
    finding, *waiting = json.loads(ended.out)["findings"]
    assert {each["id"] for each in waiting} <= {"checks.waiting"}
    assert finding["where"] == where
    assert finding["problem"].startswith(problem)
    assert finding["given"] == given
    assert finding["allowed"].startswith(allowed)
    assert (finding["fix"] or {}).get("message") == fix
    assert finding["line"] > 1


@pytest.mark.parametrize("case", REFUSALS.values(), ids=REFUSALS)
def test_the_text_of_a_refusal_has_the_same_and_the_line(gpuyard, write, monkeypatch, case):
    content, where, problem, given, allowed, fix = case
    monkeypatch.setenv("COLUMNS", "100")
    path = write(content)
    ended = gpuyard("check", path)
    assert ended.code == 3
    flat = " ".join(ended.out.split())
    for part in (f"error {where}: {problem}", f"given {given}", f"allowed {allowed}"):
        assert " ".join(part.split()) in flat
    if fix:
        assert f"fix {fix}" in flat
    assert f"at {path}:" in flat


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)

UNREADABLE = {
    "not YAML": ("config: [", ": not YAML: line "),
    "two documents": (
        "a: 1\n---\nb: 2\n",
        ": line 2: a second document; a stack file has only one",
    ),
    "binary": (b"\x7fELF\x02\x01\x01\xff\xfe", ": not text (byte 7 is not UTF-8)"),
    "control characters": ("config: \x1b[31mred\x00", ": not YAML: "),
    "anchor bomb": (BOMB, ": more than 300,000 values once anchors are expanded"),
    "too deep": ("[" * 100, ": line 1: nested more than 60 deep"),
    "over 1 MiB": (b"# " + b"x" * 1024 * 1024, ": 1,048,578 bytes; at most 1,048,576 are read"),
}


@pytest.mark.parametrize("case", UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize("command", ["check", "plan", "cost"])
def test_what_cannot_be_read_is_one_sentence_on_stderr(gpuyard, write, command, case):
    content, says = case
    path = write(content)
    started = time.process_time()
    ended = gpuyard(command, path)
    assert time.process_time() - started < 1
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"gpuyard: {path}")
    assert says in ended.err
    assert ended.err.count("\n") == 1
    assert ended.err.rstrip("\n").isprintable()


def test_an_empty_file_has_no_platform(gpuyard, write):
    ended = gpuyard("check", write(""))
    assert ended.code == 3
    assert "the file has no `config: gpuyard:platform:`" in ended.out
    assert "given    an empty file" in ended.out


@pytest.fixture
def places(tmp_path):
    (tmp_path / "folder.yaml").mkdir()
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("folder.yaml", "a folder, not a file"),
        ("pipe.yaml", "a pipe, not a file"),
        ("loop.yaml", "can't be read: too many levels of symbolic links"),
        ("missing.yaml", "no such file"),
        ("x" * 300 + ".yaml", "its name is too long"),
    ],
)
def test_what_is_no_file_is_said_at_once(gpuyard, places, name, says):
    started = time.monotonic()
    ended = gpuyard("check", places / name)
    assert time.monotonic() - started < 60, "a pipe is not waited for"
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err


def test_a_device_is_not_read(gpuyard):
    ended = gpuyard("check", "/dev/zero")
    assert (ended.code, ended.out) == (2, "")
    assert "a device or socket, not a file" in ended.err


def test_a_file_without_permission_is_said(gpuyard, write, monkeypatch):
    path = write(platform())

    def forbidden(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", forbidden)  # root reads everything, whatever the mode
    ended = gpuyard("check", path)
    assert (ended.code, ended.out) == (2, "")
    assert "no permission to read it" in ended.err


def test_spec_and_proofs_refuse_together_each_at_its_own_place(gpuyard, write):
    content = platform(
        [
            pool("bad", nodes="9..2"),
            cut_pool("serve", sharing={"mig": {"3g.20gb": 3}}),
            pool("train"),
        ],
        [team("lost", guarantee={"bad": 1}), team("vision", guarantee={"train": 99})],
        colour="red",
    )
    ended = gpuyard("check", write(content), "--format", "json")
    document = json.loads(ended.out)
    assert ended.code == 3
    assert [(f["id"], f["where"]) for f in document["findings"]] == [
        ("spec.unknown_field", "colour"),
        ("spec.range_reversed", "pools[0].nodes"),
        ("mig.placement", "pools[1].sharing.mig"),
        ("quota.over_capacity", "teams[1].guarantee.train"),
    ]
    assert document["counts"] == {"error": 4, "warning": 0, "info": 0}
    assert len({f["line"] for f in document["findings"]}) == 4


HOSTILE = "\x9b31m[red]\u202edrow[/red] \u2028 :smile: é"


def test_text_from_a_file_never_drives_the_terminal(gpuyard, write):
    content = platform([pool(machine=HOSTILE), cut_pool(zones=[HOSTILE])], [team(groups=[HOSTILE])])
    ended = gpuyard("check", write(content))
    assert ended.code == 3
    assert all(line.isprintable() for line in ended.out.splitlines())
    flat = "".join(ended.out.split())
    assert "\\x9b31m[red]\\u202edrow[/red]" in flat
    assert ":smile:é" in flat


def test_text_from_a_file_is_escaped_in_json_too(gpuyard, write):
    content = platform([cut_pool(zones=["a\x7fb\x9b"], sharing=CUT)])
    ended = gpuyard("plan", write(content), "--format", "json")
    assert ended.out.isascii()
    assert "\x7f" not in ended.out


def test_arguments_never_drive_the_terminal(gpuyard):
    for args in (
        ("check", "\x1b[31mx"),
        ("\x1b[31mx",),
        ("mig", "\x1b[31mx"),
        ("check", "--\x1b[31m"),
    ):
        ended = gpuyard(*args)
        assert (ended.code, ended.out) == (2, ""), args
        assert all(line.isprintable() for line in ended.err.splitlines())


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_an_impossible_name_is_no_stack(gpuyard, name):
    ended = gpuyard("check", name)
    assert (ended.code, ended.out) == (2, "")
