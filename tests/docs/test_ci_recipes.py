"""The recipes for CI and the hook work: their commands run here, on a folder of the same name."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import sizes
from kit.waiting import SHORTER

GUIDES = sizes.ROOT / "docs" / "guides"
BAD = (
    "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {nvidia.com/gpu: 8}}\n"
)
SOUND = BAD.replace("nvidia", "requests.nvidia")


def github():
    return yaml.safe_load((GUIDES / "ci-github.yaml").read_text(encoding="utf-8"))


def gitlab():
    return yaml.safe_load((GUIDES / "ci-gitlab.yaml").read_text(encoding="utf-8"))


def hook():
    (found,) = yaml.safe_load((sizes.ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    return found


def shell_lines() -> list[str]:
    steps = github()["jobs"]["lint"]["steps"]
    lines = [step["run"] for step in steps if "run" in step] + gitlab()["gpu-rules"]["script"]
    return [*lines, shlex.join([*shlex.split(hook()["entry"]), *hook()["args"]])]


COMMANDS = [line for line in shell_lines() if line.startswith("gpuyard")]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("text", "fine"), [(SOUND, True), (BAD, False)])
def test_a_command_of_a_recipe_ends_as_its_ci_expects(tmp_path, command, text, fine):
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "quota.yaml").write_text(text, encoding="utf-8")
    ended = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        timeout=SHORTER,
        check=False,
    )
    tolerated = "|| test $? -eq 3" in command
    assert ended.returncode == (0 if fine or tolerated else 3), ended.stderr
    for name in re.findall(r">(\S+)", command):
        written = (tmp_path / name).read_text(encoding="utf-8")
        assert ("limits nothing" in written) is not fine


def test_there_is_a_command_in_every_recipe():
    assert len(COMMANDS) == 4


def test_what_a_recipe_writes_is_what_its_ci_takes():
    steps = github()["jobs"]["lint"]["steps"]
    (upload,) = [step for step in steps if "upload-sarif" in step.get("uses", "")]
    assert f">{upload['with']['sarif_file']}" in " ".join(shell_lines())
    assert f">{gitlab()['gpu-rules']['artifacts']['reports']['junit']}" in " ".join(shell_lines())
    assert github()["permissions"]["security-events"] == "write"


def test_a_workflow_has_all_that_its_ci_asks_for():
    workflow = github()
    assert set(workflow) == {"name", True, "permissions", "jobs"}  # YAML 1.1 reads `on` as true
    job = workflow["jobs"]["lint"]
    assert set(job) == {"runs-on", "steps"}
    assert all(("uses" in step) != ("run" in step) for step in job["steps"])
    assert all(re.fullmatch(r"[\w/-]+@v\d+", s["uses"]) for s in job["steps"] if "uses" in s)
    assert set(gitlab()["gpu-rules"]) == {"image", "script", "artifacts"}


def test_the_hook_looks_at_the_whole_folder_and_runs_our_command():
    found = hook()
    assert (found["id"], found["language"], found["pass_filenames"]) == (
        "gpuyard-lint",
        "python",
        False,
    )
    assert set(found["types_or"]) == {"yaml", "json"}
    scripts = (sizes.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f"\n{shlex.split(found['entry'])[0]} = " in scripts


@pytest.mark.parametrize("path", sorted(GUIDES.glob("*.yaml")), ids=lambda path: path.name)
def test_no_recipe_names_a_host(path: Path):
    assert re.findall(r"\w+\.(?:io|com|dev|org)\b|://", path.read_text(encoding="utf-8")) == []
