"""What an installed wheel can do, in an environment that has no checkout: only what it needs and itself."""

import os
import subprocess
from pathlib import Path

import pytest

import sizes
import wheel
from gpuyard.cli.commands.init import ProjectCloud
from kit.wheels import RUN, installed


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Python with the wheel, and no checkout."""
    return installed(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def gpuyard(python, tmp_path):
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "COV_"))}
        return subprocess.run(
            [python, "-c", RUN, *words],
            cwd=tmp_path,
            env={**kept, "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def test_the_library_is_the_one_of_the_wheel(python, tmp_path):
    said = subprocess.run(
        [python, "-c", "import gpuyard; print(gpuyard.__file__)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert Path(said.strip()).is_relative_to(python.parent.parent)


@pytest.mark.parametrize("of", ["mig.placement", "GPU-TEN-02"])
def test_pages_about_findings_and_rules_are_in_it(gpuyard, of):
    ended = gpuyard("why", of)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith(f"{of}\n")


def test_what_a_finding_names_is_there(gpuyard, tmp_path):
    (tmp_path / "stack.yaml").write_text("config: {gpuyard:platform: {x: 1}}\n", encoding="utf-8")
    ended = gpuyard("check", "stack.yaml")
    assert ended.returncode == 3
    named = {line.split("gpuyard why ")[1] for line in ended.stdout.splitlines() if "why" in line}
    assert named
    assert all(gpuyard("why", each).returncode == 0 for each in named)


def test_the_policy_pack_is_in_it_and_finds_its_rules(gpuyard, python, tmp_path):
    assert gpuyard("policies", "pack").returncode == 0
    ended = subprocess.run(
        [python, "-c", "import pack; print(len(pack.policies()))"],
        cwd=tmp_path / "pack",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (0, "5\n"), ended.stderr


def test_every_page_and_every_module_of_the_pack_goes_into_a_wheel_and_nothing_else_of_their_folders():
    names = {Path(place).name for place in wheel.beside(sizes.ROOT).values()}
    assert {"mig.placement.md", "GPU-TEN-02.md", "pack.py", "__main__.py"} <= names
    assert {place.split("/")[2] for place in wheel.beside(sizes.ROOT).values()} == set(wheel.KEPT)
    assert {Path(name).suffix for name in names} == {".md", ".py"}


@pytest.mark.parametrize("cloud", list(ProjectCloud))
def test_a_new_project_passes_check(gpuyard, tmp_path, cloud):
    assert gpuyard("init", "--generate-only", "--cloud", cloud, cloud).returncode == 0
    ended = gpuyard("check", f"{cloud}/stacks/Pulumi.dev.yaml")
    assert ended.returncode == 0, ended.stdout


def test_the_simulated_cluster_is_not_in_it(gpuyard):
    assert "\n  sim " not in gpuyard("--help").stdout
    ended = gpuyard("sim", "up")
    assert (ended.returncode, ended.stdout) == (4, "")
    assert ended.stderr == (
        "gpuyard: the installed package has no simulated cluster: its programs are built in a"
        " checkout. Run `make up` or `gpuyard sim up` in a checkout of gpuyard.\n"
    )


@pytest.mark.parametrize(("version", "some"), [("standard", True), ("editable", False)])
def test_nothing_is_copied_for_an_editable_installation(version, some):
    hook = wheel.Beside(str(sizes.ROOT), {}, None, None, "", "")
    data = {"force_include": {}}
    hook.initialize(version, data)
    assert bool(data["force_include"]) is some
