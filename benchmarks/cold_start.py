"""CPU of a cold start: `import gpuyard`, and `gpuyard check` of the local stack.

    python benchmarks/cold_start.py

Each value is the median of seven fresh processes, user and system time together. The exit code is 1 if a
value exceeds its budget. On a busy machine CPU time grows, because cores share caches: compare with the bare
interpreter's.
"""

import platform
import resource
import statistics
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNS = 7
IMPORT_BUDGET = 0.12
"""Seconds over the bare interpreter."""
CHECK_BUDGET = 0.5
"""Seconds for the whole process."""
PACKAGES = ("gpuyard", "pydantic", "pyyaml", "rich", "typer")

BARE = (sys.executable, "-c", "pass")
IMPORT = (sys.executable, "-c", "import gpuyard")
CHECK = (str(Path(sys.executable).with_name("gpuyard")), "check", "local")


def cpu_seconds(command: tuple[str, ...]) -> float:
    """User and system time of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def median(command: tuple[str, ...]) -> float:
    """The median of RUNS runs, after one that warms the file cache."""
    cpu_seconds(command)
    return statistics.median(cpu_seconds(command) for _ in range(RUNS))


def main() -> int:
    """Measure, print, compare with the budgets."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    print(
        f"Python {platform.python_version()}, {versions}; median of {RUNS} processes, CPU seconds"
    )
    bare = median(BARE)
    print(f"bare interpreter          {bare:.3f}")
    good = True
    for what, seconds, budget in (
        ("import gpuyard, over bare", max(0.0, median(IMPORT) - bare), IMPORT_BUDGET),
        ("gpuyard check local", median(CHECK), CHECK_BUDGET),
    ):
        within = seconds <= budget
        good = good and within
        print(f"{what:<25} {seconds:.3f}  budget {budget:.2f}  {'ok' if within else 'OVER'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
