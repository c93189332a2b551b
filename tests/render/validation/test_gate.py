"""What a cluster is told of the gate: rights and their limits, the program, and the pods that look."""

import json
import subprocess
import sys

import pytest

from gpuyard.plan.records import STARTS_WITH
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.aws.karpenter.nodes import karpenter_objects
from gpuyard.render.cloud.graph import resolve_values
from gpuyard.render.dependencies import dependencies_of, object_key
from gpuyard.render.gcp.graph import gcp_graph
from gpuyard.render.gpu_operator.objects import agent_tolerations
from gpuyard.render.nodes import fake_node_objects
from gpuyard.render.platform import object_groups
from gpuyard.render.validation.gate import gate_objects, gated_pools
from gpuyard.render.validation.jobs import node_digest, validation_objects
from gpuyard_agents.agent import read_settings
from gpuyard_agents.gate.reconcile import Settings
from gpuyard_core.names import CHECK_RESULT_LABEL, CHECKED_LABEL, CHECKS_LABEL, GATE_TAINT, GPU
from kit.every import every
from kit.stacks import cut_pool, plan_of, platform, pool

IMAGE = "registry.example.org/ml/base:1"
AWS = {"cloud": "aws", "system": {"machine": "m7i.xlarge", "nodes": 2}}
GCP = {"cloud": "gcp", "system": {"machine": "n2-standard-4", "nodes": 2}}


def asked(*pools, image=IMAGE, **more):
    validation = {"image": image, **more.pop("validation", {})}
    return plan_of(platform(list(pools) or [pool()], validation=validation, **more))


def of_kind(plan, kind, name=""):
    return next(
        o for o in gate_objects(plan) if o["kind"] == kind and name in o["metadata"]["name"]
    )


@every(
    "raw, made",
    [
        (platform(), False),
        (platform(validation={"required": False}), False),
        (platform(validation={"image": IMAGE, "gate": "none"}), False),
        (platform(validation={"image": IMAGE, "gate": "label"}), True),
        (platform(validation={"image": IMAGE}), True),
    ],
)
def test_it_is_made_where_nodes_are_looked_at_when_they_come(raw, made):
    plan = plan_of(raw)
    assert bool(gate_objects(plan)) is made
    assert ("gate" in [name for name, _ in object_groups(plan)]) is made
    assert bool(gated_pools(plan)) is made


def test_a_pool_that_begins_without_nodes_has_its_pods_and_no_job():
    plan = asked(pool(nodes="0..4"), **AWS)
    kinds = [o["kind"] for o in validation_objects(plan)]
    assert kinds == ["ServiceAccount", "ConfigMap"]
    assert of_kind(plan, "DaemonSet")["metadata"]["name"] == "gpuyard-lab-gate-train"


def test_karpenter_is_told_that_nodes_lose_the_taint():
    """Among taints that stay, no pod of a team would ever have a node."""
    for gate, starts in (("taint", [STARTS_WITH.key]), ("label", [])):
        plan = asked(pool(nodes="0..4", scaling="karpenter"), validation={"gate": gate}, **AWS)
        (node_pool,) = [o for o in karpenter_objects(plan) if o["kind"] == "NodePool"]
        spec = node_pool["spec"]["template"]["spec"]
        assert [each["key"] for each in spec.get("startupTaints", [])] == starts
        assert GATE_TAINT not in str(spec["taints"])


# ── makers of nodes ───────────────────────────────────────────────────────────────────────────────
PLANS = {
    "aws": asked(pool(nodes="1..4"), **AWS),
    "gcp": asked(pool(machine="a3-megagpu-8g", nodes="0..4", zones=["us-central1-a"]), **GCP),
    "simulated": asked(pool(), cloud="simulated"),
}


def test_every_maker_of_nodes_starts_them_closed_and_no_queue_bears_that():
    groups = [
        r.inputs
        for r in aws_graph(PLANS["aws"]).resources
        if r.part == "train" and "nodeGroup" in r.kind
    ]
    pools = [
        r.inputs["nodeConfig"]
        for r in gcp_graph(PLANS["gcp"]).resources
        if r.part == "train" and "NodePool" in r.kind
    ]
    nodes = [
        each["spec"] for each in fake_node_objects(PLANS["simulated"], PLANS["simulated"].pools[0])
    ]
    found = [each["taints"] for each in (*groups, *pools, *nodes)]
    assert len(groups) == len(pools) == 1
    for taints in found:
        (ours,) = [t for t in taints if t["key"] == GATE_TAINT]
        assert ours["value"] == "unchecked"
        assert ours["effect"] in {"NoSchedule", "NO_SCHEDULE"}
    for plan in PLANS.values():
        assert GATE_TAINT in {each["key"] for each in agent_tolerations(plan)}
        flavors = [o for _, objs in object_groups(plan) for o in objs if "Flavor" in o["kind"]]
        assert flavors
        assert GATE_TAINT not in json.dumps(flavors)


def test_an_image_that_eks_does_not_know_registers_with_it():
    graph = aws_graph(asked(pool(nodes=1, image="ubuntu-eks"), **AWS))
    (data,) = [
        r.inputs["userData"]
        for r in graph.resources
        if r.name.endswith("-template") and r.part == "train"
    ]
    said = resolve_values(data.text, str)
    assert f"--register-with-taints=nvidia.com/gpu=present:NoSchedule,{STARTS_WITH}" in said


@every("gate, starts", [("taint", True), ("label", False), ("none", False)])
def test_only_where_nodes_are_to_wait_they_start_closed(gate, starts):
    plan = asked(cloud="simulated", validation={"gate": gate})
    (node, *_) = fake_node_objects(plan, plan.pools[0])
    assert (GATE_TAINT in {t["key"] for t in node["spec"]["taints"]}) is starts
    assert (GATE_TAINT in {t["key"] for t in agent_tolerations(plan)}) is starts


# ── pods that look ────────────────────────────────────────────────────────────────────────────────
def test_its_pods_are_on_nodes_that_have_not_passed_by_this_digest():
    plan = asked(cut_pool(), cloud="simulated")
    made, digest = of_kind(plan, "DaemonSet"), node_digest(plan, plan.pools[0])
    template = made["spec"]["template"]
    assert template["metadata"]["labels"] == {
        CHECKS_LABEL: made["metadata"]["name"],
        CHECKED_LABEL: digest,
    }
    pod = template["spec"]
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    last = [term["matchExpressions"][-1] for term in terms["nodeSelectorTerms"]]
    assert last == [
        {"key": CHECKED_LABEL, "operator": "NotIn", "values": [digest]},
        {"key": CHECK_RESULT_LABEL, "operator": "NotIn", "values": ["passed"]},
    ]
    ready = [
        {each["key"] for each in term["matchExpressions"][:-1]}
        for term in terms["nodeSelectorTerms"]
    ]
    assert ready[0] == ready[1] >= {"nvidia.com/gpu.count", "nvidia.com/mig.config.state"}
    assert {t["key"] for t in pod["tolerations"]} >= {GPU, GATE_TAINT}
    assert "podAntiAffinity" not in pod["affinity"]
    assert pod["automountServiceAccountToken"] is False
    assert "--together" not in pod["containers"][0]["args"]
    assert made["metadata"]["annotations"] == {"pulumi.com/skipAwait": "true"}
    (expects,) = [v["configMap"]["name"] for v in pod["volumes"] if v["name"] == "expectations"]
    assert expects in {
        o["metadata"]["name"] for o in gate_objects(plan) if o["kind"] == "ConfigMap"
    }


def digest_of(*pools, **more):
    plan = asked(*pools, cloud="simulated", **more)
    return node_digest(plan, plan.pools[0])


@every(
    "pools, more, again",
    [
        ([], {}, False),
        ([pool(nodes=9)], {}, False),
        ([], {"validation": {"max_unavailable_percent": 50}}, False),
        ([], {"image": "another"}, True),
        ([], {"software": {"driver": "580.178.04"}}, True),
        ([pool(machine="p4d.24xlarge")], {}, True),
    ],
)
def test_a_node_is_looked_at_again_when_what_its_verdict_rests_on_is_another(pools, more, again):
    assert (digest_of(*pools, **more) != digest_of()) is again


# ── the program ───────────────────────────────────────────────────────────────────────────────────
def test_the_program_is_told_the_pools_and_reads_that():
    plan = asked(pool(), cut_pool(), cloud="simulated", validation={"max_unavailable_percent": 35})
    found = read_settings(Settings, of_kind(plan, "ConfigMap", "-gate")["data"]["settings.json"])
    assert (found.namespace, found.max_unavailable_percent) == ("gpu-operator", 35)
    assert [(p.name, p.selector, p.checks, p.gate) for p in found.pools] == [
        ("train", "gpuyard.dev/pool=train", "gpuyard-lab-gate-train", "taint"),
        ("serve", "gpuyard.dev/pool=serve", "gpuyard-lab-gate-serve", "taint"),
    ]
    assert found.names.taint == {"key": GATE_TAINT, "value": "unchecked", "effect": "NoSchedule"}
    label = asked(validation={"required": False})
    (one,) = read_settings(
        Settings, of_kind(label, "ConfigMap", "-gate")["data"]["settings.json"]
    ).pools
    assert one.gate == "label"


def test_the_program_runs_from_where_it_is_mounted(tmp_path):
    plan = asked(cloud="simulated")
    pod = of_kind(plan, "Deployment")["spec"]["template"]["spec"]
    data = of_kind(plan, "ConfigMap", "-gate")["data"]
    (volume,) = pod["volumes"]
    for item in volume["configMap"]["items"]:
        at = tmp_path / item["path"]
        at.parent.mkdir(exist_ok=True)
        at.write_text(data[item["key"]])
    (container,) = pod["containers"]
    (mount,) = container["volumeMounts"]
    assert mount["mountPath"] == container["workingDir"]
    words = [word.replace(mount["mountPath"], str(tmp_path)) for word in container["args"]]
    (tmp_path / "token").write_text("t")
    ended = subprocess.run(
        [sys.executable, *container["command"][1:], *words, "--once", "--account", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1, ended.stderr
    assert "no certificate authority in" in ended.stdout


def test_its_pod_waits_for_nothing_that_it_is_there_to_open():
    pod = of_kind(asked(cloud="simulated"), "Deployment")["spec"]["template"]["spec"]
    assert {t["key"] for t in pod["tolerations"]} == {"CriticalAddonsOnly", GPU, GATE_TAINT}
    (wish,) = pod["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    (first,) = wish["preference"]["matchExpressions"]
    assert (first["key"], first["operator"]) == ("gpuyard.dev/pool", "DoesNotExist")
    assert pod["containers"][0]["securityContext"]["allowPrivilegeEscalation"] is False


def test_it_begins_when_its_account_is_held_and_ends_before():
    plan = asked(cloud="simulated")
    needs = set(dependencies_of(of_kind(plan, "Deployment")))
    name, space = "gpuyard-lab-gate", "gpu-operator"
    assert needs == {
        ("Namespace", "", space),
        *((kind, space, name) for kind in ("ServiceAccount", "RoleBinding", "ConfigMap")),
        *((kind, "", name) for kind in ("ClusterRoleBinding", "ValidatingAdmissionPolicyBinding")),
    }
    checks = of_kind(plan, "DaemonSet")
    mounted = {
        volume["configMap"]["name"] for volume in checks["spec"]["template"]["spec"]["volumes"]
    }
    needed = {place for kind, _, place in dependencies_of(checks) if kind == "ConfigMap"}
    assert needed == mounted
    made = {object_key(o) for o in (*gate_objects(plan), *validation_objects(plan))}
    assert {("ConfigMap", space, each) for each in mounted} <= made
    bare = {"kind": "Deployment", "metadata": {"name": "x", "namespace": "y"}}
    bare["spec"] = {"template": {"spec": {"volumes": [{"name": "h", "hostPath": {"path": "/"}}]}}}
    assert list(dependencies_of(bare)) == [("Namespace", "", "y")]


def test_the_account_lists_and_patches_and_that_is_all():
    plan = asked(gpu_operator={"install": False, "namespace": "nvidia"})
    rules = {
        (o["kind"], o["metadata"].get("namespace")): o["rules"]
        for o in gate_objects(plan)
        if o["kind"].endswith("Role")
    }
    assert {where: (each["resources"], each["verbs"]) for where, (each,) in rules.items()} == {
        ("ClusterRole", None): (["nodes"], ["list", "patch"]),
        ("Role", "nvidia"): (["pods"], ["list"]),
        ("Role", "default"): (["events"], ["create"]),
    }
    policy = of_kind(plan, "ValidatingAdmissionPolicy")["spec"]
    assert (
        "system:serviceaccount:nvidia:gpuyard-lab-gate"
        in policy["matchConditions"][0]["expression"]
    )
    assert policy["failurePolicy"] == "Fail"
    bound = of_kind(plan, "ValidatingAdmissionPolicyBinding")["spec"]
    assert bound == {"policyName": "gpuyard-lab-gate", "validationActions": ["Deny"]}


@pytest.mark.parametrize("long", ["a" * 40])
def test_names_stay_names_however_long_a_platform_is_called(long):
    plan = asked(pool(long), name=long)
    assert all(len(o["metadata"]["name"]) <= 253 for o in gate_objects(plan))
    made = of_kind(plan, "DaemonSet")
    assert len(made["metadata"]["name"]) <= 63
    assert all(len(v) <= 63 for v in made["spec"]["template"]["metadata"]["labels"].values())
