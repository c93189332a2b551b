"""Pods on nodes: what holds for every sequence of jobs, and single cases of autoscaling and interruptions."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard.plan.money.bill import running_costs
from gpuyard.plan.records import PlatformPlan
from gpuyard_advisor.replay import (
    EndReason,
    NoConvergence,
    Replay,
    ReplayOptions,
    SubmittedJob,
    replay,
)
from gpuyard_advisor.replay.accounts import HourSeries
from gpuyard_advisor.replay.cluster import AdmittedJob, Cluster
from gpuyard_advisor.scheduler.nodes import planned_node_resources
from gpuyard_core.manifests.quantities import CPU, MEMORY
from gpuyard_core.names import GPU
from kit.cases.replay import came, courses, queues, some_jobs
from kit.searches import examples
from kit.stacks import plan_of, platform, pool

NODES = ReplayOptions(nodes=True, most_evictions=15)
PLAN = queues(
    4,
    a={"guarantee": 8, "borrow": 16, "weight": 2},
    b={"guarantee": 16, "lend": 8},
    c={"borrow": 8},
)
HOUR = 3600.0


def cloud(nodes: str, capacity: str = "on-demand", **queueing: object) -> PlatformPlan:
    """One pool of EKS for one team, which may have all of it."""
    return plan_of(
        platform(
            [pool(nodes=nodes, capacity=[capacity])],
            teams=[{"name": "vision", "guarantee": {"train": 8 * int(nodes.rpartition("..")[2])}}],
            **({"queueing": queueing} if queueing else {}),
        )
    )


def job(name: str, at: float = 0, seconds: float = HOUR, **rest: object) -> SubmittedJob:
    return SubmittedJob(
        name=name,
        team="vision",
        submitted_at_seconds=at,
        run_seconds=seconds,
        requests={GPU: 8},
        **rest,  # type: ignore[arg-type]
    )


def on_nodes(number: int, options: ReplayOptions = NODES) -> Replay | None:
    """The courses of the jobs of this number; some sequences never come to an end."""
    try:
        return replay(PLAN, some_jobs(number, 25), options=options)
    except NoConvergence:
        return None


@given(number=st.integers(0, 10_000))
@settings(max_examples=examples(15))
def test_no_node_is_over_committed_and_no_job_runs_before_its_submission(number: int):
    watched: list[int] = []
    put = Cluster.place

    def place(cluster: Cluster, admitted: AdmittedJob) -> bool:
        result = put(cluster, admitted)
        for each in cluster.pools.values():
            watched.extend(min(state) for state in each.nodes.values())
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cluster, "place", place)
        found = on_nodes(number)
    if found is None:
        return
    assert watched
    assert min(watched) >= 0
    for course in found.courses:
        for interval in course.intervals:
            assert interval.start >= course.job.submitted_at_seconds
            assert interval.running_since is None or interval.running_since >= interval.start
        if course.ended is not None:
            last = course.intervals[-1]
            assert last.running_since is not None
            assert last.end == last.running_since + course.job.run_seconds


@given(number=st.integers(0, 10_000))
@settings(max_examples=examples(10))
def test_a_seed_gives_the_same_replay(number: int):
    assert on_nodes(number) == on_nodes(number)


@given(number=st.integers(0, 10_000))
@settings(max_examples=examples(10))
def test_pods_of_one_gpu_start_as_without_nodes(number: int):
    """One-GPU pods always find the GPU that their quota stands for: nodes change nothing."""
    jobs = [
        came(f"{j.team[-1]}{i}", j.submitted_at_seconds, 1, j.run_seconds, pods=j.pods)
        for i, j in enumerate(some_jobs(number, 40))
    ]
    try:
        alone, placed = (
            replay(PLAN, jobs, options=ReplayOptions(nodes=nodes, most_evictions=15))
            for nodes in (False, True)
        )
    except NoConvergence:
        return
    assert placed.courses == alone.courses


@given(number=st.integers(0, 10_000))
@settings(max_examples=examples(10))
def test_work_is_conserved(number: int):
    """No node that a pending pod fits has free resources; the GPU hours of the pool are those of the jobs."""
    looked: list[bool] = []
    retry = Cluster.retry

    def retried(cluster: Cluster) -> list[AdmittedJob]:
        result = retry(cluster)
        for pool_name, nodes in cluster.pools.items():
            for admitted in cluster.pending_jobs(pool_name):
                assert admitted.request is not None
                looked.append(nodes.fits_near(admitted.request, 1))
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cluster, "retry", retried)
        found = on_nodes(number)
    if found is None:
        return
    assert not any(looked)
    ran = sum(
        interval.uses["q", GPU] * (interval.end - interval.running_since) / HOUR
        for course in found.courses
        for interval in course.intervals
        if interval.running_since is not None
    )
    assert found.outcome.pools[0].allocated_gpu_hours == pytest.approx(ran)
    assert ran <= found.outcome.pools[0].gpu_hours + 1e-9


def half(name: str, seconds: float) -> SubmittedJob:
    """Four GPUs and half of the CPU and memory of a node: LeastAllocated puts two of them on two nodes."""
    node = planned_node_resources(PLAN, PLAN.pools[0])
    requests = {GPU: 4, CPU: node[CPU] // 2, MEMORY: node[MEMORY] // 2}
    return SubmittedJob(
        name=name, team="q-a", submitted_at_seconds=0, run_seconds=seconds, requests=requests
    )


def test_a_pod_with_quota_and_without_a_node_waits_and_holds_its_quota():
    """Four GPUs are free on each node: eight on none."""
    jobs = [half("one", 100), half("two", 100), came("a-2", at=1)]
    found = replay(queues(2, a={"guarantee": 16}), jobs, options=NODES)
    spell = courses(found)["a-2"].intervals[0]
    assert (spell.start, spell.running_since) == (1, 100)
    assert found.cautions == ()
    fragmentation = found.outcome.pools[0].fragmentation
    assert fragmentation is None, "an hour has not passed"


def test_a_job_whose_pods_do_not_start_in_time_is_requeued():
    plan = queues(2, a={"guarantee": 16})
    minutes = plan.queueing.start_minutes
    seconds = (minutes + 5) * 60.0
    jobs = [half("one", seconds), half("two", seconds), came("a-2", at=1)]
    found = replay(plan, jobs, options=NODES)
    first, second = courses(found)["a-2"].intervals
    assert first.reason is EndReason.NOT_READY
    assert first.running_since is None
    assert first.end == 1 + minutes * 60 + 1
    assert second.start == first.end + 60
    assert second.reason is EndReason.COMPLETED
    assert found.outcome.not_ready == 1


def test_free_gpus_that_a_typical_pod_cannot_use_are_fragments():
    """Two typical pods: the whole node's does not fit the four free GPUs of each node, the half's does."""
    plan = queues(2, a={"guarantee": 16})
    jobs = [half("one", 4000), half("two", 4000), came("a-2", at=1), came("a-3", at=1)]
    (outcome,) = replay(plan, jobs, options=NODES).outcome.pools
    assert outcome.fragmentation == 0.5


def test_a_pool_starts_nodes_for_pending_pods_and_removes_empty_ones():
    found = replay(
        cloud("0..2"),
        [job("one", at=5), job("two", at=1800)],
        options=ReplayOptions(nodes=True, boot_seconds=120),
    )
    one, two = found.courses
    assert (one.admitted, one.started, one.ended) == (5, 130, 130 + HOUR)
    assert two.started == 1810 + 120
    (outcome,) = found.outcome.pools
    assert (outcome.nodes_started, outcome.max_nodes, outcome.flaps) == (2, 2, 0)
    assert outcome.nodes_removed == 1, "the first, ten minutes after its job"
    assert (found.outcome.waits.p50, found.outcome.waits.p95) == (125, 130)
    price = cloud("0..2").bill.lines[-1].prices[0].mean
    assert price is not None
    assert found.outcome.cost.usd == pytest.approx(outcome.node_hours * price)


def test_a_spot_interruption_costs_the_work_since_the_last_checkpoint():
    jobs = [job("whole", seconds=200 * HOUR, checkpoint_seconds=HOUR)]
    options = ReplayOptions(nodes=True, interruptions=True, interruptions_per_month=0.999, seed=3)
    plan = cloud("1", "spot")
    found = replay(plan, jobs, options=options)
    (course,) = found.courses
    interrupted = [i for i in course.intervals if i.reason is EndReason.INTERRUPTED]
    assert found.outcome.interruptions == len(interrupted) > 0
    ran = sum(i.end - i.running_since for i in course.intervals if i.running_since is not None)
    lost = found.outcome.lost_gpu_hours
    assert 0 < lost <= len(interrupted) * 8
    assert ran / HOUR == pytest.approx(200 + lost / 8, abs=0.01 * len(course.intervals))
    assert replay(plan, jobs, options=options) == found
    assert replay(plan, jobs, options=ReplayOptions(nodes=True)).outcome.interruptions == 0


def test_an_interval_has_its_integral_in_every_hour():
    series = HourSeries()
    series.add(1800, 3 * HOUR + 900, 2)
    series.add(HOUR, HOUR + 360, 10)
    assert series.by_hour() == pytest.approx({0: 1, 1: 3, 2: 2, 3: 0.5})


def test_progress_ends_with_all_jobs():
    seen: list[tuple[int, int]] = []
    replay(
        queues(1, a={"guarantee": 8}),
        [came(f"a-{i}") for i in range(7)],
        options=ReplayOptions(progress=lambda done, total: seen.append((done, total))),
    )
    assert seen == [(n, 7) for n in (1, 2, 3, 4, 5, 6, 7, 7)]


def test_waits_count_by_team_and_priority():
    plan = queues(1, a={"guarantee": 8}, b={})
    found = replay(plan, [came("a-0"), came("a-1", priority=5), came("b-0")]).outcome
    assert Counter(w.jobs for w in found.waits_by_priority.values()) == Counter([1, 1])
    assert list(found.waits_by_priority) == [5, 0]
    assert found.waits_by_team["q-b"].never == 1
    assert found.waits_by_team["q-a"].p95 == 11


def test_the_hourly_cost_at_the_bills_nodes_is_the_bills():
    """Reserved nodes, a commitment, system nodes and the fee of the cluster are in both."""
    plan = plan_of(
        platform(
            [pool(nodes="2..6", capacity=[{"reserved": "cr-0123", "nodes": 2}, "on-demand"])],
            system={"machine": "m7i.xlarge", "nodes": 2},
            prices={
                "cluster_usd_per_hour": 0.1,
                "commitments": [
                    {"machine": "p5.48xlarge", "nodes": 3, "years": 1, "usd_per_hour": 30}
                ],
            },
        )
    )
    nodes = {line.pool: line.running_nodes for line in plan.bill.lines}
    assert running_costs(plan).at(nodes) == plan.bill.expected


def test_system_nodes_of_a_described_size_have_the_cost_of_the_bill():
    system = {"machine": {"cpu": 8, "memory_gib": 32}, "nodes": 2}
    plan = plan_of(platform([pool(nodes=2)], cloud="simulated", system=system))
    assert plan.system
    assert plan.system.machine == "8cpu-32gib"
    nodes = {line.pool: line.running_nodes for line in plan.bill.lines}
    assert running_costs(plan).at(nodes) == plan.bill.expected
