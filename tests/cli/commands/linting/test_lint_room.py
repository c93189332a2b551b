"""What one run keeps is bounded, and what it leaves out for that is said."""

import pytest

from gpuyard_core import yaml_tree
from gpuyard_core.errors import UsageError
from gpuyard_core.yaml.parse_budget import BUDGET_EXCEEDED, ParseBudget
from gpuyard_core.yaml_tree import MAX_BYTES, parse_documents
from gpuyard_lint import read as reading
from gpuyard_lint import skipped_files
from gpuyard_lint.cli import files
from gpuyard_lint.ignores import WHOLE_FILE, parse_ignores
from gpuyard_lint.items import LintInput
from gpuyard_lint.languages.hcl import OF_A_BLOCK, OF_A_TERM
from gpuyard_lint.read import read
from gpuyard_lint.skipped_files import lines_of_json

POD = b"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, image: m}]}\n"
MAP = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: |\n    flags:\n"
TERRAFORM = 'resource "aws_eks_cluster" "gpu" { name = "a" }\n'


def test_of_a_room_no_more_is_taken_than_is_left():
    room = ParseBudget(3)
    assert room.take(2)
    assert not room.take(2)
    assert (room.left, room.short) == (1, True)


def test_what_is_read_takes_of_the_room_around_it():
    with (room := ParseBudget(100)).active_in_context():
        parse_documents(POD, "a.yaml")
    assert 0 < room.left < 100
    with (
        (small := ParseBudget(5)).active_in_context(),
        pytest.raises(UsageError, match="exceeds the memory limit of one run"),
    ):
        parse_documents(POD, "a.yaml")
    assert small.short
    assert parse_documents(POD, "a.yaml")  # and outside there is no room to keep to


def test_a_text_too_long_by_itself_is_so_in_any_room(monkeypatch):
    monkeypatch.setattr(yaml_tree, "MAX_VALUES", 9)
    with ParseBudget(99).active_in_context(), pytest.raises(UsageError, match="once anchors"):
        parse_documents(b"- a\n" * 9, "a.yaml")


def test_a_file_for_which_no_room_is_left_is_named():
    with ParseBudget(5).active_in_context():
        (unread,) = read(b"a: b\n---\n" + POD, "a.yaml").skipped
    assert (unread.file, unread.reason, unread.is_unrecognized) == (
        "a.yaml",
        BUDGET_EXCEEDED,
        False,
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def kept(monkeypatch, most, **more):
    monkeypatch.setattr(files, "MOST_KEPT", most)
    found, _ = files.read_all(["."], **more)
    return found


def test_files_are_read_until_the_room_is_taken(folder, monkeypatch):
    for name in "abc":
        (folder / f"{name}.yaml").write_bytes(POD)
    found = kept(monkeypatch, 45)
    assert [item.place.file for item in found.items] == ["a.yaml", "b.yaml"]
    assert [(each.file, each.reason) for each in found.skipped] == [("c.yaml", BUDGET_EXCEEDED)]
    assert found.files == ("a.yaml", "b.yaml", "c.yaml")


def test_what_nobody_keeps_takes_no_room(folder, monkeypatch):
    for name in "abcdefgh":
        (folder / f"{name}.yaml").write_text("settings: [1, 2, 3, 4, 5, 6, 7, 8, 9]\n")
    (folder / "z.yaml").write_bytes(POD)
    assert len(kept(monkeypatch, 40).items) == 1


def test_a_text_inside_a_file_takes_room_too_and_is_missed(folder, monkeypatch):
    (folder / "a.yaml").write_bytes(MAP + b"      a: [1, 2, 3, 4, 5, 6, 7, 8, 9]\n" * 1)
    assert not kept(monkeypatch, 100).skipped
    assert [each.reason for each in kept(monkeypatch, 20).skipped] == [BUDGET_EXCEEDED]


def test_so_do_terraforms_files(folder, monkeypatch):
    (folder / "a.tf").write_text(TERRAFORM)
    (folder / "b.tf").write_text(TERRAFORM)
    found = kept(monkeypatch, OF_A_BLOCK + OF_A_TERM + 2)
    assert [item.place.file for item in found.items] == ["a.tf"]
    assert [(each.file, each.reason) for each in found.skipped] == [("b.tf", BUDGET_EXCEEDED)]


def test_and_the_texts_in_them(folder, monkeypatch):
    text = 'resource "helm_release" "a" {\n  chart = "gpu-operator"\n  values = ["{a: [1, 2, 3, 4]}"]\n}\n'
    (folder / "a.tf").write_text(text)
    found = kept(monkeypatch, OF_A_BLOCK + 4 * OF_A_TERM + 2)
    assert [(each.file, each.reason) for each in found.skipped] == [("a.tf", BUDGET_EXCEEDED)]


def test_what_a_folder_says_of_its_variables_takes_of_it_too(folder, monkeypatch):
    (folder / "a.tf").write_text('variable "a" {\n  default = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n}\n')
    (folder / "c").mkdir()
    (folder / "c/b.tf").write_text('module "m" {\n  source = "../"\n}\n')
    assert not [each for each in kept(monkeypatch, 99).skipped if each.reason == BUDGET_EXCEEDED]
    found = kept(monkeypatch, OF_A_BLOCK + 2 * OF_A_TERM)
    assert [(each.file, each.reason) for each in found.skipped if not each.is_unrecognized] == [
        ("a.tf", BUDGET_EXCEEDED)
    ]


def test_what_programs_make_takes_of_it_as_well(folder, monkeypatch):
    def making(found, **_):
        assert not reading.read_rendered(POD * 9, "made", lambda line: line)
        return found

    monkeypatch.setattr(files, "with_programs", making)
    (unread,) = kept(monkeypatch, 5).skipped
    assert (unread.file, unread.reason) == (".", f"a chart or kustomization: {BUDGET_EXCEEDED}")


@pytest.mark.parametrize(("letter", "times"), [("x", 1), ("ä", 2), ("\U0001f600", 4)])
def test_letters_beyond_ascii_take_more_room(letter, times):
    whole = MAX_BYTES * reading.TIMES
    text = f"a: {letter}".encode() + b"x" * (whole // 2 if times > 1 else 9)
    reasons = [each.reason for each in read(text, "a.yaml").skipped]
    assert any("non-ASCII" in each for each in reasons) is (times > 1)


def test_a_table_is_looked_at_only_where_it_may_be_a_list_of_counters():
    counters = b"DCGM_FI_DEV_GPU_UTIL, gauge, use\n"
    assert read(counters, "a.csv").items
    assert read(b"a,b\n", "a.csv") == LintInput()
    assert read(counters + b"#" * MAX_BYTES, "a.csv") == LintInput()


def test_json_of_too_many_values_is_not_looked_at_as_a_whole(monkeypatch):
    data = b'{"kind": ' + b'["a"' + b', "a"' * 20_000 + b"]}"
    looked = []
    monkeypatch.setattr(skipped_files, "_MANY", 30_000)
    assert skipped_files.is_irrelevant_file(data, lambda value: bool(looked.append(value)))
    monkeypatch.setattr(skipped_files, "_MANY", 10_000)
    assert skipped_files.is_irrelevant_file(data, lambda value: bool(looked.append(value)))
    assert len(looked) == 1


def test_text_of_very_many_lines_is_no_json_of_lines(monkeypatch):
    assert len(lines_of_json(b"{}\n{}\n")) == 2
    monkeypatch.setattr(skipped_files, "_MOST_LINES", 1)
    assert lines_of_json(b"{}\n{}\n") == []


def test_text_of_very_many_documents_is_read_as_one(monkeypatch):
    definition = b"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
    text = definition + b"---\n" + POD + b"---\na: b: c\n"
    assert len(read(text, "a.yaml").items) == 1
    monkeypatch.setattr(reading, "_MOST_PARTS", 2)
    assert not read(text, "a.yaml").items


def test_comments_are_found_at_their_lines_and_no_more_than_so_many():
    text = b"# gpuyard: ignore-file GPU-POD-01 because x\r\n\n\n"
    text += b"a: b # gpuyard: ignore GPU-POD-02 because y\n\ngpuyard:\n# gpuyard: ignore GPU-POD-03 because z"
    found = parse_ignores(text, "f")
    assert found.reasons == {
        ("f", WHOLE_FILE, "GPU-POD-01"): "x",
        ("f", 4, "GPU-POD-02"): "y",
        ("f", 7, "GPU-POD-03"): "z",
    }
    many = parse_ignores(b"# gpuyard: ignore GPU-POD-01 because x\n" * 20_000, "f")
    assert len(many.reasons) == 10_000
