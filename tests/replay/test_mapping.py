"""Jobs of a trace as jobs of a platform."""

import pytest

from gpuyard_advisor.replay.mapping import NO_GPU, NeverStarting, map_jobs
from gpuyard_advisor.traces import TraceJob
from gpuyard_core.errors import UsageError
from gpuyard_core.manifests.quantities import CPU, GIB, MEMORY
from gpuyard_core.names import GPU, POOL_LABEL
from kit.every import every
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool, team

POOLS = [pool(), cut_pool(), shared_pool()]
ML = {"train": 16, "serve/3g.20gb": 4, "serve/1g.5gb": 4, "dev/shared": 8}


def trace_job(name="job", **rest):
    return TraceJob(name=name, submitted_seconds=0, run_seconds=60, **{"gpus": 1, **rest})


def mixed(**rest):
    return plan_of(platform(POOLS, [team("ml", guarantee=ML)], **rest))


def mapped(job, plan=None):
    result = map_jobs(plan or mixed(), [job])
    assert result.never == ()
    (made,) = result.jobs
    return made


def never(job, plan=None):
    result = map_jobs(plan or mixed(), [job])
    assert result.jobs == ()
    (each,) = result.never
    return each.reason


def test_a_job_keeps_its_name_times_and_requests():
    job = TraceJob(
        name="a",
        submitted_seconds=30,
        run_seconds=60,
        gpus=8,
        pods=2,
        cpu_milli=90_000,
        memory_mib=1024,
        utilisation=0.5,
    )
    (made,) = map_jobs(mixed(), [job], time_scale=2).jobs
    assert (made.name, made.team, made.submitted_at_seconds, made.run_seconds) == (
        "a",
        "ml",
        15,
        60,
    )
    assert made.requests == {GPU: 8, CPU: 90_000, MEMORY: GIB}
    assert (made.pods, made.priority, made.selector, made.utilisation) == (2, 0, {}, 0.5)


SIZES = {
    "a seventh": ({"gpus": 0.14}, {"nvidia.com/mig-1g.5gb": 1}),
    "a quarter": ({"gpus": 0.25}, {"nvidia.com/gpu.shared": 1}),
    "a quarter with the memory of a slice": (
        {"gpus": 0.25, "gpu_memory_mib": 12_000},
        {"nvidia.com/mig-3g.20gb": 1},
    ),
    "no slice with a quota is large enough": ({"gpus": 0.5}, {GPU: 1}),
    "more than one": ({"gpus": 1.5}, {GPU: 2}),
    "GPU memory alone": ({"gpus": 0, "gpu_memory_mib": 4096}, {"nvidia.com/mig-1g.5gb": 1}),
}


@every("asks, requests", SIZES.values(), SIZES)
def test_a_fraction_becomes_the_smallest_slice_or_share_that_fits(asks, requests):
    assert mapped(trace_job(**asks)).requests == requests


def test_equal_shapes_share_their_requests():
    first, second = map_jobs(mixed(), [trace_job("a"), trace_job("b")]).jobs
    assert first.requests is second.requests


def test_a_job_larger_than_a_node_runs_as_several_pods():
    result = map_jobs(mixed(), [trace_job(gpus=12, cpu_milli=12_000, memory_mib=2048)])
    (made,) = result.jobs
    assert (made.pods, made.requests) == (2, {GPU: 6, CPU: 6000, MEMORY: GIB})
    assert result.notes == ("jobs with more GPUs than a node, which run as several pods: 1",)


MODELS = plan_of(
    platform(
        [
            pool("h100"),
            pool("a100", machine="p4de.24xlarge"),
            pool("also", machine="p4de.24xlarge"),
        ],
        [team("ml", guarantee={"h100": 8, "a100": 8, "also": 8})],
    )
)


@every(
    "model, selector",
    [
        ("", {}),
        ("H100", {POOL_LABEL: "h100"}),
        ("A100-SXM4-80GB", {POOL_LABEL: "a100"}),
        ("a100", {POOL_LABEL: "a100"}),
        ("V100|h100", {POOL_LABEL: "h100"}),
        ("A100-80|H100", {}),
    ],
)
def test_a_gpu_model_selects_its_pool(model, selector):
    assert mapped(trace_job(gpu_model=model), MODELS).selector == selector


def test_jobs_that_can_never_start_are_counted_by_their_reason():
    jobs = [
        trace_job("cpu", gpus=0),
        trace_job("large", gpus=8, pods=4),
        trace_job("as large", gpus=8, pods=4),
        trace_job("fits"),
    ]
    result = map_jobs(mixed(), jobs)
    assert [job.name for job in result.jobs] == ["fits"]
    assert result.never == (
        NeverStarting(
            reason="train: 32 nvidia.com/gpu requested, the maximum of team ml is 16 (guaranteed 16, may borrow 0)",
            jobs=2,
            example="large",
        ),
        NeverStarting(reason=NO_GPU, jobs=1, example="cpu"),
    )


@every(
    "asks, reason",
    [
        (
            {"gpu_model": "T4"},
            "team ml has no pool with T4; GPUs of the platform are H100, A100-40, L4",
        ),
        ({"gpu_memory_mib": 100 * 1024}, "no GPU of team ml has 100 GiB of memory"),
    ],
)
def test_a_gpu_that_no_pool_has_is_a_reason(asks, reason):
    assert never(trace_job(**asks)) == reason


def test_a_team_without_a_pool_is_a_reason():
    plan = plan_of(platform([pool()], [team("ml")]))
    assert never(trace_job(), plan) == "team ml has no quota in a pool"


PRIORITIES = {"high": 1000, "normal": 100}


@every("value, expected", [(0, 100), (5000, 1000), (1000, 1000), (150, 100), (-5, 100)])
def test_a_priority_becomes_the_next_lower_of_the_platform(value, expected):
    teams = [team("ml", guarantee=ML, priority="normal")]
    plan = plan_of(platform(POOLS, teams, priorities=PRIORITIES))
    assert mapped(trace_job(priority=value), plan).priority == expected


TWO = plan_of(
    platform(
        [pool()],
        [
            team("vision", guarantee={"train": 8}, namespaces=["vision-prod"]),
            team("speech", guarantee={"train": 8}),
        ],
    )
)


def test_teams_are_found_by_name_namespace_and_mapping():
    names = ["vision", "vision-prod", "speech", "cv", "", "else"]
    jobs = [trace_job(str(n), team=name) for n, name in enumerate(names)]
    found = map_jobs(TWO, jobs, {"cv": "vision", "*": "speech"})
    assert [job.team for job in found.jobs] == [
        *("vision", "vision", "speech", "vision", "speech", "speech"),
    ]


ERRORS = {
    "unknown teams": (
        [("a", "cv"), ("b", "cv"), ("c", "")],
        {},
        (
            "platform lab has no team for 3 jobs of cv (2), (none) (1). Its teams are vision, speech. Write "
            "--team-of 'cv=TEAM' for each, or --team-of '*=TEAM' for all others."
        ),
    ),
    "no teams": (
        [("a", "")],
        {},
        (
            "the trace has no team, and platform lab has the teams vision, speech. Write --team-of '*=TEAM', or name "
            "the column of the team with --columns team=COLUMN."
        ),
    ),
    "a mapping to no team": (
        [("a", "cv")],
        {"cv": "sound"},
        "--team-of cv=sound: no such team. Teams are vision, speech.",
    ),
}


@every("jobs, team_of, message", ERRORS.values(), ERRORS)
def test_jobs_of_no_team_are_refused(jobs, team_of, message):
    with pytest.raises(UsageError) as refused:
        map_jobs(TWO, [trace_job(name, team=named) for name, named in jobs], team_of)
    assert str(refused.value) == message


@every(
    "queueing, message",
    [
        (
            {"engine": "volcano"},
            "platform lab uses Volcano, and gpuyard models only Kueue's admission and preemption",
        ),
        (
            {"clusters": [{"name": "west", "secret": "west"}]},
            "platform lab has no nodes: its jobs run on other clusters. Replay the trace on their stacks.",
        ),
    ],
)
def test_platforms_that_are_not_modelled_are_refused(queueing, message):
    teams = [team("ml", guarantee={"train": 8})]
    with pytest.raises(UsageError) as refused:
        map_jobs(plan_of(platform([pool()], teams, queueing=queueing)), [])
    assert str(refused.value) == message
