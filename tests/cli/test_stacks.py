"""STACK on the command line: a name in the project's `stacks/`, or a path."""

import pytest

from kit.stacks import platform, stack_file


def test_a_name_is_found_from_anywhere_in_the_project(gpuyard, project):
    ended = gpuyard("check", "prod")
    assert ended.code == 0
    assert f"{project / 'stacks' / 'Pulumi.prod.yaml'}: 1 pool" in " ".join(ended.out.split())


def test_a_file_below_is_shown_as_a_relative_path(gpuyard, project, monkeypatch):
    monkeypatch.chdir(project)
    assert gpuyard("check", "prod").out.startswith("ok      stacks/Pulumi.prod.yaml: ")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("prd", "Available: prod, test. Did you mean prod?"),
        ("quite-else", "Available: prod, test. Give one of them, or a path."),
    ],
)
def test_an_unknown_name_is_answered_with_those_there_are(gpuyard, project, name, says):
    ended = gpuyard("check", name)
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err


def test_the_search_ends_at_the_root_of_the_project(gpuyard, project, monkeypatch):
    inner = project / "deep"
    (inner / "Pulumi.yaml").write_text("name: inner\n", encoding="utf-8")
    ended = gpuyard("check", "prod")
    assert ended.code == 2
    assert "no folder `stacks` with a Pulumi.NAME.yaml in this or a parent directory" in ended.err


def test_a_path_is_a_path_also_without_a_suffix(gpuyard, project, monkeypatch):
    monkeypatch.chdir(project)
    (project / "mine").write_bytes(stack_file(platform()))
    assert gpuyard("check", "mine").code == 0
    assert gpuyard("check", "./mine").code == 0
    assert gpuyard("check", "mine.yaml").err == "gpuyard: mine.yaml: no such file\n"


def test_stacks_are_completed_by_name(project):
    from gpuyard_core.stack_files import complete_stacks

    assert complete_stacks("") == ["prod", "test"]
    assert complete_stacks("p") == ["prod"]
