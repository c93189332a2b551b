"""The judge of replays: one trace through the real control plane and through the model, and how far they differ."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpuyard.plan.records import PlatformPlan
from gpuyard.spec.pools import Scaling
from gpuyard_advisor.replay import (
    ReplayOptions,
    SubmittedJob,
    Timing,
    replay,
)
from gpuyard_advisor.replay.mapping import map_jobs
from gpuyard_advisor.replay.scaling import NodeAutoscalerPolicy
from gpuyard_advisor.traces import TraceJob
from gpuyard_advisor.usage.rightsize import percentile
from kit.cluster.queues import kueue_as_rendered
from kit.cluster.runs import PRIORITIES, Seen, run
from kit.cluster.scaling import SCAN_SECONDS, FakeClusterAutoscaler, ScalingLab
from kit.orders import Disagreement, compare_orders
from kit.stacks import Raw, plan_of, platform, pool
from kit.traces import by_three, compressed, one_in_ten, user_of

LIMIT = 1500
"""Seconds after which a run fails."""
BOOT, UNNEEDED = 10.0, 20.0
"""Seconds from an instance to its node, and until an empty node is removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A part of a trace, its compression, and a platform for it."""

    first: int
    """Index of the first job, by submission."""
    train: int
    """Nodes of eight GPUs that always run."""
    burst: int
    """The most nodes of eight GPUs that start on demand."""
    halves: int = 0
    """Nodes of four GPUs that serve two pods each, for jobs that request at most half of one."""
    seconds: float = 240
    """Seconds in which 1,000 jobs are submitted."""
    faster: float = 60
    """Divisor of run times."""
    shortest: float = 2
    longest: float = 60

    def jobs(self, trace: Sequence[TraceJob], count: int) -> list[TraceJob]:
        """This many jobs, compressed, with names for Kubernetes, three teams and two priorities.

        Without requests of CPU and memory kube-scheduler fills one node after the other. With them it spreads pods, and
        how long a job waits for a whole node is a matter of chance.
        """
        chosen = trace[self.first : self.first + count]
        seconds = self.seconds * count / 1000
        found = compressed(chosen, seconds, self.faster, self.shortest, self.longest)
        letters = by_three(found)
        return [
            replace(
                job,
                name=f"j{place}",
                team=letters[user_of(job)],
                priority=PRIORITIES["high" if one_in_ten(job) else "normal"],
                cpu_milli=0,
                memory_mib=0,
            )
            for place, job in enumerate(found)
        ]

    def platform(self, name: str) -> Raw:
        """Three teams: each has a fifth of each pool guaranteed, and may borrow the rest."""
        sizes = {f"{name}-train": self.train * 8, f"{name}-burst": self.burst * 8}
        pools = [
            pool(f"{name}-train", nodes=self.train),
            pool(f"{name}-burst", nodes=f"0..{self.burst}"),
        ]
        if self.halves:
            sizes[f"{name}-halves"] = self.halves * 4
            pools.append(
                pool(
                    f"{name}-halves",
                    machine="g6.12xlarge",
                    nodes=self.halves,
                    sharing={"time_slicing": 2},
                )
            )
        guarantee = {name: max(1, size // 5) for name, size in sizes.items()}
        borrow = {name: size - guarantee[name] for name, size in sizes.items()}
        teams = [
            {"name": f"{name}-{letter}", "guarantee": guarantee, "borrow": borrow}
            for letter in "abc"
        ]
        return platform(pools, teams, name=name, cloud="simulated", priorities=PRIORITIES)


JUDGED = {
    "openb": Judged(first=2000, train=2, burst=1, halves=1, longest=15),
    "philly": Judged(first=42_000, train=6, burst=2, faster=120, longest=15),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Observation and prediction of one run."""

    jobs: int
    seconds: float
    timing: Timing
    """Measured."""
    boot: float
    """Measured: median seconds from the request for a node to its GPUs."""
    order: Disagreement
    admitted: tuple[list[float], list[float]]
    """Seconds from submission to first admission: observed, predicted."""
    started: tuple[list[float], list[float]]
    """Seconds from submission until all pods ran for the first time."""
    evictions: tuple[int, int]
    node_hours: tuple[float, float]
    burst_hours: tuple[float, float]
    """Node-hours of the pool that scales."""

    def figures(self) -> Iterator[tuple[str, float, float, float]]:
        """Title, observation, prediction, and the relative error."""
        yield "order", 0, self.order.wrong_pairs, self.order.wrong_pairs
        for title, pair in (("admission", self.admitted), ("wait", self.started)):
            for share in (50, 75, 90, 95, 99):
                yield _figure(f"{title} P{share}", *(percentile(w, share) for w in pair))
            yield _figure(f"{title} mean", *map(statistics.mean, pair))
        yield _figure("evictions", *self.evictions)
        yield _figure("node-hours", *self.node_hours)
        yield _figure("node-hours, scaled pool", *self.burst_hours)


def _figure(title: str, seen: float, expected: float) -> tuple[str, float, float, float]:
    return title, seen, expected, expected / seen - 1 if seen else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What the real components did with the jobs."""

    plan: PlatformPlan
    jobs: Sequence[SubmittedJob]
    seen: Seen
    nodes: Sequence[tuple[float, float]]
    """Start and end of each node that started on demand, on the clock of `seen`."""
    ready_after: Sequence[float]
    """Seconds from the request for each of them to its GPUs."""


def observe(cluster: str, judged: Judged, trace: Sequence[TraceJob], count: int) -> Observation:
    """Run the jobs on this simulated cluster."""
    raw = judged.platform(cluster)
    plan = plan_of(raw)
    teams = {letter: f"{cluster}-{letter}" for letter in "abc"}
    mapped = map_jobs(plan, judged.jobs(trace, count), teams)
    assert not mapped.never, mapped.never
    jobs = mapped.jobs
    with kueue_as_rendered(cluster, raw) as api, ScalingLab(api, raw) as lab:
        burst = next(pool for pool in plan.pools if pool.nodes.low < pool.nodes.high)
        autoscaler = FakeClusterAutoscaler(lab, burst, BOOT, UNNEEDED)
        autoscaler.start()
        try:
            seen = run(lab, jobs, LIMIT)
        finally:
            spans = autoscaler.end()
    nodes = [(start - seen.began, end - seen.began) for start, end in spans]
    return Observation(
        plan=plan, jobs=jobs, seen=seen, nodes=nodes, ready_after=autoscaler.ready_after
    )


def _scaled(plan: PlatformPlan) -> PlatformPlan:
    """The plan of a cluster with an autoscaler: gpuyard starts all nodes of a simulated one."""
    pools = (
        replace(pool, scaling=Scaling.AUTOSCALER, start_nodes=pool.nodes.low)
        if pool.nodes.low < pool.nodes.high
        else pool
        for pool in plan.pools
    )
    return replace(plan, pools=tuple(pools))


def judge(observed: Observation) -> Judgement:
    """Replay the jobs with the measured delays and none of Kueue's decisions, and compare."""
    plan, jobs, seen = _scaled(observed.plan), observed.jobs, observed.seen
    timing = seen.timing(jobs)
    boot = statistics.median(observed.ready_after) if observed.ready_after else BOOT
    autoscaler = NodeAutoscalerPolicy(empty_seconds=UNNEEDED, interval_seconds=SCAN_SECONDS)
    options = ReplayOptions(nodes=True, boot_seconds=boot, scaling=autoscaler)
    found = replay(plan, jobs, timing, options)
    first = min(j.submitted_at_seconds for j in jobs)
    end = max(seen.finished.values())
    burst = sum(max(0.0, min(b, end) - max(a, first)) for a, b in observed.nodes)
    fixed = sum(pool.nodes.low for pool in plan.pools) * (end - first)
    scaled = [p.name for p in plan.pools if p.nodes.low < p.nodes.high]
    outcome = found.outcome
    return Judgement(
        jobs=len(jobs),
        seconds=end - first,
        timing=timing,
        boot=boot,
        order=compare_orders(found.order, seen.order, far=len(jobs) // 20),
        admitted=_waits(jobs, seen.admitted, {c.job.name: c.admitted for c in found.courses}),
        started=_waits(jobs, seen.started, {c.job.name: c.started for c in found.courses}),
        evictions=(len(seen.evictions), sum(c.evictions for c in found.courses)),
        node_hours=((fixed + burst) / 3600, outcome.node_hours),
        burst_hours=(
            burst / 3600,
            sum(p.node_hours for p in outcome.pools if p.pool in scaled),
        ),
    )


def _waits(
    jobs: Sequence[SubmittedJob], seen: Mapping[str, float], expected: Mapping[str, float | None]
) -> tuple[list[float], list[float]]:
    never = [name for name, time in expected.items() if time is None]
    assert not never, f"the replay never starts {never[:5]}, and the cluster does"
    return (
        [seen[j.name] - j.submitted_at_seconds for j in jobs],
        [(expected[j.name] or 0.0) - j.submitted_at_seconds for j in jobs],
    )
