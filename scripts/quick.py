"""Runs the tests beside your changes: `make quick`, between two edits.

Changes are what differs from the branch `main`; on `main`, from the last commit. A test file runs itself, any other
file the folder of tests that mirrors its folder. Tests on real parts and long searches are left to `make test`. A run
without any test never passes: it ends with 5, as pytest does.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SELECTED = ("-q", "-m", "not search and not engine and not cluster and not gpu")
NOTHING = 5


def git(*words: str) -> list[str]:
    """The lines that a git command prints."""
    ran = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return ran.stdout.splitlines()


def changed() -> set[str]:
    """Changed files, including untracked and deleted ones."""
    base = next(iter(git("merge-base", "main", "HEAD")), "HEAD")
    differ = git("diff", "--name-only", "--no-renames", base)
    return {*differ, *git("ls-files", "--others", "--exclude-standard")}


def place_of(path: str) -> str:
    """The test file itself, or the nearest folder of tests that mirrors the folder of a file."""
    first, *parts = Path(path).parts
    if first == "tests" and Path(path).name.startswith("test_") and (ROOT / path).is_file():
        return path
    if first == "components":
        parts = (
            parts[1:]
            if parts[0] in {"gpuyard", "gpuyard_agents"}
            else [parts[0].removeprefix("gpuyard_"), ""]
        )
    elif first != "tests":
        parts = [first, ""] if (ROOT / "tests" / first).is_dir() else ["house", ""]
    folder = Path("tests", *parts[:-1])
    while folder == Path("tests") or not any((ROOT / folder).rglob("test_*.py")):
        folder = folder.parent if folder.parent.name else Path("tests/house")
    return folder.as_posix()


def main() -> int:
    """Print the choice and run it."""
    chosen = sorted({place_of(path) for path in changed()})
    print(f"quick: {' '.join(chosen) or 'nothing has changed, so no test runs'}", flush=True)
    if not chosen:
        return NOTHING
    command = [sys.executable, "-m", "pytest", *SELECTED, *chosen]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
