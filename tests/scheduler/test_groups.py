"""Leaders beside their workers, slices that do not come out even, and pools tried one after another."""

import pytest

from gpuyard_advisor.explain import Verdict, explain
from gpuyard_advisor.explain.running import read_running
from gpuyard_advisor.scheduler.model import EMPTY
from gpuyard_advisor.scheduler.topology import GROUP, PREFERRED, REQUIRED, SLICE_LEVEL, SLICE_SIZE
from gpuyard_advisor.workloads import read_job
from gpuyard_core.names import HOSTNAME_LABEL, ZONE_LABEL
from kit.cases.explain import GPU, SLICE, pod_spec
from kit.stacks import plan_of, platform, pool, team

NEVER, STARTS, WAITS = Verdict.NEVER, Verdict.STARTS, Verdict.WAITS
TOGETHER = {REQUIRED: ZONE_LABEL, GROUP: "g"}


def template(gpus, notes, **rest):
    return {"metadata": {"annotations": notes}, "spec": pod_spec(gpus, **rest)}


def job_set(*parts):
    """A JobSet of (pods, GPUs, annotations), one replicated job each."""
    jobs = [
        {"name": f"j{i}", "template": {"spec": {"parallelism": n, "template": template(g, notes)}}}
        for i, (n, g, notes) in enumerate(parts)
    ]
    metadata = {"name": "set", "namespace": "vision"}
    return {"kind": "JobSet", "metadata": metadata, "spec": {"replicatedJobs": jobs}}


def leader_worker_set(groups, size, gpus=8, notes=TOGETHER, leader=8):
    both = {"size": size, "workerTemplate": template(gpus, notes)}
    if leader is not None:
        both["leaderTemplate"] = template(leader, notes)
    spec = {"replicas": groups, "leaderWorkerTemplate": both}
    metadata = {"name": "lws", "namespace": "vision"}
    return {"kind": "LeaderWorkerSet", "metadata": metadata, "spec": spec}


def zoned(nodes=7, **rest):
    """Seven nodes of eight GPUs: four in zone a, three in b."""
    pools = rest.pop("pools", [pool(nodes=nodes, zones=["a", "b"], topology=True)])
    most = {p["name"]: 8 * p["nodes"] for p in pools}
    return plan_of(platform(pools, [team("vision", guarantee=most)], cloud="simulated", **rest))


def asked(plan, value, *running):
    state, problems = read_running(plan, list(running))
    assert not problems
    return explain(plan, read_job(value), state if running else EMPTY)


def on(*nodes, gpus=8, **rest):
    row = {"team": "vision", "pool": "train", "pods": len(nodes), "gpus": gpus}
    return {**row, "nodes": [f"train-00{n}" for n in nodes], **rest}


# ── groups of pod sets ────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("workers", "leader", "verdict"),
    [(3, 8, STARTS), (4, 8, NEVER), (4, None, STARTS), (7, 4, NEVER), (2, 8, STARTS)],
)
def test_a_leader_needs_room_in_the_domain_of_its_workers(workers, leader, verdict):
    found = asked(zoned(), job_set((1, leader, TOGETHER), (workers, 8, TOGETHER)))
    assert found.verdict is verdict, found.says


def test_without_the_group_each_finds_a_zone_of_its_own():
    notes = {REQUIRED: ZONE_LABEL}
    assert asked(zoned(), job_set((1, 8, notes), (4, 8, notes))).verdict is STARTS


def test_what_a_zone_lacks_is_said_of_both():
    found = asked(zoned(), job_set((1, 8, TOGETHER), (4, 8, TOGETHER)))
    assert found.message == (
        f"it requires all pods within one {ZONE_LABEL}, and the best of train fits 3 of 4 pods with"
        f" 8 {GPU} next to their leader with 8 {GPU}"
    )
    assert [c.message for c in found.changes] == [
        "run 3 pods instead of 4, at spec.replicatedJobs[1].template.spec.template.spec: pods"
    ]


def test_the_leader_may_come_last():
    found = asked(zoned(), job_set((3, 8, TOGETHER), (1, 8, TOGETHER)))
    assert (found.verdict, found.nodes) == (STARTS, 4)


def test_a_leader_shares_a_node_where_there_is_room():
    found = asked(zoned(), job_set((1, None, TOGETHER), (4, 8, TOGETHER)))
    assert (found.verdict, found.nodes) == (STARTS, 4)
    small = asked(zoned(), job_set((1, 2, TOGETHER), (3, 6, TOGETHER)))
    assert (small.verdict, small.nodes) == (STARTS, 3)


def test_a_place_for_both_is_waited_for():
    found = asked(zoned(), job_set((1, 8, TOGETHER), (3, 8, TOGETHER)), on(0, name="old"))
    assert (found.verdict, found.admitted) == (WAITS, False)
    (condition,) = found.conditions
    assert condition.startswith(
        f"when one {ZONE_LABEL} of train has capacity for 3 pods with 8 {GPU}"
    )
    assert condition.endswith(
        f" next to their leader with 8 {GPU}, for example when old of team vision ends"
    )


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ([(2, 8, TOGETHER), (3, 8, TOGETHER)], "group g has 2 and 3 pods"),
        ([(1, 8, TOGETHER)] * 3, "group g has 3 pod sets instead of 2"),
        ([(1, 8, TOGETHER), (3, 8, {})], "group g has 1 pod sets instead of 2"),
        (
            [(1, 8, TOGETHER), (3, 8, {PREFERRED: ZONE_LABEL, GROUP: "g"})],
            "request different topologies",
        ),
    ],
)
def test_groups_that_kueue_does_not_take(parts, why):
    found = asked(zoned(), job_set(*parts))
    assert (found.verdict, found.admitted) == (NEVER, False)
    assert why in found.message


def test_a_group_of_one_job_is_no_group():
    value = {"kind": "Job", "metadata": {"name": "j", "namespace": "vision"}}
    value["spec"] = {"parallelism": 4, "template": template(8, TOGETHER)}
    assert asked(zoned(), value).verdict is STARTS


def test_both_go_to_one_pool():
    """Quota of the first pool is enough for the leader, not for all."""
    pools = [
        pool("small", nodes=1, zones=["a"], topology=True),
        pool("train", nodes=4, zones=["a"], topology=True),
    ]
    found = asked(zoned(pools=pools), job_set((1, 8, TOGETHER), (3, 8, TOGETHER)))
    assert (found.verdict, found.pools) == (STARTS, ("train",))
    apart = asked(zoned(pools=pools), job_set((1, 8, {}), (3, 8, {})))
    assert apart.pools == ("small", "train")


# ── groups that queue one by one ──────────────────────────────────────────────────────────────────
def test_each_group_of_a_leader_worker_set_starts_whole():
    found = asked(zoned(), leader_worker_set(2, 3))
    assert (found.verdict, found.pods_started, found.nodes) == (STARTS, 6, 6)
    assert "each group of a LeaderWorkerSet separately" in found.cautions[0]
    third = asked(zoned(), leader_worker_set(3, 3))
    assert (third.verdict, third.pods_started) == (NEVER, 6)
    assert third.message.startswith("6 of 9 pods start; for the next, ")


def test_one_group_is_not_told_that_some_may_run():
    assert asked(zoned(), leader_worker_set(1, 2)).cautions == ()


def test_a_group_without_a_template_for_its_leader_is_of_one_kind():
    notes = {REQUIRED: ZONE_LABEL}
    found = asked(zoned(), leader_worker_set(2, 3, notes=notes, leader=None))
    assert (found.verdict, found.pods_started) == (STARTS, 6)
    assert asked(zoned(), leader_worker_set(1, 5, notes=notes, leader=None)).verdict is NEVER


def test_no_groups_are_no_pods():
    assert asked(zoned(), leader_worker_set(0, 3)).pods == 0


def test_slices_of_a_leader_worker_set_are_counted_by_the_group():
    notes = {SLICE_LEVEL: ZONE_LABEL, SLICE_SIZE: "4"}
    found = asked(zoned(), leader_worker_set(2, 3, notes=notes, leader=None))
    assert "'4' is not a number from 1 to 3" in found.message


# ── what is left over, and what asks for nothing ──────────────────────────────────────────────────
def sliced(pods, size, gpus=2):
    value = {"kind": "Job", "metadata": {"name": "j", "namespace": "vision"}}
    notes = {SLICE_LEVEL: HOSTNAME_LABEL, SLICE_SIZE: str(size)}
    value["spec"] = {"parallelism": pods, "template": template(gpus, notes)}
    return value


def test_pods_beyond_the_last_whole_slice_never_get_a_node():
    found = asked(zoned(), sliced(5, 2))
    assert (found.verdict, found.admitted) == (NEVER, True)
    assert found.message == (
        "5 pods do not divide into slices of 2: in train Kueue admits all and finds nodes for 4,"
        " and 1 pod stays pending"
    )
    assert [c.message for c in found.changes] == ["run 4 pods instead of 5"]
    assert "2 pods stay pending" in asked(zoned(), sliced(5, 3)).message
    assert asked(zoned(), sliced(4, 2)).verdict is STARTS


def test_pods_that_ask_for_nothing_are_admitted_by_no_queue_that_places_them():
    alone = asked(zoned(), sliced(2, 1, gpus=None))
    assert (alone.verdict, alone.admitted) == (NEVER, False)
    assert "2 pods (spec.template.spec) request no GPU" in alone.message
    beside = asked(zoned(), job_set((1, None, {}), (2, 8, {})))
    assert beside.verdict is NEVER
    assert "1 pod (spec.replicatedJobs[0]" in beside.message
    assert GROUP in beside.message


def test_beside_a_pool_without_topology_they_may():
    pools = [
        pool(nodes=2, zones=["a"], topology=True),
        pool("dev", nodes=2, zones=["a"]),
    ]
    value = job_set((1, None, {}), (2, 8, {}))
    found = asked(zoned(pools=pools), value)
    assert found.pools == ("dev",)
    assert found.message.endswith("with a taint that such pods do not tolerate"), (
        "not for want of a flavor"
    )


# ── the next pool ─────────────────────────────────────────────────────────────────────────────────
TWO = [
    pool("train", nodes=4, zones=["a", "b"], topology=True),
    pool("spare", nodes=4, zones=["a"], topology=True),
]


def near(pods, **rest):
    value = {"kind": "Job", "metadata": {"name": "j", "namespace": "vision"}}
    notes = {REQUIRED: ZONE_LABEL}
    value["spec"] = {"parallelism": pods, "template": template(8, notes, **rest)}
    return value


def test_where_no_place_is_the_next_pool_is_tried():
    found = asked(zoned(pools=TWO), near(3))
    assert (found.verdict, found.pools) == (STARTS, ("spare",))
    first, second = found.reasons
    assert (first.pool, first.is_chosen) == ("train", False)
    assert "the best of train fits 2 of 3 pods" in first.reason
    assert (second.pool, second.is_chosen) == ("spare", True)


def test_a_first_pool_whose_quota_others_have_is_waited_for():
    pools = [pool("train", nodes=4, zones=["a"], topology=True), {**TWO[0], "name": "spare"}]
    found = asked(zoned(pools=pools), near(3), on(0, 1, name="old"))
    assert (found.verdict, found.admitted) == (WAITS, False)
    assert found.conditions == ("when train has enough unused quota for it",)
    assert "the best of spare fits 2 of 3 pods" in found.message


def test_waiting_for_a_place_is_better_than_never_finding_one():
    pools = [pool("train", nodes=4, zones=["a"], topology=True), {**TWO[0], "name": "spare"}]
    found = asked(zoned(pools=pools), near(3), on(0, 1, gpus=2, name="old"))
    assert (found.verdict, found.pools) == (WAITS, ("train",))
    assert [r.pool for r in found.reasons] == ["spare", "train"]


def test_the_search_ends_where_no_pool_is_left():
    found = asked(zoned(pools=TWO), near(5))
    assert found.verdict is NEVER
    assert {r.pool for r in found.reasons} == {"train", "spare"}


def test_two_pod_sets_that_take_turns_end_as_well():
    """The second never finds a flavor: the first is tried in both pools, and not for ever."""
    value = job_set((1, 8, {}), (9, 8, {}))
    assert asked(zoned(pools=TWO), value).verdict is NEVER


def test_a_resource_that_nobody_has_is_named_at_once():
    found = asked(zoned(pools=TWO), near(1, resource=SLICE))
    assert "no pool advertises" in found.message
