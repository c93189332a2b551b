"""Runs the live tests that failed in parallel once more, alone.

    python scripts/suite/second_look.py LOG     LOG: what pytest printed

A live test runs an API server, a scheduler, controllers and an engine concurrently on a shared machine. A test
that fails in parallel and passes alone is unsteady: it is reported by name and stays a defect, but does not
discard the results of five hundred others (docs/decisions/0042-an-unsteady-test-is-told.md).
"""

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FEW = 3
"""Maximum files to run again. A broken test bed fails more."""
ENDED = re.compile(r"^(?:FAILED|ERROR) (?P<test>(?P<file>tests/\S+?\.py)\S*)", re.MULTILINE)
"""A line of pytest's summary; a file that could not be collected has no test name."""


def failures(log: str) -> dict[str, list[str]]:
    """The failed tests, by file."""
    results: dict[str, list[str]] = {}
    for each in ENDED.finditer(log):
        results.setdefault(each["file"], []).append(each["test"])
    return results


def by_pytest(files: Sequence[str]) -> int:
    """Run whole files: tests of one file share a platform, and depend on each other."""
    command = [sys.executable, "-m", "pytest", "-n", "1", *files]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def look(log: str, again: Callable[[Sequence[str]], int] = by_pytest) -> int:
    """0 if all failed tests pass alone, else 1."""
    result = failures(log)
    if not result or len(result) > FEW:
        print(f"second look: none; {len(result)} files failed, and at most {FEW} are run again")
        return 1
    print(f"\nsecond look, without parallel tests: {' '.join(result)}", flush=True)
    if again(list(result)):
        print("second look: the tests fail again")
        return 1
    for test in (each for tests in result.values() for each in tests):
        print(f"UNSTEADY {test}: failed in parallel and passed alone; fix its race")
    return 0


if __name__ == "__main__":
    sys.exit(look(Path(sys.argv[1]).read_text(encoding="utf-8", errors="replace")))
