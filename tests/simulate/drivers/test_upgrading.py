"""The fake upgrade controller beside the rules of the real one, look by look."""

from typing import Any

import pytest

from gpuyard_core.names import PODSET_LABEL, SKIP_UPGRADE_LABEL, UPGRADE_LABEL
from gpuyard_simulate.drivers import upgrading
from gpuyard_simulate.drivers.upgrading import BROKEN, INITIAL, POD, Policy, read_policy
from kit.drivers import NEW, OLD, OURS, look
from kit.drivers import gpu_node as node
from kit.every import every


def gpu_pod(phase: str = "Running", owner: str = "Job", **more: Any) -> dict[str, Any]:
    owners = [{"kind": owner, "controller": True}] if owner else []
    limits = {more.get("resource", "nvidia.com/gpu"): 1}
    return {
        "metadata": {"labels": more.get("labels", {}), "ownerReferences": owners},
        "spec": {"containers": [{"resources": {"limits": limits}}], **more.get("spec", {})},
        "status": {"phase": phase},
    }


class World:
    """Nodes, and what one look after the other makes of them."""

    def __init__(self, policy: Policy = OURS, **nodes: dict[str, Any]) -> None:
        self.policy, self.nodes, self.version = policy, nodes, NEW
        self.pods: dict[str, list[dict[str, Any]]] = {}
        self.said: list[str] = []

    def look(self) -> dict[str, str | None]:
        found = look(self.nodes, self.policy, self.version, self.pods)
        self.said += [step.failure_message for step in found.values() if step.failure_message]
        return {name: step.state for name, step in found.items()}

    def settle(self) -> list[dict[str, str | None]]:
        seen = []
        while now := self.look():
            seen.append(now)
            assert len(seen) < 99
        return seen

    def state(self, name: str) -> str:
        return str(self.nodes[name]["metadata"]["labels"].get(UPGRADE_LABEL, ""))

    def pod(self, name: str) -> str:
        return str(self.nodes[name]["metadata"]["annotations"][POD])

    def closed(self, name: str) -> bool:
        return bool(self.nodes[name]["spec"].get("unschedulable"))


def many(count: int, **more: Any) -> dict[str, dict[str, Any]]:
    return {f"n{number}": node(**more) for number in range(count)}


def test_our_policy_is_read_as_it_is_written():
    assert Policy(auto=True, parallel=1, unavailable="25%", jobs=PODSET_LABEL) == OURS
    assert read_policy({}) == Policy()


def test_a_node_goes_through_every_state_and_is_opened():
    world = World(a=node())
    assert [step["a"] for step in world.settle()] == [
        "upgrade-required",
        "cordon-required",
        "wait-for-jobs-required",
        "pod-deletion-required",
        "drain-required",
        "pod-restart-required",
        "pod-restart-required",
        "validation-required",
        "uncordon-required",
        "upgrade-done",
    ]
    assert (world.pod("a"), world.closed("a")) == (NEW, False)


def test_nothing_is_exchanged_where_upgrades_are_off():
    world = World(Policy(), a=node(), b=node(state=""))
    assert world.settle() == [{"a": None}]
    assert world.pod("a") == OLD


def test_a_new_node_is_done_at_once_and_one_without_a_driver_pod_is_not_looked_at():
    bare = node(state="")
    del bare["metadata"]["annotations"][POD]
    assert World(a=node(state="", pod=NEW), b=bare).settle() == [{"a": "upgrade-done"}]


@every(
    "policy, busy, begun",
    [
        (Policy(auto=True), {}, 1),
        (Policy(auto=True, parallel=3, unavailable=8), {}, 3),
        (Policy(auto=True, parallel=0), {}, 2),
        (Policy(auto=True, parallel=0, unavailable="100%"), {}, 8),
        (Policy(auto=True, parallel=3), {}, 2),
        (Policy(auto=True, parallel=4, unavailable=8), {"state": "upgrade-failed"}, 3),
        (Policy(auto=True, parallel=1, unavailable=8), {"state": "upgrade-failed"}, 0),
        (Policy(auto=True, parallel=4, unavailable=2), {"state": "cordon-required"}, 1),
        (Policy(auto=True, parallel=4), {"closed": True, "pod": NEW}, 1),
        (Policy(auto=True, parallel=4), {"ready": "False", "pod": NEW}, 1),
        (Policy(auto=True, unavailable=1), {"ready": "Unknown", "pod": NEW}, 0),
    ],
)
def test_so_many_begin_at_once(policy: Policy, busy: dict[str, Any], begun: int):
    """Failed counts as in progress, and whoever is closed or not ready as away."""
    waiting = {f"n{number}": node(state="upgrade-required") for number in range(7 if busy else 8)}
    world = World(policy, **waiting, **({"x": node(**busy)} if busy else {}))
    assert [*world.look().values()].count("cordon-required") == begun


def test_a_node_that_is_skipped_waits_until_it_is_not():
    world = World(a=node(labels={SKIP_UPGRADE_LABEL: "true"}), b=node())
    world.settle()
    assert (world.state("a"), world.pod("a")) == ("upgrade-required", OLD)
    assert (world.state("b"), world.pod("b")) == ("upgrade-done", NEW)
    del world.nodes["a"]["metadata"]["labels"][SKIP_UPGRADE_LABEL]
    world.settle()
    assert (world.state("a"), world.pod("a")) == ("upgrade-done", NEW)


def test_who_waited_is_closed_though_its_driver_is_the_wanted_one_again():
    """The controller compares the driver of nodes at rest alone: going back takes more."""
    world = World(a=node(labels={SKIP_UPGRADE_LABEL: "true"}))
    world.settle()
    world.version = OLD
    del world.nodes["a"]["metadata"]["labels"][SKIP_UPGRADE_LABEL]
    assert {"a": "cordon-required"} in world.settle()


def test_a_closed_node_goes_on_without_a_slot_and_stays_closed():
    world = World(a=node(state="upgrade-failed", notes={BROKEN: f"{OLD}: x"}), b=node(closed=True))
    world.settle()
    assert (world.state("b"), world.pod("b"), world.closed("b")) == ("upgrade-done", NEW, True)
    assert INITIAL not in world.nodes["b"]["metadata"]["annotations"]


def test_a_driver_that_does_not_come_up_stops_all_others():
    world = World(**many(3))
    world.nodes["n0"]["metadata"]["annotations"][BROKEN] = f"{NEW}: no symbol version"
    world.settle()
    assert (world.state("n0"), world.closed("n0")) == ("upgrade-failed", True)
    assert [world.pod(name) for name in world.nodes] == [NEW, OLD, OLD]
    assert world.said == [f"driver {NEW}: no symbol version"]
    world.version = OLD
    world.settle()
    assert world.state("n0") == "upgrade-failed", "nobody begins it again"
    world.nodes["n0"]["metadata"]["labels"][UPGRADE_LABEL] = "upgrade-required"
    world.settle()
    assert [world.pod(name) for name in world.nodes] == [OLD, OLD, OLD]
    assert not any(world.closed(name) for name in world.nodes)


def test_a_failed_node_whose_driver_comes_up_after_all_is_opened():
    world = World(a=node(state="upgrade-failed", pod=NEW, closed=True))
    world.settle()
    assert (world.state("a"), world.closed("a")) == ("upgrade-done", False)


def test_jobs_of_queues_are_waited_for_and_pending_ones_are_not():
    mine = {PODSET_LABEL: "main"}
    world = World(a=node())
    world.pods["a"] = [gpu_pod(labels=mine)]
    world.settle()
    assert (world.state("a"), world.closed("a")) == ("wait-for-jobs-required", True)
    world.pods["a"] = [gpu_pod("Pending", labels=mine)]
    world.settle()
    assert (world.state("a"), world.pods["a"]) == ("upgrade-done", [])


@every(
    "pod, policy, goes",
    [
        (gpu_pod(), {}, True),
        (gpu_pod(owner=""), {}, False),
        (gpu_pod(owner=""), {"force": True}, True),
        (gpu_pod(spec={"volumes": [{"emptyDir": {}}]}), {}, False),
        (gpu_pod(spec={"volumes": [{"emptyDir": {}}]}), {"delete_empty_dir": True}, True),
        (gpu_pod(spec={"volumes": [{"hostPath": {}}]}), {}, True),
        (gpu_pod(owner=""), {"drain": True}, False),
        (gpu_pod(owner=""), {"drain": True, "drain_force": True}, True),
        (gpu_pod(resource="cpu"), {"drain": True}, True),
    ],
)
def test_which_pods_are_put_out(pod: dict[str, Any], policy: dict[str, Any], goes: bool):
    """What nobody makes anew, or has data on the node, makes the node fail."""
    world = World(Policy(auto=True, **policy), a=node())
    world.pods["a"] = [pod]
    world.settle()
    assert world.state("a") == ("upgrade-done" if goes else "upgrade-failed")
    assert (world.pods["a"] == []) is goes
    assert bool(world.said) is not goes


@pytest.mark.parametrize("pod", [gpu_pod(owner="DaemonSet"), gpu_pod(resource="cpu", owner="")])
def test_agents_and_pods_without_gpus_stay(pod: dict[str, Any]):
    world = World(a=node())
    world.pods["a"] = [pod]
    world.settle()
    assert (world.state("a"), world.pods["a"]) == ("upgrade-done", [pod])


def test_a_state_that_nobody_knows_is_left():
    assert World(a=node(state="node-maintenance-required")).settle() == []


def test_a_driver_is_broken_in_its_own_version_alone():
    broken = {BROKEN: f"{NEW}: lost"}
    assert upgrading.failure_reason(node(pod=NEW, notes=broken)) == "lost"
    assert upgrading.failure_reason(node(pod=OLD, notes=broken)) == ""
    assert upgrading.failure_reason({"metadata": {}}) == ""
