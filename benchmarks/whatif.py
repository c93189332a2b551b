"""Speed of the replay behind `gpuyard whatif`: openb's pods on as many nodes, and a million jobs.

    python benchmarks/whatif.py                   openb, and 1,000,000 jobs: up to ten minutes
    python benchmarks/whatif.py --jobs 100000     openb, and fewer jobs

Reads openb/ from $GPUYARD_TRACES, else from `traces` next to $GPUYARD_UPSTREAM. Times are CPU seconds of this process, the
memory is the maximum of the process with the jobs. The exit code is 1 if a figure misses its limit: 5 s for openb, 5 minutes
and 2 GiB for a million jobs. benchmarks/whatif.md describes the platforms and has the figures.
"""

import argparse
import os
import platform
import random
import resource
import sys
import time
from pathlib import Path
from typing import Any

from gpuyard.plan import plan_or_raise
from gpuyard.plan.records import PlatformPlan
from gpuyard.spec.read import platform_spec
from gpuyard_advisor.replay import Replay, ReplayOptions, SubmittedJob, replay
from gpuyard_advisor.replay.mapping import map_jobs
from gpuyard_advisor.traces import read_trace
from gpuyard_core.manifests.quantities import CPU, GIB, MEMORY
from gpuyard_core.names import GPU

OPENB_SECONDS, SECONDS_PER_JOB, MAX_MIB = 5.0, 300e-6, 2048
NODES, TEAMS = 250, 8
LOAD = 0.85
POOLS: tuple[
    tuple[str, int, int, int, int, str, dict[str, Any]], ...
] = (  # nodes, CPU in thousandths, MiB, GPUs and model of openb's node list; G2 and G3 are not published
    ("g2", 299, 96, 384, 8, "A10", {}),
    ("g2-shared", 250, 96, 384, 8, "A10", {"sharing": {"time_slicing": 2}}),
    ("t4", 404, 96, 384, 2, "T4", {}),
    ("p100", 134, 16, 120, 2, "V100-16", {}),
    ("g3", 39, 128, 768, 8, "A100-80", {}),
    ("v100", 87, 32, 128, 4, "V100-16", {}),
)


def openb_plan() -> PlatformPlan:
    """As many nodes as openb has with GPUs, in pools of similar ones; half of the largest group is shared."""
    pools: list[dict[str, Any]] = [
        {
            "name": name,
            "machine": {"gpu": gpu, "gpus": gpus, "cpu": cpu, "memory_gib": memory},
            "nodes": nodes,
            **more,
        }
        for name, nodes, cpu, memory, gpus, gpu, more in POOLS
    ]
    everything = {
        f"{name}/shared" if more else name: nodes * gpus * (2 if more else 1)
        for name, nodes, _, _, gpus, _, more in POOLS
    }
    return plan_or_raise(
        platform_spec(
            {
                "name": "openb",
                "cloud": "simulated",
                "kubernetes": "1.36",
                "pools": pools,
                "teams": [{"name": "all", "guarantee": everything}],
            }
        )
    )


def trace_path() -> Path:
    """The pods of openb."""
    folder = os.environ.get("GPUYARD_TRACES") or str(
        Path(os.environ.get("GPUYARD_UPSTREAM", "../shared/upstream"), "..", "traces")
    )
    path = Path(folder, "openb", "openb_pod_list_default.csv")
    if not path.exists():
        sys.exit(f"no {path}: set GPUYARD_TRACES to the folder that has openb/")
    return path


def timed(name: str, plan: PlatformPlan, jobs: list[SubmittedJob]) -> tuple[float, Replay]:
    """Replay the jobs on nodes, and print the figures."""
    begin = time.process_time()
    found = replay(plan, jobs, options=ReplayOptions(nodes=True))
    took = time.process_time() - begin
    outcome = found.outcome
    pods = sum(job.pods for job in jobs)
    print(
        f"{name}: {len(jobs):,} jobs, {pods:,} pods, {sum(p.nodes.high for p in plan.pools):,} nodes"
    )
    print(f"  {took:.1f} s, {took / len(jobs) * 1e6:.0f} us a job; {memory():,} MiB in all")
    print(
        f"  ran {outcome.waits.jobs:,}, GPUs allocated {outcome.utilisation or 0:.1%}, wait P50"
        f" {outcome.waits.p50:,.0f} s and P95 {outcome.waits.p95:,.0f} s, {outcome.evictions:,} evictions,"
        f" {outcome.not_ready:,} times pods without a node in time"
    )
    return took, found


def memory() -> int:
    """The maximum of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def research_plan(nodes: int = NODES) -> PlatformPlan:
    """Nodes of eight H100 for teams with half of all guaranteed, in equal parts, and the rest to borrow."""
    gpus = nodes * 8
    part = gpus // TEAMS // 2
    return plan_or_raise(
        platform_spec(
            {
                "name": "lab",
                "cloud": "simulated",
                "kubernetes": "1.36",
                "pools": [{"name": "train", "machine": "p5.48xlarge", "nodes": nodes}],
                "queueing": {"fair_sharing": False},
                "teams": [
                    {"name": f"t{i}", "guarantee": {"train": part}, "borrow": {"train": gpus // 2}}
                    for i in range(TEAMS)
                ],
            }
        )
    )


def many_jobs(count: int, nodes: int = NODES, load: float = LOAD) -> list[SubmittedJob]:
    """Jobs of one to eight GPUs and gangs of up to 32, of two priorities, the same every time."""
    rng = random.Random(1)  # noqa: S311  a benchmark
    requests = [{GPU: n, CPU: n * 8000, MEMORY: n * 64 * GIB} for n in (1, 2, 4, 8)]

    def shape() -> tuple[int, int, float]:
        size = rng.choices(range(4), [60, 15, 10, 15])[0]
        pods = rng.choice([1, 1, 1, 1, 1, 1, 2, 4]) if size == len(requests) - 1 else 1
        return size, pods, min(86_400.0, rng.lognormvariate(6.5, 1.5))

    shapes = [shape() for _ in range(5000)]
    work = sum(requests[size][GPU] * pods * seconds for size, pods, seconds in shapes) / len(shapes)
    now, jobs = 0.0, []
    for index in range(count):
        now += rng.expovariate(nodes * 8 * load / work)
        size, pods, seconds = shape()
        jobs.append(
            SubmittedJob(
                name=f"j{index}",
                team=f"t{rng.randrange(TEAMS)}",
                submitted_at_seconds=now,
                run_seconds=seconds,
                requests=requests[size],
                pods=pods,
                priority=rng.choice([0] * 9 + [10]),
            )
        )
    return jobs


def main() -> int:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=1_000_000)
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, {platform.machine()}")
    plan = openb_plan()
    with trace_path().open("rb") as file:
        mapped = map_jobs(plan, read_trace(file).jobs)
    took, _ = timed("openb", plan, [*mapped.jobs])
    print(f"  left out: {sum(each.jobs for each in mapped.never):,} that no pool can start")
    many, _ = timed("many jobs", research_plan(), many_jobs(options.jobs))
    fine = took <= OPENB_SECONDS and many <= SECONDS_PER_JOB * options.jobs and memory() <= MAX_MIB
    print("ok" if fine else "failed")
    return not fine


if __name__ == "__main__":
    sys.exit(main())
