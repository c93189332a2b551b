"""Nodes that exist already: who finds them, whose their labels are, and what a deployment does to them."""

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace

import pulumi
import pytest

from gpuyard.changes.planned_changes import repartition_digests
from gpuyard.resources import ClusterProvider, Platform, pools, provider
from gpuyard.resources.diagnosis.kubectl import Kubectl
from gpuyard.resources.gpu_operator import node_labels, waves
from gpuyard.resources.gpu_operator.mig_reconfiguration import MigReconfigureError
from gpuyard.resources.gpu_operator.node_labels import (
    NodeLabelError,
    node_label_patches,
    stale_node_patches,
)
from gpuyard.resources.gpu_operator.waves import mig_reconfigure_hook
from kit.stacks import cut_pool, plan_of, platform, shared_pool

MIG, PLUGIN = "nvidia.com/mig.config", "nvidia.com/device-plugin.config"
STATE = f"{MIG}.state"
RAW = platform([shared_pool(nodes=2, select={"rack": "a"}, labels={"tier": "gold"})])
PLAN = plan_of(RAW)
LABELS = dict(PLAN.pools[0].labels)
OURS = "gpuyard.dev/lab/dev"


def node(name="n1", owner="somebody", **labels):
    """A node whose labels all have this owner."""
    fields = {"f:metadata": {"f:labels": {f"f:{key}": {} for key in labels}}}
    managed = [{"manager": owner, "fieldsV1": fields}, {"manager": "kubelet"}] if owner else []
    metadata = {"name": name, "uid": f"uid-{name}", "labels": {"rack": "a", **labels}}
    return {"metadata": {**metadata, "managedFields": managed}, "spec": {}}


def written(file):
    return json.loads(Path(file).read_text(encoding="utf-8"))


class Looks(Kubectl):
    """A cluster with these nodes; None where nobody can look."""

    def __init__(self, *nodes, pods=()):
        super().__init__(None, "blue")
        object.__setattr__(self, "nodes", None if nodes == (None,) else list(nodes))
        object.__setattr__(self, "pods", pods)
        object.__setattr__(self, "done", [])

    async def get(self, *what):
        if what[0] == "pods":
            return {"items": list(self.pods)}
        if what[0] == "node":
            return next((n for n in self.nodes if n["metadata"]["name"] == what[1]), None)
        assert what == ("nodes", "-l", "rack=a")
        return None if self.nodes is None else {"items": self.nodes}

    async def names(self, *what):
        assert what == ("nodes",)
        return None if self.nodes is None else [f"node/{n['metadata']['name']}" for n in self.nodes]

    async def run_mutating(self, *what):
        if what[0] == "apply":
            what = (*what[:-1], written(what[-1]))
        self.done.append(what)
        return ""


@pytest.fixture(autouse=True)
def loop():
    """The SDK waits on the loop of its thread, and makes one where there is none."""
    made = asyncio.new_event_loop()
    asyncio.set_event_loop(made)
    yield
    made.close()
    asyncio.set_event_loop(None)


@pytest.fixture
def warned(monkeypatch):
    heard = []
    monkeypatch.setattr(node_labels.pulumi.log, "warn", heard.append)
    return heard


def test_each_node_gets_what_the_plan_lists_and_no_more(warned):
    found = node_label_patches(Looks(node("n2"), node("n1")), PLAN, PLAN.pools[0])
    assert [each["metadata"]["name"] for each in found] == ["n1", "n2"]
    assert found[0]["metadata"]["labels"] == LABELS
    assert (LABELS["tier"], set(LABELS)) == ("gold", {"tier", PLUGIN, "gpuyard.dev/fabric"})
    assert found[0]["metadata"]["annotations"] == {
        "gpuyard.dev/existing": "true",
        "gpuyard.dev/node-uid": "uid-n1",
        "pulumi.com/patchFieldManager": OURS,
    }
    assert warned == []


def test_another_number_of_nodes_than_the_plan_counts_is_said(warned):
    node_label_patches(Looks(node()), PLAN, PLAN.pools[0])
    (said,) = warned
    assert "pool dev sets 2 nodes, but the cluster has 1 with rack=a" in said


@pytest.mark.parametrize(
    "raw", [platform([shared_pool()]), platform([shared_pool()], cloud="simulated")]
)
def test_nodes_that_nobody_selects_are_left(raw, warned):
    plan = plan_of(raw)
    assert node_label_patches(Looks(None), plan, plan.pools[0]) == []
    assert warned == []


def test_where_nobody_can_look_no_node_stays_without_labels_in_silence(warned):
    with pytest.raises(
        NodeLabelError,
        match=r"gpuyard labels the nodes of pool dev, but cannot list.*\n.*--context blue get nodes",
    ):
        node_label_patches(Looks(None), PLAN, PLAN.pools[0])
    assert node_label_patches(None, PLAN, PLAN.pools[0]) == []
    assert "sets no labels on them" in warned[0]


@pytest.mark.parametrize(
    ("there", "says"),
    [
        (node(**{PLUGIN: "theirs"}), "its owner is somebody (managedFields)"),
        (node(owner="", tier="lead"), "its owner is unknown"),
        (node(owner=OURS, **{PLUGIN: "dev.before"}), ""),
        (node(owner="gpuyard.dev/lab/other", **{PLUGIN: "other"}), ""),
        (node(owner="gpuyard.dev/lab-2/dev", **{PLUGIN: "other"}), "gpuyard.dev/lab-2/dev"),
        (node(**LABELS), ""),
        (node(color="red"), ""),
    ],
    ids=["theirs", "nobody's", "ours", "our other pool's", "another platform's", "same", "else"],
)
def test_a_label_of_somebody_else_is_not_overwritten(there, says, warned):
    looks = Looks(there, node("n2"))
    if not says:
        assert len(node_label_patches(looks, PLAN, PLAN.pools[0])) == 2
        return
    with pytest.raises(NodeLabelError) as why:
        node_label_patches(looks, PLAN, PLAN.pools[0])
    assert says in str(why.value)
    assert "of node n1 is" in str(why.value)
    assert "kubectl label node n1 " in str(why.value)


CUT = plan_of(platform([cut_pool(select={"rack": "a"})]))
LAYOUT = CUT.pools[0].labels[MIG]


def test_that_the_operator_has_cut_nothing_yet_is_no_conflict():
    assert node_label_patches(Looks(node(**{MIG: "all-disabled"})), CUT, CUT.pools[0])
    with pytest.raises(NodeLabelError):
        node_label_patches(Looks(node(**{MIG: "all-1g.5gb"})), CUT, CUT.pools[0])


# ── nodes that are gone ───────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("nodes", "left"), [([node("n1")], ["n2"]), ([node("n1"), node("n2")], []), ([None], [])]
)
def test_nodes_that_are_gone_stay_in_the_state_untouched(monkeypatch, nodes, left):
    def of(name, kind="kubernetes:core/v1:NodePatch"):
        return SimpleNamespace(kind=kind, name=name)

    state = [of("lab-dev:Node:n1"), of("lab-dev:Node:n2"), of("lab-x:Node:n3")]
    stand = SimpleNamespace(resources=[*state, of("lab-dev:Node:n4", "kubernetes:core/v1:Node")])
    monkeypatch.setattr(node_labels, "last_known_state", lambda: stand)
    found = stale_node_patches(Looks(*nodes), "lab-dev")
    assert [each["metadata"] for each in found] == [{"name": name} for name in left]
    monkeypatch.setattr(node_labels, "last_known_state", lambda: None)
    assert stale_node_patches(Looks(*nodes), "lab-dev") == []


# ── what is registered ────────────────────────────────────────────────────────────────────────────
def test_patches_of_found_nodes_come_after_the_chart_and_before_quotas(pulumi_mocks, monkeypatch):
    looks = Looks(node("n1"), node("n2"))
    none = pulumi.ResourceHookBinding()
    monkeypatch.setattr(provider, "hooks_of", lambda *_: none)
    monkeypatch.setattr(provider, "Kubectl", lambda *_: looks)
    hooks = []
    monkeypatch.setattr(pools, "mig_reconfigure_hook", lambda *given: hooks.append(given))
    monkeypatch.setattr(pools.pulumi, "ResourceHookBinding", lambda **_: none)
    absent = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n9"}}]
    monkeypatch.setattr(pools, "stale_node_patches", lambda *_: absent)

    def program():
        lab = ClusterProvider("lab", "lab")
        Platform("lab", {"platform": RAW}, pulumi.ResourceOptions(providers=[lab]))

    graph = pulumi_mocks.run(program)
    (first, second, left) = graph.of_type("kubernetes:core/v1:NodePatch")
    assert first.name == "lab-dev:Node:n1"
    assert first.inputs["metadata"]["labels"] == LABELS
    assert left.name == "lab-dev:Node:n9"
    by_urn = {each.urn: each for each in graph}
    assert first in [by_urn[urn] for urn in second.dependencies]
    kinds = {by_urn[urn].type for urn in first.dependencies}
    assert "kubernetes:helm.sh/v4:Chart" in kinds or any("Release" in each for each in kinds)
    (queue,) = graph.of_type("kubernetes:kueue.x-k8s.io/v1beta2:ResourceFlavor")
    assert first.urn in queue.dependencies
    assert len(hooks) == 1
    (made,) = (each for each in graph if each.type == "gpuyard:index:GpuNodePool")
    assert made.registered_outputs["nodes"] == ["n1", "n2"]


# ── GPUs that are cut ─────────────────────────────────────────────────────────────────────────────
CONSENT = repartition_digests(CUT, CUT.pools[0])[0]
HOLDER = {
    "metadata": {"name": "one", "namespace": "vision"},
    "spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}]},
}


def inputs(name="n1", **labels):
    notes = {"pulumi.com/patchFieldManager": "gpuyard.dev/lab/serve"}
    return {"metadata": {"name": name, "labels": {PLUGIN: "serve", **labels}, "annotations": notes}}


@pytest.fixture
def before(monkeypatch):
    """Run the hook; what was cut, with what writes its labels."""
    monkeypatch.setattr(waves, "PROPAGATION_SECONDS", 0)
    monkeypatch.setattr(pulumi, "ResourceHook", lambda _, call: call)
    seen = []

    async def cuts(_kubectl, name, wanted, write):
        seen.append((name, wanted, write))

    monkeypatch.setattr(waves, "reconfigure_node", cuts)

    def call(looks, new, old=None, plan=CUT):
        hook = mig_reconfigure_hook("lab-serve", looks, plan, plan.pools[0])
        kind = "kubernetes:core/v1:NodePatch"
        args = pulumi.ResourceHookArgs("urn", "x", "n", kind, old_inputs=old, new_inputs=new)
        asyncio.run(hook(args))
        return [(name, wanted) for name, wanted, _ in seen]

    call.seen = seen
    return call


MINE = {"owner": "gpuyard.dev/lab/serve", MIG: LAYOUT}


@pytest.mark.parametrize(
    ("there", "cut"),
    [
        (node(), True),
        (node(**{MIG: "all-disabled"}), True),
        (node(**{MIG: LAYOUT}), False),
        (node(**MINE, **{STATE: "success"}), False),
        (node(**MINE, **{STATE: "pending"}), True),
        (node(owner="gpuyard.dev/lab/other", **{MIG: "other"}), True),
        (node(**{MIG: "theirs"}), True),
    ],
    ids=["new", "uncut", "cut by hand", "done", "killed", "of another pool", "theirs"],
)
def test_a_node_is_cut_with_its_first_labels_where_its_layout_is_another(before, there, cut):
    found = before(Looks(there), inputs(**{MIG: LAYOUT}))
    assert found == ([("n1", {MIG: LAYOUT, PLUGIN: "serve"})] if cut else [])


def test_a_pool_that_cuts_nothing_leaves_a_layout(before):
    assert before(Looks(node(**{MIG: "theirs"})), inputs()) == []


def test_nobody_is_put_out_of_a_node_at_its_first_labels_without_consent(before):
    looks = Looks(node(), pods=[HOLDER])
    with pytest.raises(
        MigReconfigureError, match=f"pod vision/one use them, which is not approved.*\n.*{CONSENT}"
    ):
        before(looks, inputs(**{MIG: LAYOUT}))
    raw = platform([cut_pool(select={"rack": "a"})], approved_changes=CONSENT)
    assert before(looks, inputs(**{MIG: LAYOUT}), plan=plan_of(raw))
    with pytest.raises(MigReconfigureError, match="cannot read node n7"):
        before(looks, inputs("n7", **{MIG: LAYOUT}))


def test_another_layout_of_a_labelled_node_needs_consent(before):
    looks, old = Looks(node(**MINE)), inputs(**{MIG: "serve.before"})
    with pytest.raises(MigReconfigureError, match="not approved"):
        before(Looks(node(owner=OURS, **{MIG: "serve.before"})), inputs(**{MIG: LAYOUT}), old)
    assert before(looks, inputs(**{MIG: LAYOUT}), old) == []


def test_labels_are_written_as_ours_alone_on_the_way_there_and_back(before):
    looks, plan = (
        Looks(node()),
        plan_of(platform([cut_pool(select={"rack": "a"})], approved_changes=CONSENT)),
    )
    new, old = (
        inputs(tier="gold", **{MIG: LAYOUT}),
        inputs(tier="lead", **{MIG: "serve.before"}),
    )
    before(looks, new, old, plan)
    (_, wanted, write) = before.seen[-1]
    asyncio.run(write({**wanted, STATE: None}))
    asyncio.run(write({MIG: "serve.before", STATE: None}))
    taken, there, _, back = looks.done
    assert taken[:3] == ("patch", "node", "n1")
    assert json.loads(taken[-1]) == {"metadata": {"labels": {STATE: None}}}
    manager = "--field-manager=gpuyard.dev/lab/serve"
    assert there[:5] == ("apply", "--server-side", "--force-conflicts", manager, "-f")
    assert there[-1]["metadata"]["labels"] == new["metadata"]["labels"]
    assert back[-1]["metadata"]["labels"] == old["metadata"]["labels"]
    assert back[-1]["metadata"]["annotations"] == new["metadata"]["annotations"]
