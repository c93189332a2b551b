"""Jobs through a real Kueue on fake nodes, compared with the queue model's order of admission.

    python benchmarks/queue_model.py                  2,000 jobs on 250 nodes, several minutes
    python benchmarks/queue_model.py 300 40 6         so many jobs on so many nodes, of at most 6 seconds

Starts a separate simulated cluster and removes it afterwards. Needs the control plane (`make tools`).
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
"""Seconds after which the run fails."""


def main(jobs: int = 2000, nodes: int = 250, longest: int = 35) -> int:
    """Run, compare, print."""
    raw = backlog(NAME, nodes)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the cluster is always removed
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
    print(f"a job held its quota {found.overhead:.0f} s beyond its own duration (median)")
    expected = sum(course.evictions for course in found.forecast.courses)
    print(f"evictions: {found.seen.evictions}, predicted {expected}")
    print(f"pairs of jobs admitted in another order than predicted: {apart.wrong_pairs:.2%}")
    print(
        f"jobs more than {apart.moved_threshold} places from their predicted place: {apart.moved:.2%}"
    )
    print(f"maximum: {apart.max_distance} places")
    return 0


if __name__ == "__main__":
    sys.exit(main(*(int(text) for text in sys.argv[1:])))
