"""A node whose GPUs are cut anew: its jobs first, and back where it fails."""

import asyncio
import itertools
import json
import re
from types import SimpleNamespace

import pulumi
import pytest

from gpuyard.changes.planned_changes import repartition_digests
from gpuyard.resources.gpu_operator import mig_reconfiguration, waves
from gpuyard.resources.gpu_operator.mig_reconfiguration import MigReconfigureError, reconfigure_node
from gpuyard.resources.gpu_operator.waves import is_repartitioned, mig_reconfigure_hook
from kit.stacks import cut_pool, plan_of, platform

MIG, PLUGIN = "nvidia.com/mig.config", "nvidia.com/device-plugin.config"
STATE = f"{MIG}.state"
WANTED = {MIG: "serve.new", PLUGIN: "serve.shares"}


class World:
    """A cluster of one node, as kubectl shows it; it notes what is changed."""

    command = staticmethod(lambda *what: " ".join(("kubectl", *what)))

    def __init__(self, *, states=("pending", "success"), jobs=("one",), stays=False, **labels):
        self.labels = {MIG: "serve.old", PLUGIN: "serve.before", STATE: "success", **labels}
        self.states = {"serve.new": list(states)}
        self.pods = [self.pod(name) for name in jobs]
        self.stays, self.blind, self.logs, self.events = stays, False, None, []
        self.closed = False
        self.out, self.done = set(), []

    @staticmethod
    def pod(name, workload=True, resource="nvidia.com/mig-1g.5gb"):
        container = {"resources": {"limits": {resource: 1}}} if resource else {}
        marks = {"kueue.x-k8s.io/workload": f"job-{name}"} if workload else {}
        metadata = {"name": name, "namespace": "vision", "annotations": marks}
        return {"metadata": metadata, "spec": {"containers": [container]}}

    async def get(self, kind, *rest):
        if kind == "node":
            self._manage()
            spec = {"unschedulable": True} if self.closed else {}
            found = {"metadata": {"labels": dict(self.labels)}, "spec": spec}
            return None if self.blind else found
        if kind.startswith("workloads"):
            named = [{"metadata": {"name": n, "namespace": "vision"}} for n in sorted(self.out)]
            return {"items": named}
        if kind == "nodes":
            return None
        if kind == "events":
            return {"items": [{"message": each} for each in self.events]}
        if "app=nvidia-mig-manager" in rest:
            manager = {"metadata": {"name": "manager-x", "namespace": "gpu-operator"}}
            return {"items": [manager] if self.logs is not None else []}
        return None if self.pods is None else {"items": list(self.pods)}

    async def run(self, *what):
        assert what[:2] == ("logs", "manager-x")
        return self.logs

    async def run_mutating(self, verb, *what):
        if verb != "patch":
            self.done.append(verb)
            return ""
        kind, name, given = what[0], what[1], json.loads(what[-1])
        if kind == "node":
            self.done.append(given["metadata"]["labels"][MIG])
            self.labels |= given["metadata"]["labels"]
        elif given["spec"]["active"]:
            self.done.append(f"{name} in")
            self.out.discard(name)
        else:
            self.done.append(f"{name} out")
            self.out.add(name)
            if not self.stays:
                mine = "kueue.x-k8s.io/workload"
                self.pods = [p for p in self.pods if p["metadata"]["annotations"].get(mine) != name]
        return ""

    def _manage(self):
        """The MIG manager takes a step whenever somebody looks, until it is done."""
        if self.labels[STATE] not in {"success", "failed"}:
            left = self.states.get(self.labels[MIG], ["success"])
            self.labels[STATE] = left.pop(0) if len(left) > 1 else left[0]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """A clock that goes on by a second whenever somebody looks at it."""
    for name, seconds in {"PAUSE_SECONDS": 0, "DRAIN_SECONDS": 9, "RECONFIGURE_SECONDS": 9}.items():
        monkeypatch.setattr(mig_reconfiguration, name, seconds)
    monkeypatch.setattr(
        mig_reconfiguration, "time", SimpleNamespace(monotonic=itertools.count().__next__)
    )


def cut(world, wanted=WANTED):
    asyncio.run(reconfigure_node(world, "serve-000", wanted))
    return world


def refused(world):
    with pytest.raises(MigReconfigureError) as why:
        cut(world)
    return str(why.value)


def test_a_node_is_closed_emptied_cut_and_opened():
    world = cut(World(jobs=("one", "two")))
    out, back = ["job-one out", "job-two out"], ["job-one in", "job-two in"]
    assert world.done[0] == "cordon"
    assert sorted(world.done[1:3]) == out
    assert world.done[3:] == [*back, "serve.new", "uncordon"]
    assert {world.labels[MIG], world.labels[PLUGIN]} == set(WANTED.values())


def test_pods_without_a_controller_are_named_before_they_are_deleted(monkeypatch):
    warned = []
    monkeypatch.setattr(mig_reconfiguration.pulumi.log, "warn", warned.append)
    world = World(jobs=("bare", "job"))
    world.pods[1]["metadata"]["ownerReferences"] = [{"kind": "Job", "controller": True}]
    cut(world)
    assert warned == [
        "node serve-000: pod vision/bare have no controller: they are deleted and not requeued"
    ]


def test_pods_that_hold_no_gpu_stay():
    world = World(jobs=())
    world.pods = [world.pod("web", workload=False, resource="cpu"), world.pod("none", resource="")]
    assert cut(world).done == ["cordon", "serve.new", "uncordon"]


def test_what_a_killed_deployment_has_put_out_goes_back_first():
    world = World(jobs=())
    world.out.add("job-lost")
    assert cut(world).done[0] == "job-lost in"


def test_a_node_that_is_cut_already_is_waited_for_and_not_told_again():
    world = World(jobs=(), states=("rebooting", "success"), **{MIG: "serve.new", STATE: "pending"})
    assert cut(world).done == ["cordon", "uncordon"]


@pytest.mark.parametrize(
    ("logs", "events", "says"),
    [
        ("  error\n clearing: in use ", [], "error clearing: in use"),
        (None, ["serve.old: x", "serve.new: GPU 3 is lost"], "GPU 3 is lost"),
        ("", ["serve.new: GPU 3 is lost"], "GPU 3 is lost"),
        (None, ["serve.old: x"], "the MIG manager reports failed without a reason"),
    ],
)
def test_a_node_that_fails_goes_back_and_says_why(logs, events, says):
    world = World(states=("pending", "failed"))
    world.logs, world.events = logs, events
    said = refused(world)
    assert f"the GPUs of node serve-000 were not partitioned into serve.new: {says}\n" in said
    assert "its previous layout, serve.old" in said
    assert world.done[-3:] == ["serve.new", "serve.old", "uncordon"]
    assert world.labels[PLUGIN] == "serve.before"


def test_a_manager_that_never_ends_is_given_up():
    assert "the MIG manager reports pending after" in refused(World(states=("pending",)))


def test_a_node_that_can_not_even_go_back_stays_closed():
    world = World(states=("failed",))
    world.states["serve.old"] = ["failed"]
    said = refused(world)
    assert "nor back into serve.old" in said
    assert "kubectl uncordon serve-000" in said
    assert world.done[-1] == "serve.old"


@pytest.mark.parametrize(
    ("change", "says", "done"),
    [
        (lambda w: setattr(w, "blind", True), "cannot read node serve-000: nothing on it", []),
        (
            lambda w: setattr(w, "pods", None),
            "cannot list the pods of node serve-000",
            ["cordon", "uncordon"],
        ),
        (
            lambda w: w.pods.insert(0, w.pod("shell", workload=False)),
            "pod vision/shell on node serve-000 uses GPUs and was not started by a queue",
            ["cordon", "uncordon"],
        ),
        (
            lambda w: setattr(w, "stays", True),
            "pods on node serve-000 did not end within",
            ["cordon", "job-one out", "job-one out", "job-one in", "uncordon"],
        ),
    ],
    ids=["no node", "no look", "a stranger", "a pod that stays"],
)
def test_nothing_is_cut_while_somebody_uses_it(change, says, done):
    world = World()
    change(world)
    assert says in refused(world)
    assert list(dict.fromkeys(world.done)) == list(dict.fromkeys(done))
    assert world.labels[MIG] == "serve.old"


# ── when the engine is about to change a node ──────────────────────────────────────────────────────


PLAN = plan_of(platform([cut_pool(nodes=8)], cloud="simulated"))
CONSENT = repartition_digests(PLAN, PLAN.pools[0])[0]


def inputs(**labels):
    return {"metadata": {"name": "serve-003", "labels": {PLUGIN: "serve", **labels}}}


def hooked(monkeypatch, plan, old, new, kind="kubernetes:core/v1:Node", world=None):
    """Nodes that were cut by one call of the hook."""
    seen = []
    monkeypatch.setattr(waves, "PROPAGATION_SECONDS", 0)

    async def cuts(_kubectl, node, wanted, write):
        assert write is None
        seen.append((node, wanted))

    monkeypatch.setattr(waves, "reconfigure_node", cuts)
    monkeypatch.setattr(pulumi, "ResourceHook", lambda name, call: (name, call))

    async def call():
        name, before = mig_reconfigure_hook("lab-serve", world or World(), plan, plan.pools[0])
        assert name == "gpuyard:lab-serve:recut"
        urn = "urn:pulumi:dev::lab::kubernetes:core/v1:Node::x"
        await before(
            pulumi.ResourceHookArgs(urn, "x", "serve", kind, old_inputs=old, new_inputs=new)
        )

    asyncio.run(call())
    return seen


def test_nobody_is_put_out_without_consent(monkeypatch):
    old, new = inputs(**{MIG: "a"}), inputs(**{MIG: "b"})
    with pytest.raises(
        MigReconfigureError, match=re.escape(f"add {CONSENT} to `approved_changes`")
    ):
        hooked(monkeypatch, PLAN, old, new)
    plan = plan_of(platform([cut_pool(nodes=8)], cloud="simulated", approved_changes=CONSENT))
    assert hooked(monkeypatch, plan, old, new) == [("serve-003", {MIG: "b", PLUGIN: "serve"})]
    assert hooked(monkeypatch, plan, old, inputs()) == [
        ("serve-003", {MIG: "all-disabled", PLUGIN: "serve"})
    ]


@pytest.mark.parametrize(
    ("labels", "closed", "left"),
    [
        ({MIG: "b"}, False, True),
        ({MIG: "b", STATE: "failed"}, False, False),
        ({MIG: "b"}, True, False),
        ({MIG: "a"}, False, False),
    ],
    ids=["cut", "failed", "closed", "another layout"],
)
def test_a_node_that_a_killed_deployment_has_made_is_left_as_it_is(
    monkeypatch, labels, closed, left
):
    """The engine knows less of it than the cluster: recover gives it to the state without its labels."""
    world = World(**labels)
    world.closed = closed
    old, new = inputs(), inputs(**{MIG: "b"})
    if left:
        assert hooked(monkeypatch, PLAN, old, new, world=world) == []
    else:
        with pytest.raises(MigReconfigureError, match="not approved"):
            hooked(monkeypatch, PLAN, old, new, world=world)


def test_consent_by_a_former_name_is_consent():
    plan = plan_of(
        platform([cut_pool("cards", nodes=8, previous_names=["serve"])], cloud="simulated")
    )
    assert CONSENT in repartition_digests(plan, plan.pools[0])


class Group(World):
    """Two nodes of a group."""

    async def get(self, *what):
        if what != ("nodes", "-l", "gpuyard.dev/pool=serve"):
            return None
        return {"items": [{"metadata": {"name": f"ip-{n}"}} for n in (2, 1)]}


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("aws:eks/nodeGroup:NodeGroup", lambda labels: {"labels": labels}),
        ("gcp:container/nodePool:NodePool", lambda labels: {"nodeConfig": {"labels": labels}}),
    ],
)
def test_nodes_of_a_cloud_are_cut_one_after_the_other_before_their_group_is_told(
    monkeypatch, kind, form
):
    plan = plan_of(platform([cut_pool()], cloud="aws", approved_changes=CONSENT))
    old, new = (form({PLUGIN: "serve", MIG: name}) for name in "ab")
    wanted = {MIG: "b", PLUGIN: "serve"}
    found = hooked(monkeypatch, plan, old, new, kind, Group())
    assert found == [("ip-1", wanted), ("ip-2", wanted)]
    with pytest.raises(MigReconfigureError, match="cannot list the nodes of pool serve"):
        hooked(monkeypatch, plan, old, new, kind, World())
    assert hooked(monkeypatch, plan, new, new, kind, World()) == []


MACHINE = "node.kubernetes.io/instance-type"


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ({}, {}, False),
        ({MIG: "a"}, {MIG: "a", "tier": "gold"}, False),
        ({MIG: "a"}, {MIG: "b"}, True),
        ({}, {MIG: "b"}, True),
        ({MIG: "a"}, {}, True),
        ({MIG: "a", MACHINE: "x"}, {MIG: "b", MACHINE: "y"}, False),
    ],
)
def test_what_is_cut_anew(monkeypatch, old, new, found):
    assert is_repartitioned(old, new) is found
    if not found:
        assert hooked(monkeypatch, PLAN, inputs(**old), inputs(**new)) == []
