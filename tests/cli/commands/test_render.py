"""`gpuyard render`: a folder that it owns, and nothing beside it."""

import json

import pytest

from kit.stacks import platform, pool, team

STACK = platform(teams=[team(guarantee={"train": 8})], cloud="simulated")
SMALLER = platform(cloud="simulated")
LATE = platform(cloud="aws")
"""Its cluster is made by a deployment, and nobody knows its name before."""


@pytest.fixture
def out(tmp_path):
    return tmp_path / "manifests" / "here"


def content(folder):
    return {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_the_files_are_listed_as_they_are_written(gpuyard, write, out):
    ended = gpuyard("render", write(STACK), "--out", out)
    assert (ended.code, ended.err) == (0, "")
    written = sorted(str(p) for p in out.rglob("*") if p.is_file() and p.name != ".gpuyard-files")
    assert ended.out.splitlines() == written
    assert written


def test_the_same_stack_gives_the_same_bytes(gpuyard, write, out, tmp_path):
    path = write(STACK)
    gpuyard("render", path, "--out", out)
    first = content(out)
    assert gpuyard("render", path, "--out", out).code == 0
    assert gpuyard("render", path, "--out", tmp_path / "other").code == 0
    assert content(out) == first == content(tmp_path / "other")


def test_what_an_earlier_run_wrote_and_this_one_does_not_is_removed(gpuyard, write, out):
    gpuyard("render", write(STACK), "--out", out)
    before = set(content(out))
    ended = gpuyard("render", write(SMALLER), "--out", out)
    gone = before - set(content(out))
    assert gone
    assert all(f"removed {out / name}" in ended.err for name in gone)


def test_what_somebody_changed_or_added_is_kept(gpuyard, write, out):
    gpuyard("render", write(STACK), "--out", out)
    (out / "mine.yaml").write_text("a: 1\n", encoding="utf-8")
    before = set(content(out))
    gpuyard("render", write(SMALLER), "--out", out)
    assert (out / "mine.yaml").exists()
    gpuyard("render", write(STACK), "--out", out)
    changed = next(out.glob("*team*"))
    changed.write_text("mine now\n", encoding="utf-8")
    ended = gpuyard("render", write(SMALLER), "--out", out, "--format", "json")
    assert json.loads(ended.out)["kept"] == [changed.name]
    assert changed.read_text(encoding="utf-8") == "mine now\n"
    assert before >= set(content(out))


@pytest.mark.parametrize("name", ["notes.txt", "000-platform.yaml"])
def test_a_folder_of_somebody_else_is_left_alone(gpuyard, write, out, name):
    out.mkdir(parents=True)
    (out / name).write_text("mine\n", encoding="utf-8")
    ended = gpuyard("render", write(STACK), "--out", out)
    assert (ended.code, ended.out) == (2, "")
    assert (
        f"has files that `gpuyard render` did not write: {name}. Nothing was written" in ended.err
    )
    assert content(out) == {name: b"mine\n"}


def test_a_new_name_does_not_overwrite_a_strange_file(gpuyard, write, out):
    gpuyard("render", write(SMALLER), "--out", out)
    before = content(out)
    new = min(set(names(gpuyard, write, out.parent / "x")) - set(before))
    (out / new).write_text("mine\n", encoding="utf-8")
    ended = gpuyard("render", write(STACK), "--out", out)
    assert ended.code == 2
    assert f"{new}: was not written by `gpuyard render`. Nothing was written" in ended.err
    assert content(out) == before | {new: b"mine\n"}


def names(gpuyard, write, folder):
    gpuyard("render", write(STACK), "--out", folder)
    return content(folder)


def test_a_link_is_not_followed(gpuyard, write, out, tmp_path):
    gpuyard("render", write(STACK), "--out", out)
    target = tmp_path / "precious"
    target.write_text("precious\n", encoding="utf-8")
    name = next(p.name for p in out.iterdir() if p.suffix == ".yaml")
    (out / name).unlink()
    (out / name).symlink_to(target)
    ended = gpuyard("render", write(STACK), "--out", out)
    assert ended.code == 2
    assert "is a link out of the folder" in ended.err
    assert target.read_text(encoding="utf-8") == "precious\n"


def test_a_file_is_no_folder(gpuyard, write, tmp_path):
    file = tmp_path / "file"
    file.touch()
    assert "not a folder" in gpuyard("render", write(STACK), "--out", file).err
    ended = gpuyard("render", write(STACK), "--out", file / "below")
    assert (ended.code, ended.out) == (2, "")


def test_a_list_that_leads_out_of_the_folder_is_not_believed(gpuyard, write, out, tmp_path):
    victim = tmp_path / "manifests" / "victim"
    gpuyard("render", write(STACK), "--out", out)
    victim.write_bytes(b"")
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    listed = out / ".gpuyard-files"
    listed.write_text(
        f"{listed.read_text()}{empty}  ../victim\n{empty}  {victim}\n", encoding="utf-8"
    )
    gpuyard("render", write(SMALLER), "--out", out)
    assert victim.exists()


def test_a_cluster_of_ones_own_exists_and_asks_for_no_late_value(gpuyard, write, out):
    assert gpuyard("render", write(platform()), "--out", out).code == 0
    assert b"cluster: lab\n" in content(out)["000-platform.yaml"]


def test_a_late_value_that_is_missing_is_named(gpuyard, write, out):
    ended = gpuyard("render", write(LATE), "--out", out)
    assert (ended.code, ended.out) == (2, "")
    assert "`cluster.name`" in ended.err
    assert not out.exists()


@pytest.mark.parametrize(
    "text", ["cluster.name: prod\n", "cluster: {name: prod}\n", '{"cluster.name": "prod"}']
)
def test_late_values_come_from_a_file(gpuyard, write, out, text):
    values = write(text, "values.yaml")
    assert gpuyard("render", write(LATE), "--out", out, "--values", values).code == 0
    assert any(b"prod" in text for text in content(out).values())


def test_a_value_that_nothing_waits_for_is_said_with_the_one_that_was_meant(gpuyard, write, out):
    given = "cluster: {name: prod, nmae: prod}\nregion: eu\n"
    ended = gpuyard("render", write(LATE), "--out", out, "--values", write(given, "values.yaml"))
    assert ended.code == 0
    said = " ".join(ended.err.split())
    assert "late value `cluster.nmae`; did you mean `cluster.name`?" in said
    assert "has no late value `region`" in said
    assert "waits for `cluster`" not in said
    assert "waits for `cluster.name`" not in said


@pytest.mark.parametrize(
    ("text", "says"), [("- 1\n", "not a mapping"), ("", "`cluster.name`"), ("[", "not YAML")]
)
def test_a_values_file_that_is_none_is_said(gpuyard, write, out, text, says):
    ended = gpuyard("render", write(LATE), "--out", out, "--values", write(text, "values.yaml"))
    assert ended.code == 2
    assert says in ended.err


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_refused_stack_writes_nothing(gpuyard, write, out, form):
    ended = gpuyard("render", write(platform([pool(machine="p9")])), "--out", out, "--format", form)
    assert ended.code == 3
    assert not out.exists()
