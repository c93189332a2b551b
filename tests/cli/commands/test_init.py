"""`gpuyard init`: the project that it writes, and what it leaves alone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import sizes
from gpuyard.cli.commands.init import ProjectCloud, project_files
from gpuyard_core.models.values import NAME_LENGTH

FILES = [
    ".gitignore",
    "Pulumi.yaml",
    "__main__.py",
    "requirements.txt",
    "stacks/Pulumi.dev.yaml",
]
CLOUDS = list(ProjectCloud)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder, an activated environment, and no `pulumi`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    return tmp_path


def platform_of(program: str) -> dict[str, object]:
    """The dictionary that a program defines, without its resources."""
    scope = {"PlatformDict": dict}
    exec(program.partition("PlatformDict\n")[2].partition("\nplatform = ")[0], scope)  # noqa: S102
    return scope["spec"]


@pytest.mark.parametrize("cloud", CLOUDS)
@pytest.mark.parametrize("folder_name", ["my-gpus", "x" * NAME_LENGTH], ids=["short", "long"])
def test_a_project_passes_check_without_a_change(gpuyard, folder_name, monkeypatch, cloud):
    monkeypatch.setenv("GPUYARD_TODAY", "2026-11-21")
    ended = gpuyard("init", "--cloud", cloud, folder_name)
    assert ended.code == 0
    monkeypatch.chdir(folder_name)
    checked = gpuyard("check", "dev", "--format", "json")
    assert checked.code == 0, checked.out
    assert gpuyard("get", "dev", "name").out == f"{folder_name}\n"


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_program_with_the_library_defines_the_platform_of_the_stack_file(cloud):
    ways = [project_files("lab", cloud, "dev", library=each) for each in (False, True)]
    stack, library = (yaml.safe_load(way[FILES[-1]])["config"] for way in ways)
    assert platform_of(ways[1]["__main__.py"]) == stack.pop("gpuyard:platform")
    assert library == stack


def test_programs_with_the_library_are_typed_and_formatted(folder):
    for cloud in CLOUDS:
        text = project_files("lab", cloud, "dev", library=True)["__main__.py"]
        (folder / f"{cloud}.py").write_text(text, encoding="utf-8")
    # The programs name neither SDK, and mypy would read two million lines of them.
    skipped = "[mypy]\n[mypy-pulumi_aws.*,pulumi_gcp.*]\nfollow_imports = skip\n"
    (folder / "mypy.ini").write_text(skipped, encoding="utf-8")
    for command in (
        ["mypy", "--strict", "--cache-dir", sizes.ROOT / ".mypy_cache" / "init"],
        ["ruff", "format", "--check", "--isolated"],
    ):
        ended = subprocess.run(
            [*command, *(f"{cloud}.py" for cloud in CLOUDS)],
            env={"PATH": str(Path(sys.executable).parent), "MYPYPATH": sizes.ROOT / "components"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr


def test_programs_with_the_library_export_plain_values():
    program = project_files("lab", ProjectCloud.NONE, "dev", library=True)["__main__.py"]
    assert 'pulumi.export("teams", platform.team_summaries)' in program


def test_the_stack_program_is_the_one_of_this_project(gpuyard, folder):
    gpuyard("init", "--generate-only")
    written = (folder / "__main__.py").read_text(encoding="utf-8")
    assert written == (sizes.ROOT / "__main__.py").read_text(encoding="utf-8")


def test_files_and_next_commands_are_printed(gpuyard, folder):
    ended = gpuyard("init", "--cloud", "gcp", "my gpus", "--stack", "prod")
    stack = "my gpus/stacks/Pulumi.prod.yaml"
    assert ended.out == (
        "my gpus/.gitignore\n"
        "my gpus/Pulumi.yaml\n"
        "my gpus/__main__.py\n"
        "my gpus/requirements.txt\n"
        f"{stack}\n"
        "\n"
        "next\n"
        f"  replace my-project in {stack}\n"
        "  cd 'my gpus'\n"
        "  gpuyard check prod\n"
        "  pulumi stack init prod\n"
        "  pulumi preview\n"
    )
    assert ended.err == "! stack prod was not created: no `pulumi` on PATH\n"
    assert (folder / "my gpus" / "requirements.txt").read_text().startswith("gpuyard[gcp]==")
    assert "name: my-gpus\n" in (folder / "my gpus" / "Pulumi.yaml").read_text()


def test_a_program_gets_files_placeholders_and_commands(gpuyard):
    said = json.loads(gpuyard("init", "--library", "--format", "json").out)
    assert said["files"] == FILES
    assert said["stack_created"] is False
    assert said["problem"] == "no `pulumi` on PATH"
    assert said["replace"] == ["replace my-context in __main__.py"]
    assert said["use"] == ["pulumi stack init dev", "pulumi preview"]


def test_existing_files_are_listed_and_nothing_is_written(gpuyard, folder):
    (folder / "requirements.txt").write_text("mine\n", encoding="utf-8")
    (folder / "stacks").mkdir()
    (folder / "stacks" / "Pulumi.dev.yaml").write_text("config: {}\n", encoding="utf-8")
    ended = gpuyard("init")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        "gpuyard: .: has requirements.txt, stacks/Pulumi.dev.yaml, which `gpuyard init` would"
        " overwrite. Nothing was written. Give another folder, or move the files away.\n"
    )
    assert not (folder / "Pulumi.yaml").exists()


def test_a_path_that_cannot_be_a_folder_is_wrong_usage(gpuyard, folder):
    (folder / "file").write_text("", encoding="utf-8")
    ended = gpuyard("init", "file/lab")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "gpuyard: file/lab: can't be created: not a directory\n"


def test_a_stack_name_is_no_path(gpuyard):
    ended = gpuyard("init", "--stack", "../x")
    assert ended.code == 2
    assert ended.err == "gpuyard: --stack ../x: write letters, digits, `-`, `_` and `.` only.\n"


@pytest.mark.parametrize(
    ("folder_name", "name"),
    [
        ("ML Platform", "ml-platform"),
        ("2026-gpus", "gpus"),
        ("…", "gpu"),
        ("x" * 99, "x" * NAME_LENGTH),
    ],
)
def test_a_name_follows_the_folder(folder_name, name):
    files = project_files(folder_name, ProjectCloud.AWS, "dev", library=False)
    assert yaml.safe_load(files["Pulumi.yaml"])["name"] == name
    config = yaml.safe_load(files["stacks/Pulumi.dev.yaml"])["config"]
    assert config["gpuyard:platform"]["name"] == name


def test_an_environment_in_the_project_is_that_of_the_program(gpuyard, folder, monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(folder / ".venv"))
    ended = gpuyard("init")
    runtime = yaml.safe_load((folder / "Pulumi.yaml").read_text())["runtime"]
    assert runtime == {"name": "python", "options": {"toolchain": "pip", "virtualenv": ".venv"}}
    assert "activate" not in ended.out


def test_an_environment_that_is_not_active_is_activated_first(gpuyard, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert f"next\n  source {sys.prefix}/bin/activate\n" in gpuyard("init", "--cloud", "aws").out


def test_a_simulated_project_names_its_cluster(gpuyard):
    command = "export KUBECONFIG=...  # of `python -m gpuyard_simulate up` in a checkout of gpuyard"
    assert f"  {command}\n" in gpuyard("init", "--cloud", "simulated").out


def test_pulumi_creates_the_stack_in_the_project(gpuyard, folder, monkeypatch):
    (folder / "pulumi").write_text('#!/bin/sh\necho "$PWD: $*" >"$HOME/ran"\n')
    (folder / "pulumi").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    monkeypatch.setenv("HOME", str(folder))
    ended = gpuyard("init", "--cloud", "aws", "lab", "--stack", "prod")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.endswith("next\n  cd lab\n  gpuyard check prod\n  pulumi preview\n")
    assert (folder / "ran").read_text() == (
        f"{folder}/lab: stack init --stack prod --non-interactive --color never\n"
    )


def test_the_reason_of_pulumi_is_shown_when_it_creates_no_stack(gpuyard, folder, monkeypatch):
    (folder / "pulumi").write_text("#!/bin/sh\necho error: not logged in >&2; exit 255\n")
    (folder / "pulumi").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    ended = gpuyard("init", "--cloud", "aws", "lab")
    assert ended.code == 0
    assert ended.err == "! stack dev was not created: error: not logged in\n"
    assert "  pulumi stack init dev\n" in ended.out
