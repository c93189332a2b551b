"""The comparison with a real cluster can fail: each kind of disagreement is found."""

import dataclasses

import pytest

from gpuyard_advisor.workloads import read_job
from kit.cases.explain import job, local, running, said, state_of
from kit.cluster import lab as reality
from kit.cluster.lab import Seen, disagreement

PLAN = local()
FITS = said(PLAN, job(gpus=8))
STUCK = said(PLAN, job(gpus=16))
TOO_MUCH = said(PLAN, job(pods=4, gpus=8))
WAITING = said(PLAN, job(gpus=8), state_of(running("vision", 8, 3)))
IN_PIECES = said(
    PLAN, job(gpus=8), state_of(*(running(None, 4, nodes=[f"n{n}"]) for n in range(4)))
)
FULL = state_of(running("vision", 8, 3))
BARE = said(local(admission={"enforce": "warn"}), job(gpus=8, kind="Pod"), FULL)
WAITING_POD = said(PLAN, job(gpus=8, kind="Pod"), FULL)
REPLICAS = said(PLAN, job(pods=8, gpus=4, kind="Deployment"))
EVICTS = said(
    PLAN, job(gpus=8), state_of(*(running("speech", 8, name=f"s{n}", since=n) for n in range(4)))
)
RUNS = Seen("runs", ("train",), 1)


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        (FITS, RUNS),
        (STUCK, Seen("stuck")),
        (TOO_MUCH, Seen("waits")),
        (TOO_MUCH, Seen("refused")),
        (WAITING, Seen("waits")),
        (IN_PIECES, Seen("stuck")),
        (BARE, Seen("refused")),
        (WAITING_POD, Seen("waits")),
        (REPLICAS, Seen("waits", running=6)),
        (REPLICAS, Seen("stuck", running=6)),
        (EVICTS, Seen("runs", ("train",), 1, ("speech/s3",))),
    ],
)
def test_what_agrees_agrees(answer, seen):
    assert disagreement(answer, seen, PLAN) == ""


@pytest.mark.parametrize(
    ("answer", "seen", "says"),
    [
        (FITS, Seen("waits", says="no quota"), "said starts (on 1 node of train, running already), seen waits (no quota)"),
        (FITS, Seen("stuck"), "seen stuck"),
        (FITS, Seen("refused"), "seen refused"),
        (FITS, Seen("runs", ("dev",), 1), "said (('train',), ()), seen (('dev',), ())"),
        (FITS, Seen("runs", ("train",), 1, ("speech/a",)), "seen (('train',), ('speech/a',))"),
        (EVICTS, RUNS, "said (('train',), ('speech/s3',))"),
        (STUCK, Seen("waits"), "said never"),
        (STUCK, RUNS, "said never"),
        (TOO_MUCH, Seen("stuck"), "said never"),
        (WAITING, Seen("stuck"), "said waits"),
        (IN_PIECES, Seen("waits"), "said waits"),
        (BARE, Seen("waits"), "said waits"),
        (REPLICAS, Seen("waits", running=5), "said 6 pods, seen 5"),
        (REPLICAS, Seen("runs", running=8), "said never"),
    ],
)  # fmt: skip
def test_what_does_not_is_told(answer, seen, says):
    assert says in disagreement(answer, seen, PLAN)


def test_a_job_that_may_block_itself_is_not_compared():
    caution = "its pods differ in size and share nodes: …"
    assert disagreement(dataclasses.replace(FITS, cautions=(caution,)), Seen("stuck"), PLAN) == ""


@pytest.mark.parametrize("number", range(8))
def test_a_number_gives_the_same_platform_and_the_same_jobs(number):
    raw = reality.small_platform(number, fair=True)
    assert raw == reality.small_platform(number, fair=True)
    plan = reality.plan_of(raw)
    assert 2 <= len(plan.pools) <= 4
    assert 2 <= len(plan.teams) <= 3
    jobs = list(reality.jobs_for(plan, number, 6))
    assert jobs == list(reality.jobs_for(plan, number, 6))
    assert all(read_job(value) for value in jobs)


def test_the_jobs_are_of_many_kinds():
    kinds, verdicts = set(), set()
    for number in range(20):
        plan = reality.plan_of(reality.small_platform(number, fair=True))
        for value in reality.jobs_for(plan, number, 6):
            kinds.add(value["kind"])
            answer = said(plan, value)
            verdicts.add((answer.verdict.value, answer.admitted))
    assert kinds == {"Job", "Pod", "Deployment"}
    assert verdicts == {("starts", True), ("never", True), ("never", False)}
