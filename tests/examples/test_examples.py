"""The examples: typed, described and shown in the documentation. The engine tests run them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*-*"))
PROGRAMS = [each for each in EXAMPLES if (each / "Pulumi.yaml").exists()]
"""The others are manifests: tests/manifests/test_pipeline_examples.py."""
README = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "guides" / "library.md").read_text(encoding="utf-8")


def checked(folder: Path, *programs: Path) -> dict[str, list[str]]:
    """What pyright reports of programs in strict mode, by file."""
    settings = {
        "include": [str(each) for each in programs],
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "extraPaths": [str(ROOT / "components")],
    }
    file = folder / "pyrightconfig.json"
    file.write_text(json.dumps(settings), encoding="utf-8")
    program = Path(sys.executable).with_name("basedpyright")
    command = [program, "--project", file, "--pythonpath", sys.executable, "--outputjson"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    told = json.loads(ended.stdout)
    assert told["summary"]["filesAnalyzed"] == len(programs), ended.stdout + ended.stderr
    problems: dict[str, list[str]] = {}
    for each in told["generalDiagnostics"]:
        line = each["range"]["start"]["line"] + 1
        problems.setdefault(each["file"], []).append(f"{line}: {each['message']}")
    return problems


@pytest.mark.repeats("none: it runs no line that is measured")
def test_every_example_passes_a_strict_type_checker(tmp_path):
    assert checked(tmp_path, *(each / "__main__.py" for each in PROGRAMS)) == {}


@pytest.mark.repeats("none: it runs no line that is measured")
def test_the_type_checker_finds_a_wrong_argument_of_a_part(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from gpuyard.resources import GpuNodePool, Queueing\n"
        'GpuNodePool("a", {"cluster": "b", "pool": {"name": "a", "machine": "m", "nodes": 1.5}})\n'
        'Queueing("q", {"poools": []})\n',
        encoding="utf-8",
    )
    (problems,) = checked(tmp_path, wrong).values()
    assert {each.partition(":")[0] for each in problems} == {"2", "3"}
    assert "poools" in problems[-1]


def test_examples_need_no_cast_and_no_exception_for_the_type_checker():
    for each in PROGRAMS:
        text = (each / "__main__.py").read_text(encoding="utf-8")
        assert not re.search(r"\bcast\(|# *type: *ignore|# *pyright:", text), each.name


def test_examples_are_numbered_projects_that_the_documentation_lists():
    numbers = [int(each.name.partition("-")[0]) for each in EXAMPLES]
    assert sorted(numbers) == list(range(1, len(EXAMPLES) + 1))
    for each in PROGRAMS:
        project = yaml.safe_load((each / "Pulumi.yaml").read_text(encoding="utf-8"))
        assert project["runtime"] == "python"
        assert project["name"] == each.name.partition("-")[2]
        assert f"## [{project['description']}]({each.name}/__main__.py)" in README
        assert f"../../examples/{each.name}/__main__.py" in GUIDE, each.name
    for manifest in (ROOT / "examples").glob("[0-9]*-*/*.yaml"):
        if manifest.parent not in PROGRAMS:
            assert f"({manifest.parent.name}/{manifest.name})" in README
