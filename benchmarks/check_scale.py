"""CPU of `gpuyard check` on large platforms, and how it grows with the pools.

    python benchmarks/check_scale.py

`cold` is a fresh process, user and system time together; the byte code of the library is written before, as
an installation does. `work` is the same command in a process that has imported everything: the cost of the
platform itself. Each is the best of RUNS. `lines` are the lines of Python that the work runs, the same in
each run and on each machine. The exit code is 1 if a limit is exceeded.
benchmarks/check_scale.md has figures.
"""

import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib.metadata import version
from pathlib import Path
from typing import Any

RUNS = 5
POOLS, TEAMS, SECONDS = 200, 100, 0.6
"""A large company's platform, and the limit of a cold check."""
LINES = 1_300_000
"""The limit of lines of Python for its work."""
SMALL, LARGE, GROWTH = 250, 1000, 5.0
"""Maximum factor of the work for four times the pools."""
LINES_GROW = 3.5
"""Maximum factor of the lines."""
BARE = 6.0
"""Maximum cost of a cold check, in starts of Python with gpuyard's libraries."""
PACKAGES = ("gpuyard", "pydantic", "pyyaml", "rich", "typer")

_KINDS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("p5.48xlarge", "", {}),
    ("p4d.24xlarge", "/3g.20gb", {"sharing": {"mig": {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}}}),
    ("g6.12xlarge", "/shared", {"sharing": {"time_slicing": 4}}),
    ("p5en.48xlarge", "", {"capacity": [{"reserved": "cr-1", "nodes": 2}, "spot", "on-demand"]}),
    ("g6e.48xlarge", "", {"capacity": ["spot", "on-demand"]}),
)


def large_platform(pools: int, teams: int) -> dict[str, Any]:
    """So many pools of five kinds, and teams with guarantees in three of them each; all valid."""

    def key(pool: int) -> str:
        return f"pool-{pool % pools}{_KINDS[pool % pools % len(_KINDS)][1]}"

    return {
        "name": "large",
        "cloud": "aws",
        "kubernetes": "1.35",
        "cluster": {
            "existing": "large"
        },  # a created network has too few addresses for so many nodes
        "system": {"machine": "m7i.4xlarge", "nodes": 3},
        "pools": [
            {"name": f"pool-{i}", "machine": machine, "nodes": "0..40", "zones": ["us-east-1a"]}
            | more
            for i in range(pools)
            for machine, _, more in [_KINDS[i % len(_KINDS)]]
        ],
        "shapes": [{"name": f"job-{i}", "nodes": 2, "gpus_per_node": 8} for i in range(20)],
        "teams": [
            {
                "name": f"team-{i}",
                "groups": [f"group-{i}"],
                "guarantee": {key(7 * i + 3 * j): 2 for j in range(3)},
                "borrow": {key(7 * i): 16},
            }
            for i in range(teams)
        ],
    }


def stack_text(pools: int, teams: int) -> str:
    """The stack file of that platform."""
    import yaml

    stack = {"config": {"gpuyard:platform": large_platform(pools, teams)}}
    return str(yaml.dump(stack, Dumper=yaml.CSafeDumper, sort_keys=False))


def cold_seconds(pools: int, teams: int, runs: int = RUNS) -> float:
    """CPU seconds of the check of such a platform in a separate process."""
    return _best(_cold, pools, teams, runs + 1)  # the first may write byte code


def work_seconds(pools: int, teams: int, runs: int = RUNS) -> float:
    """CPU seconds of the same in this process, imports not counted."""
    return _best(_work, pools, teams, runs)


def bare_seconds(runs: int = RUNS) -> float:
    """CPU seconds of a process that imports gpuyard's libraries, but not gpuyard."""
    libraries = "import pydantic, rich.console, typer, yaml"
    return min(_process(sys.executable, "-c", libraries) for _ in range(runs + 1))


def work_lines(pools: int, teams: int) -> int:
    """Lines of Python that the check of such a platform runs here; at least one per loop iteration."""
    return int(_best(_lines, pools, teams, 1))


def _best(measure: Callable[[Path], float], pools: int, teams: int, runs: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        stack = Path(folder, "large.yaml")
        stack.write_text(stack_text(pools, teams), encoding="utf-8")
        return min(measure(stack) for _ in range(runs))


def _cold(stack: Path) -> float:
    return _process(str(Path(sys.executable).with_name("gpuyard")), "check", str(stack))


def _process(*command: str) -> float:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def _work(stack: Path) -> float:
    started = time.process_time()
    _check(stack)
    return time.process_time() - started


def _lines(stack: Path) -> float:
    count = 0

    def counts(_frame: Any, event: str, _given: Any) -> Any:
        nonlocal count
        count += event == "line"
        return counts

    _check(stack)  # fill the caches
    before = sys.gettrace()
    sys.settrace(counts)
    try:
        _check(stack)
    finally:
        sys.settrace(before)
    return count


def _check(stack: Path) -> None:
    from gpuyard.cli import main

    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):  # noqa: PTH123  a device
        code = main(["check", str(stack)])
    if code:
        raise RuntimeError(f"gpuyard check {stack} ended with {code}")


def main() -> int:
    """Measure, print, compare with the limits."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    print(f"Python {platform.python_version()}, {versions}; best of {RUNS}, CPU seconds\n")
    print(f"a bare start {bare_seconds():.3f} s\n")
    print("| pools | teams | cold | work | lines |\n|---:|---:|---:|---:|---:|")
    cold: dict[tuple[int, int], float] = {}
    work: dict[tuple[int, int], float] = {}
    for size in ((1, 1), (POOLS, TEAMS), (SMALL, TEAMS), (LARGE, TEAMS), (LARGE, LARGE)):
        cold[size], work[size] = cold_seconds(*size), work_seconds(*size)
        figures = f"{cold[size]:.3f} | {work[size]:.3f} | {work_lines(*size):,}"
        print(f"| {size[0]:,} | {size[1]:,} | {figures} |")
    growth = work[LARGE, TEAMS] / work[SMALL, TEAMS]
    seconds = cold[POOLS, TEAMS]
    print(f"\n{POOLS} pools cold {seconds:.3f} s, limit {SECONDS:g};", end=" ")
    print(f"{LARGE} : {SMALL} pools {growth:.2f} of the work, limit {GROWTH:g}")
    return int(seconds > SECONDS or growth > GROWTH)


if __name__ == "__main__":
    sys.exit(main())
