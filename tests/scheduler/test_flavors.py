"""The queue's choice among its pools: the first with enough, and what else when none has."""

import pytest

from gpuyard_advisor.scheduler.flavors import AssignmentMode, assign, requests_with_quota
from gpuyard_advisor.scheduler.model import SchedulerModel
from kit.cases.explain import GPU, one_team, pods, running, state_of
from kit.stacks import cut_pool, plan_of, platform, pool, team

NEVER, BLOCKED, NOBODY, PREEMPT, RECLAIM, FIT = AssignmentMode
SLICE = "nvidia.com/mig-1g.5gb"


def two_pools(preemption="reclaim", fair=True, choice=None, **rest):
    """Pools a and b of 16 GPUs; team x has 8 of each and may borrow 8, y the rest."""
    x = team("x", **{"guarantee": {"a": 8, "b": 8}, "borrow": {"a": 8, "b": 8}, **rest})
    y = team("y", guarantee={"a": 8, "b": 8}, borrow={"a": 8, "b": 8})
    queueing = {"engine": "kueue", "preemption": preemption, "fair_sharing": fair}
    queueing |= {"pool_choice": choice} if choice else {}
    return plan_of(platform([pool("a", nodes=2), pool("b", nodes=2)], [x, y], queueing=queueing))


def choice(plan, *sets, busy=(), priority=0, who="x"):
    desk = SchedulerModel(plan, state_of(*busy))
    return assign(desk, plan.team(who), sets, priority)


def where(found):
    return [name for chosen in found.pools.values() for name in chosen]


def used(who, gpus, at, **rest):
    return running(who, gpus, pool=at, name=rest.pop("name", f"{who}-{at}"), **rest)


def test_the_first_pool_of_the_stack_file_is_taken():
    found = choice(two_pools(), pods(2, gpu=4))
    assert (found.mode, where(found), found.uses) == (FIT, ["a"], {("a", GPU): 8})
    assert [(r.pool, r.is_chosen) for r in found.reasons] == [("a", True)]


def test_the_guarantee_in_the_second_comes_before_borrowing_in_the_first():
    found = choice(two_pools(), pods(1, gpu=8), busy=[used("x", 8, "a")])
    assert (found.mode, where(found)) == (FIT, ["b"])
    assert [r.pool for r in found.reasons] == ["a", "b"]
    both = [used("x", 8, "a"), used("x", 8, "b")]
    assert where(choice(two_pools(), pods(1, gpu=8), busy=both)) == ["a"], "it borrows in the first"


def test_by_order_borrowing_in_the_first_comes_before_the_guarantee_in_the_second():
    plan = two_pools(choice="order")
    found = choice(plan, pods(1, gpu=8), busy=[used("x", 8, "a")])
    assert (found.mode, where(found)) == (FIT, ["a"])
    assert found.reasons[0].reason == "8 nvidia.com/gpu of 8 free, partly borrowed"


def test_a_free_pool_comes_before_taking_back():
    found = choice(two_pools(), pods(1, gpu=8), busy=[used("y", 16, "a")])
    assert (found.mode, where(found), found.targets) == (FIT, ["b"], [])
    assert [(r.pool, r.is_chosen) for r in found.reasons] == [("a", False), ("b", True)]
    assert (
        found.reasons[0].reason
        == "8 nvidia.com/gpu requested, 0 free now, maximum 16; other jobs are preempted"
    )


def test_where_all_are_taken_the_first_is_taken_back():
    busy = [used("y", 16, "a"), used("y", 16, "b")]
    found = choice(two_pools(), pods(1, gpu=8), busy=busy)
    assert (found.mode, where(found)) == (RECLAIM, ["a"])
    assert [job.name for job, _ in found.targets] == ["y-a"]


def test_taking_back_comes_before_evicting_ones_own():
    busy = [used("x", 16, "a", priority=-5), used("y", 16, "b")]
    found = choice(two_pools(), pods(1, gpu=8), busy=busy)
    assert (found.mode, where(found)) == (RECLAIM, ["b"])
    assert [job.name for job, _ in found.targets] == ["y-b"]


def test_evicting_ones_own_comes_before_waiting():
    busy = [used("x", 16, "a"), used("x", 16, "b", priority=-5)]
    found = choice(two_pools(), pods(1, gpu=8), busy=busy)
    assert (found.mode, where(found)) == (PREEMPT, ["b"])


def test_among_pools_without_anybody_to_evict_the_entitled_one_is_waited_for():
    plan = two_pools(fair=False)
    busy = [used("x", 8, "a"), used("y", 8, "a"), used("y", 8, "b"), used(None, 0, "b")]
    found = choice(plan, pods(1, gpu=16), busy=busy)
    assert found.mode is BLOCKED
    assert found.targets == []
    assert [r.reason.rpartition("; ")[2] for r in found.reasons] == [
        "it would borrow, which preempts no job"
    ] * 2


def test_with_never_nobody_is_evicted():
    plan = two_pools(preemption="never")
    found = choice(plan, pods(1, gpu=8), busy=[used("y", 16, "a"), used("y", 16, "b")])
    assert (found.mode, found.targets) == (BLOCKED, [])
    assert found.shortfall == ((("a", GPU), 8),)


def test_waiting_is_for_what_could_be_had_and_not_for_what_could_not():
    plan = two_pools(borrow={"b": 8})
    found = choice(plan, pods(1, gpu=16), busy=[used("y", 8, "b")])
    assert where(found) == ["b"]
    assert found.mode in {NOBODY, BLOCKED}
    assert [r.pool for r in found.reasons] == ["a", "b"]


def test_what_is_never_enough_names_the_nearest_pool():
    found = choice(two_pools(), pods(4, gpu=8))
    assert found.mode is NEVER
    assert found.uses == {("a", GPU): 32}
    assert len(found.reasons) == 2


def test_pod_sets_count_one_after_the_other():
    found = choice(two_pools(), pods(2, gpu=8, path="first"), pods(2, gpu=8, path="second"))
    assert (found.mode, where(found)) == (FIT, ["a", "b"])
    assert found.uses == {("a", GPU): 16, ("b", GPU): 16}
    assert choice(two_pools(), pods(2, gpu=8), pods(3, gpu=8)).mode is NEVER


def test_a_pod_set_without_pods_or_devices_needs_no_pool():
    found = choice(two_pools(), pods(0, gpu=8), pods(3, cpu=1000))
    assert (found.mode, where(found), found.uses) == (FIT, [], {})


def test_what_no_group_gives_out_ends_the_search():
    found = choice(two_pools(), pods(1, **{"nvidia.com/x": 1}))
    assert (found.mode, found.unknown) == (NEVER, "nvidia.com/x")


def test_a_selector_passes_over_a_pool():
    found = choice(two_pools(), pods(1, gpu=1, selector={"gpuyard.dev/pool": "b"}))
    assert where(found) == ["b"]
    assert found.reasons[0].reason == "the node selector or affinity of the job selects other nodes"


def test_resources_of_one_pool_are_taken_together_or_not_at_all():
    plan = one_team([cut_pool()], {"serve/1g.5gb": 16, "serve/3g.20gb": 1})
    both = {SLICE: 4, "nvidia.com/mig-3g.20gb": 1}
    found = choice(plan, pods(1, **both), who="vision")
    assert (found.mode, where(found)) == (FIT, ["serve"])
    assert found.uses == {("serve", r): n for r, n in both.items()}
    found = choice(plan, pods(2, **both), who="vision")
    assert found.mode is NEVER
    assert (
        "2 nvidia.com/mig-3g.20gb requested, the maximum of team vision is 1"
        in found.reasons[0].reason
    )


@pytest.mark.parametrize("fair", [True, False])
def test_the_desk_is_as_before_whoever_would_have_to_go(fair):
    plan = two_pools(fair=fair)
    desk = SchedulerModel(plan, state_of(used("y", 16, "a"), used("y", 16, "b")))
    before = {t: dict(u) for t, u in desk.quotas.used.items()}
    for gpus in (1, 8, 16):
        assign(desk, plan.team("x"), (pods(1, gpu=gpus),), 0)
    now = {t: {k: n for k, n in u.items() if n} for t, u in desk.quotas.used.items()}
    assert now == {t: {k: n for k, n in u.items() if n} for t, u in before.items()}


def test_host_resources_are_not_counted():
    requests = {"cpu": 1, "memory": 2, "hugepages-1Gi": 3, "ephemeral-storage": 4, GPU: 5, SLICE: 0}
    assert requests_with_quota(requests) == {GPU: 5}
