"""What runs is read from a cluster's own words, from manifests, and from short lists."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard_advisor.explain import Verdict
from gpuyard_advisor.explain.running import ROW, read_running
from gpuyard_advisor.scheduler.model import PlatformState, Pods, RunningJob, SchedulerModel
from kit.cases.explain import GPU, SLICE, job, local, pod_spec, said
from kit.searches import examples
from kit.stacks import plan_of, platform, pool, team


def read(*values):
    state, problems = read_running(local(), list(values))
    assert problems == []
    return state


def refused(*values):
    return read_running(local(), list(values))[1]


# ── short lists ───────────────────────────────────────────────────────────────────────────────────
def test_a_line_is_a_job_with_its_pods_and_its_quota():
    state = read(
        {"team": "vision", "pool": "train", "pods": 2, "gpus": 4, "name": "sweep", "priority": 3}
    )
    assert state.jobs == (
        RunningJob(
            name="sweep",
            team="vision",
            uses={("train", GPU): 8},
            pods=(Pods(pool="train", requests={GPU: 4}, count=2),),
            priority=3,
            since=1,
        ),
    )


def test_pods_stand_on_the_nodes_that_are_named_in_turn():
    state = read({"team": "vision", "pool": "train", "pods": 3, "gpus": 2, "nodes": ["n0", "n1"]})
    assert [p.node for p in state.jobs[0].pods] == ["n0", "n1", "n0"]
    assert state.nodes == {"n0": "train", "n1": "train"}
    assert state.jobs[0].name == "vision's job"


def test_any_resource_can_be_named():
    line = {"team": "vision", "pool": "serve", "per_pod": {SLICE: 2, "cpu": "500m"}}
    found = read(line).jobs[0]
    assert found.uses == {("serve", SLICE): 2}
    assert found.pods[0].requests == {SLICE: 2, "cpu": 500}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("text", "item 0: not a mapping"),
        ({"team": "art"}, "item 0: team: 'art' is not one of vision, speech, search"),
        ({"pool": "x"}, "item 0: pool: 'x' is not one of train, serve, dev"),
        ({"pool": ["train"]}, "item 0: pool: ['train'] is not one of train, serve, dev"),
        ({"pods": -1}, "item 0: pods: -1 is not a number of pods from 0 to 100000"),
        ({"pods": True}, "item 0: pods: True is not a number of pods from 0 to 100000"),
        ({"nodes": "n0"}, "item 0: nodes: 'n0' is not a list of node names"),
        ({"name": 3}, "item 0: name: 3 is not a name"),
        ({"priority": "high"}, "item 0: priority: 'high' is not a whole number"),
        ({"gpu": 8}, f"item 0: 'gpu' is not a known key; an entry looks like {ROW}"),
        ({"gpus": "x"}, "item 0: nvidia.com/gpu: 'x' is not a Kubernetes quantity"),
        ({"per_pod": {3: 4}}, "item 0: 3: 4 is not a Kubernetes quantity"),
        (
            {"per_pod": {"nvidia.com/x": 1}},
            "item 0: nodes of train have no nvidia.com/x, only nvidia.com/gpu",
        ),
        (
            {"gpus": None, "per_pod": None},
            "item 0: nvidia.com/gpu: None is not a Kubernetes quantity",
        ),
    ],
)
def test_what_a_line_says_wrongly_is_named(line, problem):
    whole = (
        {"team": "vision", "pool": "train", "gpus": 1} | line if isinstance(line, dict) else line
    )
    assert problem in refused(whole)


def test_a_line_says_what_its_pods_hold():
    assert refused({"team": "vision", "pool": "train"}) == [
        f"item 0: gpus or per_pod sets the devices of each pod, as in {ROW}"
    ]
    assert refused({"gpus": 1})[0].startswith("item 0: team: None is not one of")


# ── manifests ─────────────────────────────────────────────────────────────────────────────────────
def test_manifests_arrive_one_after_another():
    state = read(job(pods=2, gpus=8, name="first"), job(gpus=8, namespace="speech", name="second"))
    assert [(j.name, j.team, dict(j.uses), j.since) for j in state.jobs] == [
        ("first", "vision", {("train", GPU): 16}, 1),
        ("second", "speech", {("train", GPU): 8}, 2),
    ]
    assert state.waiting == 0


def test_a_manifest_that_does_not_start_waits():
    state = read(job(pods=3, gpus=8), job(gpus=8, name="late"), {"kind": "ConfigMap"})
    assert (len(state.jobs), state.waiting) == (1, 1)
    evicting = read(*(job(pods=2, gpus=8, namespace=n) for n in ("vision", "speech", "speech")))
    assert evicting.waiting == 1


def test_a_manifest_belongs_to_a_team():
    assert refused(job(namespace="default")) == [
        "Job job: metadata.namespace default belongs to no team; team namespaces are vision, speech, search"
    ]
    assert "(none)" in refused({"kind": "Job", "metadata": {}})[0]


# ── a cluster ─────────────────────────────────────────────────────────────────────────────────────
def node(name, pool="train"):
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": {"gpuyard.dev/pool": pool}},
        "status": {},
    }


def pod(name, on, owner="u1", gpus=4, phase="Running", namespace="vision", **rest):
    spec = {**pod_spec(gpus), "nodeName": on, **rest.pop("spec", {})}
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", **rest}
    if owner:
        metadata["ownerReferences"] = [{"kind": "Job", "uid": owner, "name": "train-it"}]
    return {"kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": phase}}


def workload(name="w1", owner="u1", flavor="train", gpus="8", queue="lab-vision", **rest):
    assigned = {"flavors": {GPU: flavor}, "resourceUsage": {GPU: gpus}}
    when = rest.pop("when", "2026-01-01T00:00:00Z")
    conditions = [{"type": "QuotaReserved", "status": "True", "lastTransitionTime": when}]
    return {
        "kind": "Workload",
        "metadata": {
            "name": name,
            "namespace": rest.pop("namespace", "vision"),
            "uid": name,
            "ownerReferences": [
                {"kind": rest.pop("kind", "Job"), "uid": owner, "name": "train-it"}
            ],
        },
        "spec": {"priority": rest.pop("priority", 0), **rest.pop("spec", {})},
        "status": {
            "admission": {"clusterQueue": queue, "podSetAssignments": [assigned]},
            "conditions": conditions + rest.pop("conditions", []),
        },
    }


def test_pods_stand_on_nodes_and_workloads_hold_quota():
    state = read(
        node("n0"), node("n1"), node("other", "elsewhere"),
        pod("a", "n0"), pod("b", "n1"), workload(priority=7),
    )  # fmt: skip
    assert state.nodes == {"n0": "train", "n1": "train"}
    (found,) = state.jobs
    assert (found.name, found.team, found.uses, found.priority) == (
        "train-it", "vision", {("train", GPU): 8}, 7,
    )  # fmt: skip
    assert [p.node for p in found.pods] == ["n0", "n1"]


def test_a_cluster_like_this_is_in_pieces():
    things = [node(f"n{i}") for i in range(4)]
    things += [pod(f"p{i}", f"n{i}") for i in range(4)]
    state = read(*things, workload(gpus="16"))
    found = said(local(), job(gpus=8, namespace="speech"), state)
    assert found.verdict is Verdict.WAITS
    assert "train has 4 nvidia.com/gpu on 4 nodes" in found.message


def test_over_and_unbound_pods_hold_no_room():
    state = read(
        node("n0"),
        pod("a", "n0", phase="Succeeded"),
        pod("b", "n0", phase="Failed"),
        pod("c", ""),
        workload(),
    )
    assert state.jobs[0].pods == ()
    assert state.jobs[0].uses == {("train", GPU): 8}


def test_a_pods_own_selector_tells_the_pool_of_its_node():
    chosen = {"nodeSelector": {"gpuyard.dev/pool": "train"}}
    state = read(
        pod("a", "n7", spec=chosen),
        pod("b", "system-0"),
        pod("c", "n8", spec={"nodeSelector": {"gpuyard.dev/pool": 3}}),
    )
    assert state.nodes == {"n7": "train"}


def test_nodes_that_exist_are_known_by_their_own_labels():
    plan = plan_of(platform([pool(select={"rack": "7"})], [team(borrow={"train": 8})]))
    mine = {"kind": "Node", "metadata": {"name": "n0", "labels": {"rack": "7"}}, "status": {}}
    state, problems = read_running(plan, [mine, node("n1")])
    assert (state.nodes, problems) == ({"n0": "train"}, [])


def test_without_workloads_pods_count_for_their_namespaces_team():
    state = read(
        node("n0"), pod("a", "n0"), pod("b", "n0", gpus=2),
        pod("x", "n0", owner="u2", namespace="default"), pod("alone", "n0", owner=""),
    )  # fmt: skip
    assert [(j.name, j.team, dict(j.uses), len(j.pods)) for j in state.jobs] == [
        ("a", "vision", {("train", GPU): 4}, 1),
        ("b", "vision", {("train", GPU): 2}, 1),
        ("x", None, {}, 1),
        ("alone", "vision", {("train", GPU): 4}, 1),
    ]


def test_with_workloads_a_pod_that_none_claims_is_a_stranger():
    state = read(node("n0"), pod("a", "n0", owner="nobody"), workload())
    assert [(j.name, j.team) for j in state.jobs] == [("train-it", "vision"), ("a", None)]


def test_a_pod_may_be_its_own_workload_and_a_job_set_own_its_jobs():
    state = read(node("n0"), pod("a", "n0", owner=""), workload(owner="uid-a", kind="Pod"))
    assert [p.node for p in state.jobs[0].pods] == ["n0"]
    labels = {"jobset.sigs.k8s.io/jobset-name": "train-it"}
    state = read(
        node("n0"),
        pod("a", "n0", owner="job-uid", labels=labels),
        workload(owner="set", kind="JobSet"),
    )
    assert [p.node for p in state.jobs[0].pods] == ["n0"]
    state = read(
        node("n0"),
        pod("a", "n0", owner="job-uid", labels=labels, namespace="speech"),
        workload(owner="set", kind="JobSet"),
    )
    assert state.jobs[0].pods == ()


def test_workloads_are_ordered_by_when_they_got_their_quota():
    early, late = (
        workload("b", when="2026-01-01T00:00:01Z"),
        workload("c", when="2026-01-01T00:00:02Z"),
    )
    state = read(late, early, workload("a", when="2026-01-01T00:00:01Z"))
    assert [j.since for j in state.jobs] == [1, 2, 3]
    assert [j.name for j in state.jobs] == ["train-it"] * 3


def test_finished_workloads_are_gone_and_others_wait():
    done = workload(conditions=[{"type": "Finished", "status": "True"}])
    pending = {"kind": "Workload", "metadata": {}, "spec": {}, "status": {}}
    held = {"kind": "Workload", "metadata": {}, "spec": {"active": False}}
    state = read(done, pending, held)
    assert (state.jobs, state.waiting) == ((), 1)


def test_a_queue_of_somebody_elses_is_a_problem():
    assert refused(workload(queue="other")) == ["workload w1: no team has the queue other"]
    assert refused(workload(queue=""))[0].endswith("the queue (none)")


def test_what_cannot_be_read_of_a_workload_counts_nothing():
    state = read(
        workload(flavor="gone", priority="high", spec={"active": True}), workload(gpus="x")
    )
    assert [dict(j.uses) for j in state.jobs] == [{}, {}]
    nameless = workload()
    del nameless["metadata"]["ownerReferences"]
    assert read(nameless).jobs[0].name == "w1"


# ── what the state means ──────────────────────────────────────────────────────────────────────────
def test_pods_without_a_node_are_packed():
    desk = SchedulerModel(local(), read({"team": "vision", "pool": "train", "pods": 3, "gpus": 4}))
    free = sorted((n.free[GPU], n.count, bool(n.placed_pod_sets)) for n in desk.rooms["train"])
    assert free == [(0, 1, False), (4, 1, False), (8, 0, False), (8, 2, False)]


def test_more_nodes_may_run_than_the_plan_knows():
    state = PlatformState((), {f"n{i}": "train" for i in range(6)})
    assert SchedulerModel(local(), state).running_nodes("train") == 6


def test_a_node_may_hold_what_its_pool_does_not_advertise():
    odd = RunningJob(
        name="x", team=None, uses={}, pods=(Pods(pool="train", requests={"a/b": 1}, node="n"),)
    )
    assert SchedulerModel(local(), PlatformState((odd,))).rooms["train"][0].free["a/b"] == -1


leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=6)
    | st.sampled_from(["Pod", "Workload", "train"])
)
KEYS = [
    "kind", "metadata", "spec", "status", "admission", "podSetAssignments", "flavors", "resourceUsage", "conditions",
    "labels", "ownerReferences", "nodeName", "team", "pool", "pods", "gpus", "per_pod", "nodes", "containers", GPU,
]  # fmt: skip
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=20,
)


@settings(max_examples=examples(50))
@given(st.lists(values, max_size=4))
def test_anything_at_all_is_read(found):
    state, problems = read_running(local(), found)
    assert all(isinstance(p, str) for p in problems)
    SchedulerModel(local(), state)
