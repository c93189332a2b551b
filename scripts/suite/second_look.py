"""The live tests that failed beside all others, once more with nothing beside them.

    python scripts/suite/second_look.py LOG     LOG: what pytest printed

A live test is a race of an API server, a scheduler, controllers and an engine on a shared machine. One that
fails in company and passes alone is unsteady: it is told by name and stays a defect, but does not throw away
what five hundred others have shown (docs/decisions/0042-an-unsteady-test-is-told.md).
"""

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FEW = 3
"""Files that are looked at again. A test bed that breaks takes down more."""
ENDED = re.compile(r"^(?:FAILED|ERROR) (?P<test>(?P<file>tests/\S+?\.py)\S*)", re.MULTILINE)
"""A line of pytest's last summary; a file that could not be collected is named without a test."""


def failures(log: str) -> dict[str, list[str]]:
    """What failed, by file."""
    results: dict[str, list[str]] = {}
    for each in ENDED.finditer(log):
        results.setdefault(each["file"], []).append(each["test"])
    return results


def by_pytest(files: Sequence[str]) -> int:
    """Whole files: tests of one share a platform, and build on each other's."""
    command = [sys.executable, "-m", "pytest", "-n", "1", *files]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def look(log: str, again: Callable[[Sequence[str]], int] = by_pytest) -> int:
    """0 where all that failed passes alone, else 1."""
    result = failures(log)
    if not result or len(result) > FEW:
        print(
            f"second look: none; {len(result)} files failed, and 1 to {FEW} would be looked at again"
        )
        return 1
    print(f"\nsecond look, with nothing beside them: {' '.join(result)}", flush=True)
    if again(list(result)):
        print("second look: what failed fails again")
        return 1
    for test in (each for tests in result.values() for each in tests):
        print(f"UNSTEADY {test}: failed beside the others and passed alone; mend its race")
    return 0


if __name__ == "__main__":
    sys.exit(look(Path(sys.argv[1]).read_text(encoding="utf-8", errors="replace")))
