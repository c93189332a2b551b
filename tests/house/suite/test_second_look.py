"""Tests that failed in parallel run once more alone, and are reported."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import second_look

RACE = """from pathlib import Path

def test_steady():
    assert True

def test_race():
    seen = Path(__file__).with_name("seen")
    first = not seen.exists()
    seen.touch()
    assert not first, "too early"
"""


def said(*lines: str) -> str:
    return "\n".join(["F...", "=== short test summary info ===", *lines, "=== 1 failed ==="])


class Again:
    """A fake pytest that records the tests it should run."""

    def __init__(self, code: int) -> None:
        self.code = code
        self.asked: list[str] = []

    def __call__(self, files: Sequence[str]) -> int:
        self.asked.extend(files)
        return self.code


def pytest_says(folder: Path) -> str:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "tests"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


def test_files_are_read_from_what_a_real_pytest_says(tmp_path: Path):
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_racing.py").write_text(RACE, encoding="utf-8")
    racing = {"tests/test_racing.py": ["tests/test_racing.py::test_race"]}
    assert second_look.failures(pytest_says(tmp_path)) == racing
    assert second_look.failures(pytest_says(tmp_path)) == {}
    (tests / "test_broken.py").write_text("import nothing_there\n", encoding="utf-8")
    broken = {"tests/test_broken.py": ["tests/test_broken.py"]}
    assert second_look.failures(pytest_says(tmp_path)) == broken


def test_one_that_passes_alone_is_reported_and_does_not_fail(capsys: pytest.CaptureFixture[str]):
    again = Again(0)
    assert second_look.look(said("FAILED tests/yard/test_a.py::test_b[c] - boom"), again) == 0
    assert again.asked == ["tests/yard/test_a.py"]
    assert capsys.readouterr().out.splitlines()[-1] == (
        "UNSTEADY tests/yard/test_a.py::test_b[c]: failed in parallel and passed alone; fix its race"
    )


def test_one_that_fails_again_fails():
    again = Again(1)
    assert second_look.look(said("ERROR tests/engine/test_a.py::test_b"), again) == 1
    assert again.asked == ["tests/engine/test_a.py"]


def test_many_are_no_accident():
    again = Again(0)
    lines = [f"FAILED tests/engine/test_{n}.py::test_it - boom" for n in range(second_look.FEW + 1)]
    assert second_look.look(said(*lines), again) == 1
    assert again.asked == []


def test_a_run_that_ended_without_naming_a_test_fails():
    again = Again(0)
    assert second_look.look("INTERNALERROR> boom", again) == 1
    assert again.asked == []


@pytest.mark.parametrize("failing", [False, True])
def test_pytest_is_asked_for_whole_files(tmp_path, failing):
    file = tmp_path / "test_it.py"
    file.write_text(f"def test_it():\n    assert {not failing}\n")
    assert bool(second_look.by_pytest([str(file)])) is failing
