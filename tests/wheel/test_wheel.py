"""What an installed wheel can do, in an environment that has no checkout: only what it needs and itself."""

import os
import subprocess
from pathlib import Path

import pytest

import sizes
import wheel
from gpuyard.cli.commands.init import ProjectCloud
from installations import RUN, installed

DISTRIBUTIONS = sorted(
    path.parent.name.replace("_", "-") for path in sizes.ROOT.glob("components/*/pyproject.toml")
)
IMPORT_ALL = """
import sys
from importlib import import_module
from pkgutil import walk_packages

package = import_module(sys.argv[1])
for each in walk_packages(package.__path__, f"{package.__name__}."):
    if not each.name.endswith(".__main__"):
        import_module(each.name)
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: b}
spec: {containers: [{name: c, image: x, resources: {requests: {nvidia.com/gpu: 1}}}]}
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Python with the wheel, and no checkout."""
    return installed(tmp_path_factory.mktemp("wheel"), "gpuyard[advisor,policy]")


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


@pytest.mark.parametrize("cloud", list(ProjectCloud))
def test_a_new_project_passes_check(gpuyard, tmp_path, cloud):
    assert gpuyard("init", "--generate-only", "--cloud", cloud, cloud).returncode == 0
    ended = gpuyard("check", f"{cloud}/stacks/Pulumi.dev.yaml")
    assert ended.returncode == 0, ended.stdout


def test_it_renders_and_every_command_that_is_listed_can_run(gpuyard, python, tmp_path):
    assert gpuyard("init", "--generate-only", "--cloud", "simulated", "lab").returncode == 0
    stack = "lab/stacks/Pulumi.dev.yaml"
    assert gpuyard("plan", stack).returncode == 0
    assert gpuyard("render", stack, "--out", "manifests").returncode == 0
    assert list((tmp_path / "manifests").rglob("*.yaml"))
    loading = "from gpuyard.cli.app import COMMANDS, load; print(*map(load, COMMANDS))"
    subprocess.run([python, "-c", loading], cwd=tmp_path, capture_output=True, check=True)


@pytest.mark.parametrize("name", [name for name in DISTRIBUTIONS if name != "gpuyard"])
def test_a_package_needs_only_what_it_declares(tmp_path, name):
    python = installed(tmp_path / "wheel", name)
    ended = subprocess.run(
        [python, "-c", IMPORT_ALL, name.replace("-", "_")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_command_of_a_package_that_is_not_installed_is_not_listed(tmp_path):
    python = installed(tmp_path / "wheel", "gpuyard")
    run = [python.with_name("gpuyard")]
    listed = subprocess.run([*run, "--help"], capture_output=True, text=True, check=True).stdout
    assert "  check " in listed
    assert "whatif" not in listed
    ended = subprocess.run([*run, "whatif"], capture_output=True, text=True, check=False)
    assert ended.returncode == 4
    assert "pip install 'gpuyard[advisor]'" in ended.stderr


def test_the_linter_needs_no_engine(tmp_path):
    (tmp_path / "pod.yaml").write_text(POD, encoding="utf-8")
    python = installed(tmp_path / "wheel", "gpuyard-lint")
    lint = python.with_name("gpuyard-lint")
    ended = subprocess.run(
        [lint, "pod.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (3, "")
    assert "more     gpuyard-lint --explain GPU-POD-04\n" in ended.stdout
    page = subprocess.run(
        [lint, "--explain", "GPU-POD-04"], capture_output=True, text=True, check=True
    )
    assert page.stdout.startswith("GPU-POD-04\n")
    for absent in ("pulumi", "grpc", "pulumi_kubernetes", "gpuyard"):
        assert (
            subprocess.run(
                [python, "-c", f"import {absent}"], check=False, capture_output=True
            ).returncode
            == 1
        )


@pytest.mark.parametrize(("version", "places"), [("standard", ["a/mig.md"]), ("editable", [])])
def test_nothing_is_copied_for_an_editable_installation(monkeypatch, tmp_path, version, places):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "mig.md").touch()
    monkeypatch.setattr(wheel, "ROOT", tmp_path)
    hook = wheel.Shipped(str(tmp_path), {"shipped": {"a": "docs/*.md"}}, None, None, "", "")
    data = {"force_include": {}}
    hook.initialize(version, data)
    assert list(data["force_include"].values()) == places
