"""Jobs of public traces through a real Kueue and kube-scheduler on fake nodes, against the replay of the same jobs.

    python benchmarks/whatif_live.py                    both traces, 1,000 jobs each, a quarter of an hour
    python benchmarks/whatif_live.py --trace openb --jobs 200

Reads openb/ and philly/philly.csv from $GPUYARD_TRACES, else from `traces` next to $GPUYARD_UPSTREAM; `--philly` names
the second file elsewhere. Starts a separate simulated cluster and removes it afterwards. Needs the control plane
(`make tools`) and an otherwise idle machine. The exit code is 1 if a figure misses its limit.
benchmarks/whatif_live.md describes the platforms and has the figures.
"""

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "scripts")]

from gpuyard_advisor.traces.records import TraceJob  # noqa: E402
from gpuyard_simulate import cluster  # noqa: E402
from kit.cluster.judged import JUDGED, Judgement, judge, observe  # noqa: E402
from kit.traces import trace_file, trace_jobs  # noqa: E402

FILES = {"openb": ("openb", "openb_pod_list_default.csv"), "philly": ("philly", "philly.csv")}
LIMITS = {"order": 0.02, "wait P50": 0.10, "wait P95": 0.10, "node-hours": 0.05}


def main() -> int:
    """Run, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trace", choices=("openb", "philly"), help="only this trace")
    parser.add_argument("--jobs", type=int, default=1000, help="jobs of each trace")
    parser.add_argument("--philly", type=Path, help="philly.csv of petuum/adaptdl")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the cluster is always removed
    failed = False
    for name in [options.trace] if options.trace else ["openb", "philly"]:
        given = options.philly if name == "philly" else None
        path = given or trace_file(*FILES[name])
        failed |= not _printed(name, _judged(name, trace_jobs(path), options.jobs))
    return int(failed)


def _judged(name: str, jobs: Sequence[TraceJob], count: int) -> Judgement:
    with tempfile.TemporaryDirectory() as home:
        os.environ["GPUYARD_SIM_HOME"] = home
        os.environ.setdefault("GPUYARD_TOOLS", str(ROOT / ".testbed" / "bin"))
        os.environ.setdefault("GOGC", "400")
        cluster.up(name)
        try:
            return judge(observe(name, JUDGED[name], jobs, count))
        finally:
            cluster.down(name)


def _printed(name: str, found: Judgement) -> bool:
    """Print the figures; returns whether all keep their limits."""
    print(f"\n{name}: {found.jobs:,} jobs, all ended after {found.seconds:.0f} s", flush=True)
    timing = found.timing
    print(
        f"  mean seconds: {timing.start:.2f} from admission to running pods, {timing.stop:.2f} from their end to free quota,"
        f" {timing.eviction:.2f} from an eviction to free quota; {found.boot:.1f} (median) to a node on demand"
    )
    kept = True
    for title, seen, expected, error in found.figures():
        limit = LIMITS.get(title)
        missed = limit is not None and abs(error) > limit
        kept &= not missed
        note = "" if limit is None else f"  limit {limit:.0%}{'  MISSED' if missed else ''}"
        print(f"  {title:24} {seen:10.2f} {expected:10.2f} {error:+8.1%}{note}")
    return kept


if __name__ == "__main__":
    sys.exit(main())
