"""Placement by topology on a real Kueue: gangs inside one block, and what a change of the flavor does."""

from collections.abc import Iterator
from typing import Any

import pytest

from gpuyard_advisor.explain import Verdict
from gpuyard_advisor.scheduler.topology import GROUP, SLICE_LEVEL, SLICE_SIZE
from gpuyard_core.names import HOSTNAME_LABEL, ZONE_LABEL
from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api
from kit.cluster import lab as reality
from kit.cluster.lab import KUEUE, Value, condition
from kit.cluster.queues import QueueLab, job, kueue_as_rendered, soon, state_of
from kit.stacks import Raw, platform, pool, team

pytestmark = [pytest.mark.cluster]

REQUIRED = "kueue.x-k8s.io/podset-required-topology"
PREFERRED = "kueue.x-k8s.io/podset-preferred-topology"


def blocks(name: str, **changes: Any) -> Raw:
    """Seven nodes of eight GPUs: four in block a, three in block b; one team has them all."""
    one = pool(name, nodes=7, zones=["a", "b"], **{"topology": True} | changes)
    return platform([one], [team(f"{name}-t", guarantee={name: 56})], name=name, cloud="simulated")


@pytest.fixture(scope="module")
def kueue(started: cluster.Outcome) -> Iterator[Api]:
    """The cluster with Kueue set up as these platforms set it up."""
    with kueue_as_rendered(started.status.name, blocks("any")) as api:
        yield api


def zones(lab: QueueLab, name: str, pods: int, whose: str = "t") -> list[str]:
    """The block of each pod of a job, once all of them run."""
    soon(lambda: lab.running(whose, name) == pods, f"{pods} running pods")
    running = (p for p in lab.pods(whose, name) if p["status"].get("phase") == "Running")
    names = [p["spec"]["nodeName"] for p in running]
    nodes = {n["metadata"]["name"]: n["metadata"]["labels"] for n in lab.listed("/api/v1/nodes")}
    return sorted(nodes[n][ZONE_LABEL] for n in names)


def submitted(lab: QueueLab, name: str, foreseen: Verdict, **shape: Any) -> None:
    """Submit a job after what `explain` says of it, in view of the cluster as it is."""
    found = lab.explained(job(lab.namespace("t"), name, **shape))
    assert found.verdict is foreseen, found.message
    lab.submit("t", name, **shape)


def within(level: str, name: str = REQUIRED) -> dict[str, Any]:
    return {"annotations": {name: level}}


def test_a_gang_is_placed_inside_one_block_though_another_is_freer(kueue: Api):
    with QueueLab(kueue, blocks("near")) as lab:
        submitted(lab, "three", Verdict.STARTS, pods=3, **within(ZONE_LABEL))
        assert zones(lab, "three", 3) == ["b", "b", "b"], "the smallest block that holds it"
        submitted(lab, "two", Verdict.STARTS, pods=2, **within(ZONE_LABEL))
        assert zones(lab, "two", 2) == ["a", "a"]


def test_a_gang_that_no_block_holds_waits_and_one_that_prefers_a_block_is_spread(kueue: Api):
    with QueueLab(kueue, blocks("wide")) as lab:
        submitted(lab, "five", Verdict.NEVER, pods=5, **within(ZONE_LABEL))
        lab.expect("t", "five", "waits")
        wanted = "allows to fit only 4 out of 5 pod(s)"
        soon(lambda: wanted in lab.says("t", "five"), f"Kueue to say: {wanted}")
        assert lab.pods("t", "five") == []
        submitted(lab, "spread", Verdict.STARTS, pods=5, **within(ZONE_LABEL, PREFERRED))
        assert set(zones(lab, "spread", 5)) == {"a", "b"}


def test_a_block_that_is_taken_now_is_waited_for(kueue: Api):
    with QueueLab(kueue, blocks("full")) as lab:
        lab.submit("t", "first", **within(HOSTNAME_LABEL))
        assert zones(lab, "first", 1) == ["a"]
        submitted(lab, "more", Verdict.WAITS, pods=4, **within(ZONE_LABEL))
        lab.expect("t", "more", "waits")
        lab.withdraw("t", "first")
        assert zones(lab, "more", 4) == ["a"] * 4


def test_a_level_that_the_topology_lacks_is_never_met(kueue: Api):
    with QueueLab(kueue, blocks("lacks")) as lab:
        submitted(lab, "rack", Verdict.NEVER, pods=2, **within("example.com/rack"))
        lab.expect("t", "rack", "waits")
        wanted = "does not contain the requested level"
        soon(lambda: wanted in lab.says("t", "rack"), f"Kueue to say: {wanted}")


def test_jobs_that_say_nothing_are_tied_to_nodes_that_hold_them(kueue: Api):
    """Three free GPUs on each of seven nodes: quota for six is there, and no node has six."""
    with QueueLab(kueue, blocks("plain")) as lab:
        submitted(lab, "halves", Verdict.STARTS, pods=7, gpus=5)
        soon(lambda: lab.running("t", "halves") == 7, "seven running pods")
        submitted(lab, "six", Verdict.WAITS, gpus=6)
        lab.expect("t", "six", "waits")
        assert lab.pods("t", "six") == [], "21 GPUs are free, three on each node"
        submitted(lab, "three", Verdict.STARTS, gpus=3)
        assert len(zones(lab, "three", 1)) == 1


def test_a_brake_holds_a_pool_with_a_topology(kueue: Api):
    with QueueLab(kueue, blocks("brake")) as lab:
        lab.becomes(blocks("brake", stop_policy="hold"))
        lab.submit("t", "held")
        lab.expect("t", "held", "waits")
        lab.becomes(blocks("brake"))
        lab.expect("t", "held", "admitted")


def test_pods_beyond_the_last_whole_slice_stay_pending(kueue: Api):
    """Kueue admits five pods and finds nodes for two slices of two."""
    slices = {SLICE_LEVEL: HOSTNAME_LABEL, SLICE_SIZE: "2"}
    with QueueLab(kueue, blocks("slices")) as lab:
        submitted(lab, "five", Verdict.NEVER, pods=5, gpus=2, annotations=slices)
        soon(
            lambda: lab.running("t", "five") == 4 and len(lab.pods("t", "five")) == 5,
            "four running pods, and one more",
        )
        (last,) = [p for p in lab.pods("t", "five") if not p["spec"].get("nodeName")]
        assert [gate["name"] for gate in last["spec"]["schedulingGates"]] == [
            "kueue.x-k8s.io/topology"
        ]
        lab.withdraw("t", "five")
        submitted(lab, "four", Verdict.STARTS, pods=4, gpus=2, annotations=slices)
        soon(lambda: lab.running("t", "four") == 4, "four running pods")


def ranked(name: str, teams: list[Raw]) -> Raw:
    """Four nodes of eight GPUs in block a, three in block b; jobs have priorities."""
    one = pool(name, nodes=7, zones=["a", "b"], topology=True)
    return platform(
        [one], teams, name=name, cloud="simulated", priorities={"low": -100, "high": 100}
    )


def test_a_job_in_the_way_is_evicted_for_want_of_a_place_by_a_higher_priority_only(kueue: Api):
    """48 GPUs are free; no block has four whole nodes."""
    wide = {"pods": 4, **within(ZONE_LABEL)}
    with QueueLab(kueue, ranked("rank", [team("rank-t", guarantee={"rank": 56})])) as lab:
        lab.submit("t", "first", priority="low", **within(HOSTNAME_LABEL))
        assert zones(lab, "first", 1) == ["a"]
        submitted(lab, "even", Verdict.WAITS, priority="low", **wide)
        lab.expect("t", "even", "waits")
        lab.withdraw("t", "even")
        made = job(lab.namespace("t"), "high", priority="high", **wide)
        found = lab.explained(made)
        assert [p.name for p in found.preempts] == ["first"]
        submitted(lab, "high", Verdict.STARTS, priority="high", **wide)
        assert zones(lab, "high", 4) == ["a"] * 4
        soon(lambda: zones(lab, "first", 1) == ["b"], "the evicted job in the other block")


def test_a_borrower_in_the_way_is_evicted_for_want_of_a_place(kueue: Api):
    teams = [team("lent-t", guarantee={"lent": 56}), team("lent-u", borrow={"lent": 56})]
    with QueueLab(kueue, ranked("lent", teams)) as lab:
        lab.submit("u", "loan", **within(HOSTNAME_LABEL))
        assert zones(lab, "loan", 1, "u") == ["a"]
        wide = {"pods": 4, **within(ZONE_LABEL)}
        found = lab.explained(job(lab.namespace("t"), "four", **wide))
        assert [(p.name, p.team) for p in found.preempts] == [("loan", "lent-u")]
        submitted(lab, "four", Verdict.STARTS, **wide)
        assert zones(lab, "four", 4) == ["a"] * 4
        soon(lambda: zones(lab, "loan", 1, "u") == ["b"], "the evicted job in the other block")


def test_a_pool_without_a_place_is_followed_by_the_next(kueue: Api):
    """Two nodes in each zone of the first pool; the second has four in one."""
    pools = [
        pool("next-a", nodes=4, zones=["a", "b"], topology=True),
        pool("next-b", nodes=4, zones=["a"], topology=True),
    ]
    teams = [team("next-t", guarantee={"next-a": 32, "next-b": 32})]
    with QueueLab(kueue, platform(pools, teams, name="next", cloud="simulated")) as lab:
        submitted(lab, "three", Verdict.STARTS, pods=3, **within(ZONE_LABEL))
        assert zones(lab, "three", 3) == ["a"] * 3
        nodes = {p["spec"]["nodeName"] for p in lab.pods("t", "three")}
        assert all(node.startswith("next-b") for node in nodes)
        submitted(lab, "more", Verdict.WAITS, pods=3, **within(ZONE_LABEL))
        lab.expect("t", "more", "waits")
        lab.withdraw("t", "three")
        assert zones(lab, "more", 3) == ["a"] * 3


Part = tuple[str, int, int]
"""A pod set: its name, how many pods, and how many GPUs each of them has."""


def job_set(namespace: str, parts: list[Part], notes: dict[str, str]) -> Value:
    """A JobSet of one replicated job for each part."""
    jobs = []
    for name, pods, gpus in parts:
        spec = job(namespace, name, pods=pods, gpus=gpus, annotations=notes)["spec"]
        if not gpus:
            container = spec["template"]["spec"]["containers"][0]
            container["resources"] = {"requests": {"cpu": "1"}}
        jobs.append({"name": name, "template": {"spec": spec}})
    metadata = {"name": "set", "namespace": namespace}
    return {"kind": "JobSet", "metadata": metadata, "spec": {"replicatedJobs": jobs}}


def workload_of(found: Value) -> Value:
    """What Kueue's controller makes of a JobSet: one pod set for each replicated job."""
    sets = []
    for one in found["spec"]["replicatedJobs"]:
        spec = one["template"]["spec"]
        notes = spec["template"]["metadata"]["annotations"]
        sets.append(
            {"name": one["name"], "count": spec["parallelism"], "template": spec["template"]}
        )
        if REQUIRED in notes:
            sets[-1]["topologyRequest"] = {
                "required": notes[REQUIRED],
                "podSetGroupName": notes[GROUP],
            }
    metadata = {k: found["metadata"][k] for k in ("name", "namespace")}
    spec = {"queueName": "default", "podSets": sets}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": metadata,
        "spec": spec,
    }


SETS: list[tuple[list[Part], bool, Verdict, str]] = [
    ([("leader", 1, 8), ("workers", 3, 8)], True, Verdict.STARTS, ""),
    ([("workers", 3, 8), ("leader", 1, 8)], True, Verdict.STARTS, ""),
    ([("leader", 1, 8), ("workers", 4, 8)], True, Verdict.NEVER, "allows to fit only"),
    ([("leader", 1, 0), ("workers", 4, 8)], True, Verdict.STARTS, ""),
    ([("leader", 1, 4), ("workers", 4, 6)], True, Verdict.NEVER, "allows to fit only"),
    ([("driver", 1, 0), ("workers", 2, 8)], False, Verdict.NEVER, "no TAS flavor assigned"),
]


def test_a_leader_and_its_workers_share_a_block(kueue: Api):
    """Of a JobSet Kueue makes one workload; here it is made by hand, for want of JobSet's own controller."""
    with QueueLab(kueue, blocks("pair")) as lab:
        for parts, grouped, foreseen, why in SETS:
            notes = {REQUIRED: ZONE_LABEL, GROUP: "both"} if grouped else {}
            found = job_set(lab.namespace("t"), parts, notes)
            said = lab.explained(found)
            assert (said.verdict, said.admitted) == (foreseen, foreseen is Verdict.STARTS), (
                said.message
            )
            state, message = outcome(lab, workload_of(found))
            wanted = "admitted" if foreseen is Verdict.STARTS else "waits"
            assert (state, why in message) == (wanted, True), (parts, message)


def outcome(lab: QueueLab, workload: Value) -> tuple[str, str]:
    """What Kueue does with a workload, and says; afterwards it is gone."""
    path = f"{KUEUE}/namespaces/{lab.namespace('t')}/workloads"
    reality.create(lab.api, path, workload)
    try:
        state = soon(lambda: state_of(lab.api.get(f"{path}/set") or {}), "a verdict")
        reserved = condition(lab.api.get(f"{path}/set") or {}, "QuotaReserved")
        return state, str(reserved["message"])
    finally:
        lab.api.call("DELETE", f"{path}/set")
        soon(lambda: lab.api.get(f"{path}/set") is None, "the workload to be gone")


def test_turning_it_off_makes_a_flavor_beside_the_old_one_and_what_runs_goes_on(kueue: Api):
    with QueueLab(kueue, blocks("turn")) as lab:
        old = lab.plan.pools[0].flavor
        lab.submit("t", "long", pods=6)
        soon(lambda: lab.running("t", "long") == 6, "six running pods")
        lab.becomes(blocks("turn", topology=False))
        new = lab.plan.pools[0].flavor
        assert new != old
        reality.delete(lab.api, f"{KUEUE}/resourceflavors/{old}")
        soon(
            lambda: lab.api.get(f"{KUEUE}/resourceflavors/{old}") is None,
            "the old flavor to be gone: no queue has it any more",
        )
        assert lab.running("t", "long") == 6
        lab.submit("t", "crowd", pods=2)
        lab.expect("t", "crowd", "admitted")
        pods = soon(
            lambda: [p for p in lab.pods("t", "crowd") if p["spec"].get("nodeName")], "a pod"
        )
        assert len(pods) == 1, "the new flavor does not count what runs, and one node is free"
