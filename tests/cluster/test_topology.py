"""Placement by topology on a real Kueue: gangs inside one block, and what a change of the flavor does."""

from collections.abc import Iterator
from typing import Any

import pytest

from builders import Raw, platform, pool, team
from gpuyard.plan.explain import Verdict
from gpuyard.plan.names import HOSTNAME_LABEL, ZONE_LABEL
from gpuyard.simulate import cluster
from gpuyard.simulate.api import Api
from queue_lab import QueueLab, job, kueue_as_rendered, soon
from reality import KUEUE

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


def zones(lab: QueueLab, name: str, pods: int) -> list[str]:
    """The block of each pod of a job, once all of them run."""
    soon(lambda: lab.running("t", name) == pods, f"{pods} running pods")
    names = [p["spec"]["nodeName"] for p in lab.pods("t", name)]
    nodes = {n["metadata"]["name"]: n["metadata"]["labels"] for n in lab.listed("/api/v1/nodes")}
    return sorted(nodes[n][ZONE_LABEL] for n in names)


def submitted(lab: QueueLab, name: str, foreseen: Verdict, **shape: Any) -> None:
    """Submit a job after what `explain` says of it, in view of the cluster as it is."""
    found = lab.explained(job(lab.namespace("t"), name, **shape))
    assert found.verdict is foreseen, found.says
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
        assert "allows to fit only 4 out of 5 pod(s)" in lab.says("t", "five")
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
        assert "does not contain the requested level" in lab.says("t", "rack")


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
        lab.becomes(blocks("brake", stop="hold"))
        lab.submit("t", "held")
        lab.expect("t", "held", "waits")
        lab.becomes(blocks("brake"))
        lab.expect("t", "held", "admitted")


def test_turning_it_off_makes_a_flavor_beside_the_old_one_and_what_runs_goes_on(kueue: Api):
    with QueueLab(kueue, blocks("turn")) as lab:
        old = lab.plan.pools[0].flavor
        lab.submit("t", "long", pods=6)
        soon(lambda: lab.running("t", "long") == 6, "six running pods")
        lab.becomes(blocks("turn", topology=False))
        new = lab.plan.pools[0].flavor
        assert new != old
        lab._delete(f"{KUEUE}/resourceflavors/{old}")
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
