"""Writes tests/kit/repeating.txt: the tests that run no line of their own.

`make repeating` runs all tests without a cluster with the tracer, which takes a quarter of an hour, and
chooses: tests that are the only ones to run a line are kept, then repeatedly the one that runs most remaining
lines for its time. All others are written to the file and no longer traced (tests/kit/traced.py). Any such
file is correct, because the gates check the lines run; a good one saves time.
"""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path

import sizes

REPEATING = sizes.ROOT / "tests/kit/repeating.txt"
LIVE = ("tests/cluster", "tests/engine", "tests/yard")
LEAST = 0.02
"""Minimum cost of a test in seconds: so that of two fast ones the one that runs more is chosen."""
WORTH = 0.1
"""Minimum seconds of a listed test: the others are thousands, and together take 70 s."""
Step = tuple[str, int, int]
"""A step from line to line, in a file."""
Runs = Mapping[str, AbstractSet[Step]]
"""The steps that each test takes."""


def runs_of(data: Path) -> Runs:
    """The steps of each test, from coverage's file; steps of imports belong to no test."""
    results: dict[str, set[Step]] = defaultdict(set)
    with sqlite3.connect(data) as db:
        rows = db.execute(
            "select context, path, fromno, tono from arc"
            " join context on context.id = context_id join file on file.id = file_id"
        )
        for test, path, start, end in rows:
            results[test].add((path, start, end))
    imported = results.pop("", set())
    return {test: steps - imported for test, steps in results.items()}


def needed(runs: Runs, seconds: Mapping[str, float]) -> set[str]:
    """Tests that together run all steps: expensive ones only for steps that no other test runs."""
    runners: dict[Step, list[str]] = defaultdict(list)
    for test, steps in runs.items():
        for step in steps:
            runners[step].append(test)
    chosen = {tests[0] for tests in runners.values() if len(tests) == 1}
    remaining = set(runners).difference(*(runs[test] for test in chosen))
    while remaining:
        others = (test for test in sorted(runs) if test not in chosen)
        best = max(others, key=lambda t: len(runs[t] & remaining) / (seconds.get(t, 0) + LEAST))
        chosen.add(best)
        remaining -= runs[best]
    return chosen


def repeating(runs: Runs, seconds: Mapping[str, float]) -> list[str]:
    """The tests that need no tracer, in order; including those that run no measured line."""
    dear = {test for test, spent in seconds.items() if spent >= WORTH}
    return sorted(dear - needed(runs, seconds))


def record(folder: Path) -> tuple[Runs, dict[str, float]]:
    """Run all tests; returns the steps and seconds of each."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "auto",
        "--cov",
        "--cov-report=",
        "-q",
        "tests",
    ]
    environment = {
        "GPUYARD_TRACE_ALL": "1",
        "GPUYARD_TRACE_RECORD": str(folder),
        "COVERAGE_FILE": str(folder / "data"),
    }
    ended = subprocess.run(
        [*command, *(f"--ignore={each}" for each in LIVE)],
        cwd=sizes.ROOT,
        env={**os.environ, **environment},
        check=False,
    )
    if ended.returncode:
        sys.exit("repeating: a test failed; nothing is written")
    seconds: dict[str, float] = defaultdict(float)
    for path in folder.glob("*.json"):
        for test, spent in json.loads(path.read_text(encoding="utf-8")).items():
            seconds[test] += spent
    return runs_of(folder / "data"), seconds


def main() -> None:
    """Measure, choose, write."""
    with tempfile.TemporaryDirectory() as folder:
        runs, seconds = record(Path(folder))
    result = repeating(runs, seconds)
    REPEATING.write_text("".join(f"{test}\n" for test in result), encoding="utf-8")
    spared = sum(seconds.get(test, 0) for test in result)
    total = sum(seconds.values())
    print(
        f"{len(result)} of {len(seconds)} tests are untraced, {spared:.0f} of {total:.0f} s of CPU"
    )


if __name__ == "__main__":
    main()
