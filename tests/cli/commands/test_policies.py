"""`gpuyard policies`: the policy pack, written into a folder."""

import json
import sys

import pytest
import yaml

from gpuyard.cli.commands import policies

MODULES = {"__main__.py", "pack.py", "pack_remedies.py", "pack_resources.py", "pack_settings.py"}


@pytest.fixture
def apart(monkeypatch):
    """An environment without what the pack needs."""
    monkeypatch.setattr(policies, "find_spec", lambda _: None)


def environment(folder):
    project = yaml.safe_load((folder / "PulumiPolicy.yaml").read_text(encoding="utf-8"))
    return project["runtime"]["options"]["virtualenv"]


def test_the_pack_is_written_and_runs_in_this_environment(gpuyard, tmp_path):
    ended = gpuyard("policies", str(tmp_path / "pack"))
    assert ended.code == 0
    written = {file.name for file in (tmp_path / "pack").iterdir()}
    assert written == {*MODULES, "PulumiPolicy.yaml", "requirements.txt", ".gpuyard-files"}
    assert environment(tmp_path / "pack") == sys.prefix
    assert ended.out.endswith(f"next\n  pulumi preview --policy-pack {tmp_path / 'pack'}\n")


def test_where_the_pack_cannot_run_its_own_environment_is_named_with_the_commands(
    gpuyard, tmp_path, apart
):
    folder = tmp_path / "pack"
    ended = gpuyard("policies", str(folder))
    assert environment(folder) == "venv"
    assert (
        (folder / "requirements.txt")
        .read_text(encoding="utf-8")
        .startswith("gpuyard-lint[policy]==")
    )
    assert ended.out.endswith(
        "next; run once, because pulumi-policy is not installed in this environment\n"
        f"  python3 -m venv {folder}/venv\n"
        f"  {folder}/venv/bin/pip install -r {folder}/requirements.txt\n"
        f"  pulumi preview --policy-pack {folder}\n"
    )


def test_a_program_gets_the_same(gpuyard, tmp_path, apart):
    folder = tmp_path / "pack"
    said = json.loads(gpuyard("policies", str(folder), "--format", "json").out)
    assert (said["command"], said["out"]) == ("policies", str(folder))
    assert set(said["files"]) == {*MODULES, "PulumiPolicy.yaml", "requirements.txt"}
    assert said["environment"] == str(folder / "venv")
    assert said["use"][-1] == f"pulumi preview --policy-pack {folder}"


def test_it_is_written_again_over_itself_and_over_nothing_else(gpuyard, tmp_path):
    folder = tmp_path / "pack"
    gpuyard("policies", str(folder))
    (folder / "venv").mkdir()
    assert gpuyard("policies", str(folder)).code == 0
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("x", encoding="utf-8")
    ended = gpuyard("policies", str(tmp_path / "full"))
    assert (ended.code, ended.out) == (2, "")
    assert " ".join(ended.err.split()) == (
        f"gpuyard: {tmp_path / 'full'}: has files that `gpuyard policies` did not write: mine.txt."
        " Nothing was written. Give it a new or empty folder, or one that it wrote before."
    )
