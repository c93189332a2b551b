"""What is stopped waits, and says for what; what can never start still never does."""

import pytest

from gpuyard_advisor.explain import Verdict
from gpuyard_core.names import STOP_TAINT
from kit.cases.explain import GPU, job, running, said, state_of
from kit.stacks import plan_of, platform, pool, team

STARTS, WAITS, NEVER = Verdict.STARTS, Verdict.WAITS, Verdict.NEVER


def stopped(queueing=None, pools=None, enforce="deny", **rest):
    one = team(guarantee={"train": 8}, borrow={"train": 8}, **rest)
    return plan_of(
        platform(pools, [one], cloud="simulated", queueing=queueing, admission={"enforce": enforce})
    )


@pytest.mark.parametrize(
    ("platforms", "teams", "brakes", "verb"),
    [
        ("hold", None, "queueing.stop_policy: hold", "is"),
        (None, "drain", "teams[0].stop_policy: drain", "is"),
        ("drain", "hold", "queueing.stop_policy: drain and teams[0].stop_policy: hold", "are"),
    ],
)
def test_a_job_in_a_stopped_queue_waits_for_the_brake(platforms, teams, brakes, verb):
    plan = stopped(
        {"stop_policy": platforms} if platforms else None,
        **({"stop_policy": teams} if teams else {}),
    )
    found = said(plan, job(gpus=8))
    assert (found.verdict, found.admitted, found.pods_started, found.nodes) == (WAITS, False, 0, 0)
    assert found.message == f"its queue is stopped: {brakes}"
    assert found.conditions == (f"when {brakes} {verb} removed",)
    assert found.meanwhile == "It stays in its queue, and none of its pods is created."


def test_what_can_never_start_is_told_so_whatever_is_stopped():
    found = said(stopped(stop_policy="hold"), job(gpus=9))
    assert found.verdict is NEVER


def test_a_stopped_queue_evicts_nobody():
    plan = plan_of(
        platform(
            None,
            [team(guarantee={"train": 32}, stop_policy="hold"), team("b", borrow={"train": 32})],
            cloud="simulated",
        )
    )
    found = said(plan, job(gpus=8), state_of(running("b", 8, 4)))
    assert (found.verdict, found.preempts) == (WAITS, ())


def test_pods_that_queue_one_by_one_wait_too():
    found = said(stopped(stop_policy="hold"), job(pods=2, gpus=8, kind="Deployment"))
    assert (found.verdict, found.pods_started) == (WAITS, 0)


def test_a_job_goes_past_a_stopped_pool_where_there_is_another():
    plan = plan_of(
        platform(
            [pool(stop_policy="hold"), pool("other")],
            [team(guarantee={"train": 8, "other": 8})],
            cloud="simulated",
        )
    )
    found = said(plan, job(gpus=8))
    assert (found.verdict, found.pools) == (STARTS, ("other",))
    assert found.reasons[0].reason == "it is stopped: no new job starts in it"
    pinned = said(plan, job(gpus=8, nodeSelector={"gpuyard.dev/pool": "train"}))
    assert pinned.verdict is WAITS
    assert [c.value for c in pinned.changes] == [{"gpuyard.dev/pool": "other"}]


def test_a_job_whose_only_pool_is_stopped_waits_for_the_brake():
    found = said(stopped(pools=[pool(stop_policy="hold")]), job(gpus=8))
    assert (found.verdict, found.admitted, found.pools) == (WAITS, False, ("train",))
    assert found.message == "pool train is stopped: no new job starts there"
    assert found.conditions == ("when pools[0].stop_policy: hold is removed",)


def test_a_stopped_pool_that_is_full_too_waits_for_both():
    busy = state_of(running("vision", 8, 2))
    found = said(stopped(pools=[pool(stop_policy="hold")]), job(gpus=8), busy)
    assert found.conditions == (
        "when pools[0].stop_policy: hold is removed",
        "when team vision's own jobs release 8 nvidia.com/gpu of train (they use 16)",
    )


def test_more_than_a_stopped_pool_could_ever_give_is_never():
    assert said(stopped(pools=[pool(stop_policy="hold")]), job(pods=3, gpus=8)).verdict is NEVER


def test_pods_that_tolerate_the_brake_of_a_pool_pass_it_where_no_policy_refuses_them():
    plan = stopped(pools=[pool(stop_policy="hold")], enforce="warn")
    named = job(gpus=8, tolerations=[{"key": STOP_TAINT, "operator": "Exists"}])
    assert said(plan, named).verdict is STARTS
    assert said(stopped(pools=[pool(stop_policy="hold")]), named).verdict is NEVER
    gpus = job(gpus=8, tolerations=[{"key": GPU, "operator": "Exists"}])
    assert said(plan, gpus).verdict is WAITS
