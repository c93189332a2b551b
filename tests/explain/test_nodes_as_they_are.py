"""Nodes of a dump decide: cordoned, not ready, tainted, with less than planned, or not there."""

from gpuyard_advisor.explain import Verdict
from gpuyard_advisor.explain.running import read_running
from gpuyard_advisor.scheduler.model import SchedulerModel
from gpuyard_core.names import GATE_TAINT
from kit.cases.explain import GPU, SLICE, job, local, one_team, said
from kit.every import every
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool, team

SERVE = {
    "cpu": "96", "memory": "1152Gi", "pods": "110",
    "nvidia.com/mig-1g.5gb": "16", "nvidia.com/mig-2g.10gb": "8", SLICE: "8",
}  # fmt: skip
ON_SERVE = {"namespace": "vision", "resource": SLICE}


def node(name, pool="train", status=None, spec=None, **labels):
    found = {"gpuyard.dev/pool": pool, **labels}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": found},
        "spec": spec or {},
        "status": status or {},
    }


def gives(**amounts):
    return {"allocatable": {"cpu": "192", "memory": "2048Gi", "pods": "110", **amounts}}


def ready(status):
    return {"conditions": [{"type": "Ready", "status": status}]}


def state_of(plan, *values):
    state, problems = read_running(plan, list(values))
    assert problems == []
    return state


def trains(*first):
    """The four nodes of `train`, some of them given."""
    return (*first, *(node(f"train-{i:03d}") for i in range(len(first), 4)))


CORDONED = {"unschedulable": True}


def taint(key, effect="NoSchedule", value=""):
    return {"taints": [{"key": key, "value": value, "effect": effect}]}


@every(
    "one, why, mended",
    [
        (node("train-000", spec=CORDONED), "train-000 is cordoned", "train-000 is uncordoned"),
        (node("train-000", status=ready("False")), "train-000 is not ready", "train-000 is ready"),
        (
            node("train-000", status=ready("Unknown")),
            "train-000 is not ready",
            "train-000 is ready",
        ),
        (
            node(
                "train-000", spec=taint("node.kubernetes.io/unreachable"), status=ready("Unknown")
            ),
            "train-000 is unreachable",
            "train-000 is ready",
        ),
        (
            node("train-000", spec=taint(GATE_TAINT)),
            "train-000 is not validated yet",
            "train-000 is validated",
        ),
        (
            node("train-000", spec=taint("repair", "NoExecute", "now")),
            "train-000 has the taint repair=now:NoExecute, which its pods do not tolerate",
            "train-000 is without the taint repair=now:NoExecute",
        ),
        (
            node("train-000", status=gives(**{GPU: "7"})),
            "train-000 advertises 7 nvidia.com/gpu instead of 8",
            "train-000 advertises 8 nvidia.com/gpu",
        ),
        (
            node("train-000", status=gives()),
            "train-000 advertises no nvidia.com/gpu instead of 8",
            "train-000 advertises 8 nvidia.com/gpu",
        ),
    ],
)
def test_a_node_that_takes_none_of_the_pods_is_named(one, why, mended):
    plan = one_team([pool(nodes=1)], borrow={"train": 8})
    found = said(plan, job(gpus=8), state_of(plan, one))
    assert found.verdict is Verdict.WAITS
    assert found.admitted
    assert found.message == f"its quota is available, but train differs from the plan: {why}"
    assert found.conditions == (
        f"when in train a node has capacity for 1 pod with 8 nvidia.com/gpu, for example when {mended}",
    )
    assert "its pods stay pending and its quota stays in use" in found.meanwhile


def test_what_its_pods_do_not_mind_keeps_none_away():
    plan = one_team([pool(nodes=1)], borrow={"train": 8})
    soft = node("train-000", spec=taint("repair", "PreferNoSchedule"), status=ready("True"))
    assert said(plan, job(gpus=8), state_of(plan, soft)).verdict is Verdict.STARTS
    ours = node("train-000", spec=taint("nvidia.com/gpu", value="present"))
    assert said(plan, job(gpus=8), state_of(plan, ours)).verdict is Verdict.STARTS
    borne = job(gpus=8, tolerations=[{"key": "repair", "operator": "Exists"}])
    repaired = state_of(plan, node("train-000", spec=taint("repair")))
    assert said(plan, borne, repaired).verdict is Verdict.STARTS
    less = state_of(plan, node("train-000", status=gives(**{GPU: "7"})))
    assert said(plan, job(gpus=4), less).verdict is Verdict.STARTS


def test_nodes_that_are_missing_are_named_where_the_plan_names_them():
    plan = local(pools=[pool(), cut_pool(nodes=2), shared_pool()])
    found = said(plan, job(gpus=4, **ON_SERVE), state_of(plan, *trains()))
    assert found.message == (
        "its quota is available, but serve differs from the plan: 0 of 2 nodes are present"
        " (serve-000 and serve-001 are missing)"
    )
    assert found.conditions[0].endswith("for example when serve-000 and serve-001 are back")


def test_nodes_of_ones_own_that_are_missing_have_no_names():
    plan = plan_of(platform([pool(select={"rack": "7"}, nodes=2)], [team(borrow={"train": 16})]))
    one = node("n0", rack="7")
    assert said(plan, job(gpus=8), state_of(plan, one)).verdict is Verdict.STARTS
    found = said(plan, job(2, gpus=8), state_of(plan, one))
    assert (
        found.message
        == "its quota is available, but train differs from the plan: 1 of 2 nodes is present"
    )
    assert found.conditions == (
        "when in train nodes have capacity for 2 pods with 8 nvidia.com/gpu, for example when 1 more runs",
    )


def test_nodes_that_a_job_can_start_are_not_missing():
    plan = plan_of(platform([pool(nodes="1..3")], [team(borrow={"train": 24})], cloud="aws"))
    found = said(plan, job(2, gpus=8), state_of(plan, node("elsewhere", "other")))
    assert found.verdict is Verdict.STARTS
    assert found.nodes_to_start == {"train": 2}
    labels = {**plan.pool("train").node_selector}
    out = [node(f"train-{i}", spec=CORDONED, **labels) for i in range(2)]
    found = said(plan, job(2, gpus=8), state_of(plan, *out))
    assert found.message.endswith("train-0 and train-1 are cordoned")


def test_of_several_faults_the_one_that_decides_is_the_example():
    plan = local()
    state = state_of(
        plan,
        node("train-000", spec=CORDONED),
        node("train-001", status=gives(**{GPU: "4"})),
        node("train-002", spec=CORDONED),
        node("train-003", spec=CORDONED),
    )
    found = said(plan, job(gpus=8), state)
    assert found.message.endswith(
        "train-000, train-002 and train-003 are cordoned;"
        " train-001 advertises 4 nvidia.com/gpu instead of 8"
    )
    assert found.conditions[0].endswith(
        "for example when train-000, train-002 and train-003 are uncordoned"
    )
    both = said(plan, job(3, gpus=8, namespace="speech"), state)
    assert both.verdict is Verdict.STARTS or both.message.startswith("its quota is available")


def test_many_nodes_are_named_in_part():
    plan = one_team([pool(nodes=6)], borrow={"train": 48})
    out = [node(f"train-{i:03d}", spec=CORDONED) for i in range(6)]
    found = said(plan, job(6, gpus=8), state_of(plan, *out))
    assert "train-000, train-001, train-002 and 3 more are cordoned" in found.message
    assert (
        "for example when train-000, train-001, train-002 and 3 more are uncordoned"
        in (found.conditions[0])
    )


def test_where_mending_one_kind_of_fault_is_not_enough_all_are_named():
    plan = one_team([pool(nodes=2)], borrow={"train": 16})
    state = state_of(plan, node("train-000", spec=CORDONED), node("train-001", status=gives()))
    found = said(plan, job(2, gpus=8), state)
    assert found.conditions[0].endswith(
        "for example when train-000 is uncordoned and train-001 advertises 8 nvidia.com/gpu"
    )


def test_others_may_hold_what_is_left_of_a_pool():
    plan = local()
    row = {"team": "search", "pool": "train", "gpus": 8, "name": "index", "nodes": ["train-001"]}
    values = trains(*(node(f"train-{i:03d}", spec=CORDONED if i != 1 else None) for i in range(4)))
    found = said(plan, job(gpus=8), state_of(plan, *values, row))
    assert (
        found.message == "its quota is available, but no node of train has any nvidia.com/gpu left"
    )
    assert found.conditions[0].endswith("for example when index of team search ends")
    (caution,) = found.cautions
    assert caution == (
        "nodes that differ from the plan count as without capacity:"
        " train-000, train-002 and train-003 are cordoned"
    )


def test_a_node_with_more_than_planned_holds_more():
    plan = plan_of(platform([pool(select={"rack": "7"}, nodes=1)], [team(borrow={"train": 8})]))
    room = plan.pool("train").allocatable.cpu
    large = job(gpus=8, requests={"cpu": room + 2})
    assert said(plan, large).verdict is Verdict.NEVER
    state = state_of(plan, node("n0", rack="7", status=gives(**{GPU: "8", "cpu": f"{room + 2}"})))
    assert said(plan, large, state).verdict is Verdict.STARTS


def test_a_queue_that_places_pods_keeps_a_job_from_unfit_nodes():
    plan = one_team([pool(nodes=2, topology=True)], borrow={"train": 16})
    state = state_of(plan, node("train-000"), node("train-001", spec=CORDONED))
    found = said(plan, job(2, gpus=8), state)
    assert (found.verdict, found.admitted) == (Verdict.WAITS, False)
    assert found.message.endswith("train-001 is cordoned")
    assert found.conditions[0].endswith("for example when train-001 is uncordoned")
    assert said(plan, job(gpus=8), state).verdict is Verdict.STARTS


def test_a_pod_on_a_node_that_is_gone_holds_no_room():
    plan = local()
    gone = {
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "vision"},
        "spec": {
            "nodeName": "train-009",
            "nodeSelector": {"gpuyard.dev/pool": "train"},
            "containers": [{"resources": {"limits": {GPU: 8}}}],
        },
        "status": {"phase": "Running"},
    }
    assert state_of(plan, *trains(), gone).jobs == ()
    assert state_of(plan, gone).nodes == {"train-009": "train"}


def test_claimed_gpus_stand_in_no_nodes_own_words():
    plan = plan_of(platform([pool(sharing="dra")], [team(guarantee={"train": 8})]))
    state = state_of(plan, *trains(node("train-000", status=gives())))
    (first, *_) = SchedulerModel(plan, state).rooms["train"]
    assert first.free["gpuyard.dev/gpu-claim"] == 8


def test_no_amount_that_nobody_can_read_counts():
    plan = local()
    odd = node("train-000", status={"allocatable": {GPU: "many", 3: 4}})
    state = state_of(plan, *trains(odd))
    assert state.states["train-000"].allocatable is None
    assert said(plan, job(gpus=8), state).verdict is Verdict.STARTS


def test_a_slice_that_a_node_was_not_cut_into_is_missing_there():
    plan = local(
        pools=[pool(), cut_pool(nodes=1), pool("dev", machine="g6.12xlarge")],
        teams=[team("vision", guarantee={"serve/3g.20gb": 4})],
    )
    less = {"allocatable": {**SERVE, SLICE: "2"}}
    state = state_of(plan, *trains(), node("serve-000", "serve", status=less))
    found = said(plan, job(gpus=4, **ON_SERVE), state)
    assert found.message.endswith(f"serve-000 advertises 2 {SLICE} instead of 8")


def test_pods_without_gpus_beside_a_gang_that_waits_for_nodes_find_others():
    plan = plan_of(platform([pool(nodes=2)], [team(borrow={"train": 16})], cloud="aws"))
    head = {"template": {"spec": {"containers": [{"name": "head"}]}}}
    pods = {"containers": [{"name": "w", "resources": {"limits": {GPU: 8}}}]}
    workers = [{"groupName": "w", "replicas": 2, "template": {"spec": pods}}]
    ray = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "ray", "namespace": "vision"},
        "spec": {"headGroupSpec": head, "workerGroupSpecs": workers},
    }
    labels = {**plan.pool("train").node_selector}
    nodes = [node("a", **labels), node("b", spec=CORDONED, **labels)]
    found = said(plan, ray, state_of(plan, *nodes))
    assert found.message == "its quota is available, but train differs from the plan: b is cordoned"


# ── a little less CPU than planned, as every real node has ──────────────────────────────────────────
def slightly(name, **more):
    return node(name, status=gives(**{GPU: "8", "cpu": "190", **more}))


def two_nodes():
    return one_team([pool(nodes=2)], borrow={"train": 16})


def test_a_lost_gpu_is_named_and_not_the_cpus_that_all_nodes_lack_a_few_of():
    plan = two_nodes()
    wants = job(2, gpus=8, requests={"cpu": "1"})
    assert said(plan, wants, state_of(plan, slightly("a"), slightly("b"))).verdict is Verdict.STARTS
    found = said(plan, wants, state_of(plan, slightly("a", **{GPU: "7"}), slightly("b")))
    assert found.message.endswith(
        "train differs from the plan: a advertises 7 nvidia.com/gpu instead of 8"
    )
    assert found.conditions[0].endswith("for example when a advertises 8 nvidia.com/gpu")
    found = said(plan, wants, state_of(plan, slightly("a")))
    assert "CPUs" not in found.message


def test_cpus_are_named_where_fewer_pods_fit_because_of_them():
    plan = two_nodes()
    wants = job(2, gpus=8, requests={"cpu": "191"})
    found = said(plan, wants, state_of(plan, slightly("a"), slightly("b")))
    assert found.message.endswith("a and b advertise 190 CPUs instead of 192 CPUs")


def test_cpus_are_named_where_pods_of_several_sizes_together_need_them():
    plan = one_team([pool(nodes=1)], borrow={"train": 8})
    value = {
        "kind": "JobSet",
        "metadata": {"name": "set", "namespace": "vision"},
        "spec": {
            "replicatedJobs": [
                {"name": name, "replicas": 1, "template": {"spec": spec(gpus, cpu)}}
                for name, gpus, cpu in (("worker", 6, "100"), ("reader", 2, "91"))
            ]
        },
    }
    assert said(plan, value).verdict is Verdict.STARTS
    found = said(plan, value, state_of(plan, slightly("a")))
    assert found.message.endswith("a advertises 190 CPUs instead of 192 CPUs")


def spec(gpus, cpu):
    pod = job(gpus=gpus, requests={"cpu": cpu})["spec"]["template"]
    return {"parallelism": 1, "template": pod}


def test_a_stranger_is_named_with_its_namespace():
    plan = two_nodes()
    stranger = {
        "kind": "Pod",
        "metadata": {"name": "burn", "namespace": "kube-system"},
        "spec": {"nodeName": "a", "containers": [{"resources": {"limits": {GPU: "8"}}}]},
        "status": {"phase": "Running"},
    }
    found = said(plan, job(2, gpus=8), state_of(plan, slightly("a"), slightly("b"), stranger))
    assert found.message == (
        "its quota is available, but train fits 1 of its 2 pods: 8 nvidia.com/gpu on 1 node,"
        " and one pod requests 8 nvidia.com/gpu"
    )
    assert found.conditions[0].endswith("for example when burn in namespace kube-system ends")
