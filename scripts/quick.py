"""The tests of your changes, in a minute: `make quick`, between two edits.

The difference from the branch `main` (on `main`: from the last commit) determines the test files that import
it, directly or indirectly; the nearest come first. After 55 s no further test starts, and the tests left out
are printed. Tests on real parts and long searches are left to `make test`. A run without any test never
passes: without a change, or without a test, the exit code is 5.
"""

import ast
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOTS = ("components", "tests", "scripts", "policies", "benchmarks", "testbed")
"""Folders whose modules are imported by their path below them."""
EVERYTHING = ("Makefile", "pyproject.toml", "requirements.lock", "tests/conftest.py")
"""Files that every test depends on."""
DEFAULT = ("tests/house", "tests/spec", "tests/plan", "tests/rules", "tests/cli")
"""The default when everything changed."""
LIVE = ("tests/cluster", "tests/engine", "tests/yard")
SECONDS = 55
NOTHING = 5
"""pytest's exit code when no test ran."""
MOST = 60
"""Test files; each has to be imported before the first test runs."""
SHOWN = 12
LIVE_SHOWN = 3


@dataclass
class Choice:
    """The test files to run, in order, each with the reason."""

    tests: dict[str, str] = field(default_factory=dict)
    live: list[str] = field(default_factory=list)
    """Also chosen, but on real parts."""
    further: int = 0
    """Test files that are further away than the chosen ones."""
    why: str = ""
    """The reason if the choice is the default."""


# ── Changes ──────────────────────────────────────────────────────────────────────────────────────


def git(*words: str, root: Path = ROOT) -> list[str]:
    """The lines that a git command prints."""
    ran = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    return ran.stdout.splitlines() if ran.returncode == 0 else []


def base(root: Path = ROOT) -> str:
    """The base of the comparison: the branch point from `main`, or the last commit."""
    result = git("merge-base", "main", "HEAD", root=root)
    return result[0] if result else "HEAD"


def changed(root: Path = ROOT) -> list[str]:
    """Changed files, including untracked and deleted ones."""
    differ = git("diff", "--name-only", "--no-renames", base(root), root=root)
    return sorted({*differ, *git("ls-files", "--others", "--exclude-standard", root=root)})


# ── Imports ──────────────────────────────────────────────────────────────────────────────────────


def module_of(path: str) -> str:
    """`gpuyard.plan.records` of components/gpuyard/plan/records/__init__.py."""
    parts = Path(path).with_suffix("").parts
    inner = parts[1:] if parts[0] in ROOTS else parts
    return ".".join(inner).removesuffix(".__init__")


def imported(text: str) -> set[str]:
    """Every name that a file imports anywhere: modules, and names that may be modules."""
    results: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            results.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            results.add(node.module)
            results.update(f"{node.module}.{alias.name}" for alias in node.names)
    return results


def importers(root: Path = ROOT) -> dict[str, set[str]]:
    """For every Python file of the project, the files that import it."""
    files = [
        path
        for path in git("ls-files", "--cached", "--others", "--exclude-standard", "*.py", root=root)
        if (root / path).exists()
    ]
    by_module = {module_of(path): path for path in files}
    result: dict[str, set[str]] = {path: set() for path in files}
    for path in files:
        for name in imported((root / path).read_text(encoding="utf-8")):
            if (matches := by_module.get(name)) and matches != path:
                result[matches].add(path)
    return result


def nearness(start: str, graph: Mapping[str, set[str]]) -> dict[str, int]:
    """Every file that depends on this one, with the number of imports between them."""
    result, edge, steps = {start: 0}, {start}, 0
    while edge:
        steps += 1
        edge = {user for path in edge for user in graph.get(path, ())} - set(result)
        result.update(dict.fromkeys(edge, steps))
    return result


# ── The choice ───────────────────────────────────────────────────────────────────────────────────


def is_test(path: str) -> bool:
    """True for a file that pytest collects."""
    return (
        path.startswith("tests/") and Path(path).name.startswith("test_") and path.endswith(".py")
    )


def mirror(path: str) -> str:
    """The folder of tests that mirrors the folder of a module, or that contains a data file."""
    parts = Path(path).parts
    if parts[:2] == ("components", "gpuyard"):
        return str(Path("tests", *parts[2:-1]))
    if parts[0] == "components":
        return f"tests/{parts[1].removeprefix('gpuyard_')}"
    known = {"docs": "tests/docs", "stacks": "tests/stacks", "policies": "tests/policies"}
    if parts[0] in {"scripts", "testbed"}:
        return "tests/house" if parts[0] == "scripts" else "tests/testbed"
    return str(Path(path).parent) if parts[0] == "tests" else known.get(parts[0], "tests/docs")


def tests_below(folder: str, tests: Iterable[str]) -> list[str]:
    """Tests in this folder, or in the nearest one above it that has any."""
    place = Path(folder)
    while place.parts[:1] == ("tests",) and len(place.parts) > 1:
        if results := [test for test in tests if Path(test).is_relative_to(place)]:
            return results
        place = place.parent
    return []


def choose(files: Sequence[str], graph: Mapping[str, set[str]]) -> Choice:
    """The tests of these files, nearest first."""
    tests = sorted(path for path in graph if is_test(path))
    if complete := [path for path in files if path in EVERYTHING]:
        picked = [test for test in tests if test.startswith(tuple(f"{d}/" for d in DEFAULT))]
        why = f"{complete[0]} affects every test, so the default runs: {', '.join(DEFAULT)}"
        return Choice(dict.fromkeys(picked, "default"), why=why)
    best: dict[str, tuple[int, str]] = {}
    for path in files:
        for test, steps, reason in reached(path, graph, tests):
            best[test] = min(best.get(test, (steps, reason)), (steps, reason))
    ordered = sorted(best, key=lambda test: (best[test][0], test))
    live = [test for test in ordered if test.startswith(LIVE)]
    ours = [test for test in ordered if test not in live]
    return Choice({test: best[test][1] for test in ours[:MOST]}, live, len(ours[MOST:]))


def reached(
    path: str, graph: Mapping[str, set[str]], tests: Sequence[str]
) -> Iterable[tuple[str, int, str]]:
    """Tests that depend on a file: the distance of each, and the reason."""
    for user, steps in nearness(path, graph).items():
        if is_test(user) and user in graph:
            far = "itself" if not steps else "imports it" if steps == 1 else f"{steps} imports away"
            yield user, steps, f"{path}: {far}"
    suggestion = tests_below(mirror(path), tests)
    for test in [] if is_test(path) else suggestion:
        is_adjacent = len(Path(test).parts) == min(len(Path(each).parts) for each in suggestion)
        yield test, 1 if is_adjacent else 2, f"{path}: its folder of tests"


# ── Run ──────────────────────────────────────────────────────────────────────────────────────────


def explained(files: Sequence[str], choice: Choice) -> str:
    """The choice and its reasons."""
    lines = [f"quick: {len(files)} changed files, {len(choice.tests)} test files"]
    lines += [choice.why] if choice.why else []
    rows = list(choice.tests.items())
    lines += [f"  {test}  ({reason})" for test, reason in rows[:SHOWN] if not choice.why]
    if len(rows) > SHOWN and not choice.why:
        lines.append(f"  and {len(rows) - SHOWN} further away")
    if choice.further:
        lines.append(
            f"  left to `make test`, because they are furthest: {choice.further} test files"
        )
    if choice.live:
        more = ", …" if len(choice.live) > LIVE_SHOWN else ""
        names = ", ".join(choice.live[:LIVE_SHOWN]) + more
        lines.append(
            f"  left to `make test`, because they need real parts: {len(choice.live)} ({names})"
        )
    return "\n".join(lines)


def main() -> int:
    """Choose, print the choice, run it."""
    files = changed()
    if not files:
        print(f"quick: nothing differs from {base()[:9]}, so no test ran")
        return NOTHING
    choice = choose(files, importers())
    print(explained(files, choice), flush=True)
    if not choice.tests:
        print("quick: no test without real parts depends on the changes, so no test ran")
        return NOTHING
    command = [sys.executable, "-m", "pytest", "-q", "-p", "kit.deadline", *PLAIN, *choice.tests]
    path = os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]).strip(
        os.pathsep
    )
    inputs = {**os.environ, "PYTHONPATH": path, "GPUYARD_DEADLINE": str(SECONDS)}
    return subprocess.run(command, cwd=ROOT, env=inputs, check=False).returncode


PLAIN = ("-m", "not search and not engine and not cluster and not gpu", "-n", "0")


if __name__ == "__main__":
    sys.exit(main())
