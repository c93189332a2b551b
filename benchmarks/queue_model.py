"""Jobs through a real Kueue on fake nodes, and how far the queue model's order of admission was from it.

    python benchmarks/queue_model.py                  2,000 jobs on 250 nodes, several minutes
    python benchmarks/queue_model.py 300 40 6         so many jobs on so many nodes, of 6 seconds at most

Starts a simulated cluster of its own and takes it down again. Needs the control plane (`make tools`).
docs/concepts/queue-model.md has figures.
"""

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "scripts")]

from gpuyard.simulate import cluster  # noqa: E402
from kit.cluster.queues import QueueLab, kueue_as_rendered  # noqa: E402
from kit.cluster.runs import backlog, run, some_jobs  # noqa: E402

NAME = "queue-model"
LIMIT = 2400
"""Seconds after which the run is given up."""


def main(jobs: int = 2000, nodes: int = 250, longest: int = 35) -> int:
    """Run, compare, print."""
    raw = backlog(NAME, nodes)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the cluster goes in any case
    with tempfile.TemporaryDirectory() as home:
        os.environ["GPUYARD_SIM_HOME"] = home
        os.environ.setdefault("GPUYARD_TOOLS", str(ROOT / ".testbed" / "bin"))
        cluster.up(NAME)
        try:
            with kueue_as_rendered(NAME, raw) as api:
                began = time.monotonic()
                lab = QueueLab(api, raw)
                lab.__enter__()  # its end is the end of the cluster
                print(
                    f"{nodes} nodes and three teams after {time.monotonic() - began:.0f} s",
                    flush=True,
                )
                found = run(lab, some_jobs(NAME, jobs, (2, longest)), LIMIT)
        finally:
            cluster.down(NAME)
    apart = found.apart
    print(f"{jobs:,} jobs on {nodes} nodes: all ended after {found.seconds:.0f} s")
    print(f"a job held its quota {found.overhead:.0f} s beyond its own time, in the middle")
    expected = sum(course.evictions for course in found.forecast.courses)
    print(f"evictions: {found.seen.evictions}, foreseen {expected}")
    print(f"pairs of jobs admitted in the other order than foreseen: {apart.wrong_pairs:.2%}")
    print(
        f"jobs more than {apart.distance} places from where they were foreseen: {apart.moved:.2%}"
    )
    print(f"the furthest: {apart.max_distance} places")
    return 0


if __name__ == "__main__":
    sys.exit(main(*(int(text) for text in sys.argv[1:])))
