"""Whole platforms as files: the same bytes as yesterday, and what a cluster will take."""

import json
from functools import lru_cache

import pytest
import yaml
from testbed.plugins.cloud.inside.classes.definition import FILE as GKE_CLASSES

import sizes
from gpuyard.plan import plan as judged
from gpuyard.plan import plan_or_raise
from gpuyard.plan.records.late import resolve_outputs, unresolved_output_names
from gpuyard.render.files import render_files
from gpuyard.render.platform import object_groups, platform_objects
from gpuyard.spec.read import read_stack_file
from gpuyard_core.errors import OutputValueMissing
from gpuyard_core.manifests.quantities import quantity
from gpuyard_core.names import KUBE_SYSTEM, KUEUE_NAMESPACE
from gpuyard_testing import CrdFolder
from kit.generated import platforms
from kit.levels import upstream
from kit.stacks import CUT, cut_pool, plan_of, platform, pool, shared_pool, team

HERE = sizes.ROOT / "tests" / "render"
STACKS = {"local": sizes.ROOT / "stacks" / "Pulumi.local.yaml"} | {
    path.stem: path for path in sorted((sizes.ROOT / "tests" / "golden_stacks").glob("*.yaml"))
}
WRITTEN_OUT = ("local", "research", "mps-inference")
"""Those whose every object is a golden file; of the others the plan is one, in tests/golden_stacks."""
LATE = {"cluster.name": "research-1"}


@lru_cache
def stack(name):
    return plan_or_raise(spec(name))


def spec(name):
    return read_stack_file(STACKS[name].read_bytes(), name).spec


PLANNED = [name for name in STACKS if judged(spec(name))[0] is not None]


EVERY_SHARING = platform(
    [
        pool(previous_names=["old"]),
        cut_pool(),
        cut_pool(
            "parts",
            sharing={
                "mig": [{"gpus": "0-3", "1g.5gb": 6, "1g.5gb+me": 1}, {"gpus": 5, "7g.40gb": 1}]
            },
        ),
        cut_pool("turns", sharing={**CUT, "time_slicing": 2}),
        shared_pool(),
        pool("mps", sharing={"mps": 8}),
    ],
    [
        team(guarantee={"train": 8, "serve": 1}, lend={"train": 4}, groups=["a"]),
        team("b", borrow={"mps/shared": 1}),
    ],
    queueing={"preemption": "never", "fair_sharing": False},
    priorities={"production": 1000, "research": -10},
)


@lru_cache
def every_sharing():
    return plan_of(EVERY_SHARING)


def objects_of(plan):
    return [resolve_outputs(obj, lambda name: LATE[name]) for obj in platform_objects(plan)]


def plans():
    made = [found for found in (platforms.known(n)[0] for n in platforms.KNOWN) if found][:12]
    return [*(stack(name) for name in PLANNED), every_sharing(), *made]


@pytest.mark.repeats("the others of this file")
@pytest.mark.parametrize("name", WRITTEN_OUT)
def test_the_files_of_a_stack_are_the_golden_ones(name, golden):
    files = render_files(stack(name), LATE)
    text = "".join(f"# ── {file}\n{content}" for file, content in files.items())
    golden(HERE / "golden" / f"{name}.yaml", text)


@pytest.mark.parametrize("name", PLANNED)
def test_the_same_stack_gives_the_same_bytes(name):
    assert render_files(plan_or_raise(spec(name)), LATE) == render_files(stack(name), LATE)


@pytest.mark.parametrize("name", PLANNED)
def test_the_files_hold_the_objects_in_their_order(name):
    files = render_files(stack(name), LATE)
    assert list(files) == sorted(files)
    manifests = [text for file, text in files.items() if "/" not in file]
    read = [doc for text in manifests for doc in yaml.safe_load_all(text)]
    assert read == objects_of(stack(name))


def test_file_names_sort_also_when_there_are_a_thousand(monkeypatch):
    groups = [(f"team-t{i}", [{"kind": "Namespace"}]) for i in range(1001)]
    monkeypatch.setattr("gpuyard.render.files.object_groups", lambda plan: groups)
    files = render_files(stack("local"), {})
    assert list(files) == sorted(files)
    assert list(files)[-1] == "1000-team-t1000.yaml"


def test_a_value_that_only_a_cluster_knows_is_asked_for_by_name():
    with pytest.raises(OutputValueMissing) as caught:
        render_files(stack("research"), {})
    assert str(caught.value) == (
        "the value of `cluster.name` exists only when the cluster exists: pass it with --values "
        "FILE, as `cluster.name: …`"
    )
    assert unresolved_output_names(platform_objects(stack("research"))) == {"cluster.name"}


def test_all_values_that_only_a_cluster_knows_are_asked_for_at_once():
    spec = platform([pool(scaling="karpenter", capacity=["spot"], nodes="0..2")], cloud="aws")
    with pytest.raises(OutputValueMissing) as caught:
        render_files(plan_of(spec), {})
    assert str(caught.value) == (
        "the values of `cluster.name`, `cluster.vpcConfig.clusterSecurityGroupId`, "
        "`interruptions.name`, `karpenter-nodes.name`, `nodes.id`, `private-another-1.id`, "
        "`private-another-2.id` exist only when the cluster exists: pass them with --values FILE, "
        "as `cluster.name: …`"
    )


def test_a_cluster_of_ones_own_knows_all_values():
    assert unresolved_output_names(platform_objects(stack("local"))) == set()


@lru_cache
def crds():
    return CrdFolder(upstream("crds"))


BUILT_IN = {
    *("Namespace", "ConfigMap", "Node", "NetworkPolicy", "Role", "RoleBinding"),
    *("LimitRange", "ResourceQuota", "ResourceClaimTemplate"),
    *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
    *("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"),
    *("GKENetworkParamSet", "Network"),  # GKE's own
    *("CronJob", "DaemonSet", "Deployment", "ServiceAccount", "ClusterRole", "ClusterRoleBinding"),
}


@pytest.mark.repeats("tests/render, tests/plan, tests/testing")
def test_every_custom_object_is_valid_under_its_real_crd():
    checked, of_gke = set(), CrdFolder(GKE_CLASSES.parent)
    for plan in plans():
        for obj in objects_of(plan):
            theirs = of_gke if obj["kind"] == "ComputeClass" else crds()
            found = theirs.violations(obj)
            if obj["kind"] in BUILT_IN:
                assert found is None
                continue
            assert found == [], (obj["kind"], obj["metadata"]["name"])
            checked.add(obj["kind"])
    assert checked == {
        "AdmissionCheck",
        "ClusterPolicy",
        "ClusterQueue",
        "ClusterTrainingRuntime",
        "Cohort",
        "ComputeClass",
        "ComputeDomain",
        "LocalQueue",
        "ProvisioningRequestConfig",
        "ResourceFlavor",
        "MultiKueueCluster",
        "MultiKueueConfig",
        "PrometheusRule",
        "ServiceMonitor",
        "Topology",
        "WorkloadPriorityClass",
    }


def emptied(schema, value, path=""):
    """Paths of what is empty, and of which server-side apply leaves null once anything was in it.

    Seen on a real API server: a mapping whose last field is taken away becomes null, which the server refuses
    for kinds with a definition; so does a list whose items have keys. A list that is replaced as a whole does
    not.
    """
    if value == {} or (value == [] and schema.get("x-kubernetes-list-type", "atomic") != "atomic"):
        yield path
    elif isinstance(value, dict):
        known, rest = schema.get("properties", {}), schema.get("additionalProperties")
        for key, inner in value.items():
            yield from emptied(known.get(key, rest or {}), inner, f"{path}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from emptied(schema.get("items", {}), inner, f"{path}[{index}]")


def test_no_custom_object_has_what_apply_would_leave_as_null():
    checked = set()
    for plan in (*plans(), nothing_left(), *every_known()):
        for obj in objects_of(plan):
            crd = crds().definition(obj["apiVersion"], obj["kind"])
            if crd is not None:
                version = obj["apiVersion"].rpartition("/")[2]
                served = next(one for one in crd["spec"]["versions"] if one["name"] == version)
                found = list(emptied(served["schema"]["openAPIV3Schema"], obj))
                always = [".spec.mlPolicy.torch", ".spec.mlPolicy.jax"]  # they have no fields
                assert [each for each in found if each not in always] == [], (
                    obj["kind"],
                    obj["metadata"]["name"],
                )
                checked.add(obj["kind"])
    assert {"ClusterPolicy", "Cohort", "ClusterQueue", "ResourceFlavor"} <= checked


def every_known():
    return [plan for plan, _ in map(platforms.known, platforms.KNOWN) if plan is not None]


def nothing_left():
    """A platform of which nobody's share is nothing, and whose root cohort says nothing."""
    return plan_of(
        platform(
            [pool(nodes=2)],
            [team(guarantee={"train": 16})],
            queueing={"fair_sharing": False, "preemption": "never"},
        )
    )


def test_what_apply_would_leave_as_null_is_found():
    keyed = {"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}}
    whole = {"type": "array", "items": {"properties": {"at": {"type": "object"}}}}
    schema = {
        "properties": {"keyed": keyed, "whole": whole, "any": {"additionalProperties": keyed}}
    }
    assert list(emptied(schema, {"keyed": [], "whole": [], "any": {"a": []}})) == [
        ".keyed",
        ".any.a",
    ]
    assert list(emptied(schema, {"whole": [{"at": {}}]})) == [".whole[0].at"]
    assert list(emptied(schema, {})) == [""]


def identity(obj):
    meta = obj["metadata"]
    return obj["apiVersion"], obj["kind"], meta.get("namespace"), meta["name"]


NAMESPACED = {
    "ComputeDomain",
    "ConfigMap",
    "LimitRange",
    "LocalQueue",
    "NetworkPolicy",
    "PrometheusRule",
    "ResourceClaimTemplate",
    "ResourceQuota",
    "ServiceMonitor",
    "Role",
    "RoleBinding",
} | {
    "CronJob",
    "DaemonSet",
    "Deployment",
    "ServiceAccount",
}


def test_no_two_objects_are_the_same_one():
    for plan in plans():
        names = [identity(obj) for obj in platform_objects(plan)]
        assert len(set(names)) == len(names)


def test_namespaces_are_explicit_and_every_object_says_whose_it_is():
    for plan in plans():
        for obj in platform_objects(plan):
            assert ("namespace" in obj["metadata"]) == (obj["kind"] in NAMESPACED)
            labels = obj["metadata"]["labels"]
            assert labels["app.kubernetes.io/managed-by"] == "gpuyard"
            assert labels["gpuyard.dev/platform"] == plan.name
            assert list(labels) == sorted(labels)


def named(obj):
    """What must exist before an object, as (kind, name)."""
    meta, spec = obj["metadata"], obj.get("spec", {})
    if "namespace" in meta:
        yield "Namespace", meta["namespace"]
    if "parentName" in spec:
        yield "Cohort", spec["parentName"]
    if "cohortName" in spec:
        yield "Cohort", spec["cohortName"]
    if "clusterQueue" in spec:
        yield "ClusterQueue", spec["clusterQueue"]
    if obj["kind"] == "RoleBinding":
        yield "Role", obj["roleRef"]["name"]
    for group in spec.get("resourceGroups", ()):
        for flavor in group["flavors"]:
            yield "ResourceFlavor", flavor["name"]


def test_what_an_object_names_stands_before_it():
    for plan in plans():
        seen = {("Namespace", KUEUE_NAMESPACE)}  # with Kueue
        seen |= {("Namespace", KUBE_SYSTEM), ("Namespace", "default")}  # always
        if plan.observability is not None and not plan.observability.installs:
            seen.add(("Namespace", plan.observability.namespace))  # of the existing Prometheus
        for obj in platform_objects(plan):
            assert set(named(obj)) <= seen, identity(obj)
            seen.add((obj["kind"], obj["metadata"]["name"]))


def leaves(value, path=()):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, path)
    else:
        yield path, value


QUANTITIES = {"nominalQuota", "borrowingLimit", "lendingLimit", "weight"}


@pytest.mark.repeats("the others of this file and tests/scheduler/test_trees.py")
def test_quantities_are_text_as_the_api_gives_them_back():
    checked = set()
    for plan in plans():
        for path, value in (x for obj in platform_objects(plan) for x in leaves(obj)):
            if (path[-1] in QUANTITIES and "affinity" not in path) or path[:2] == ("spec", "hard"):
                assert isinstance(value, str), path
                assert quantity(value) >= 0
                checked.add(path[-1])
    assert {*QUANTITIES, "requests.nvidia.com/gpu"} <= checked


def test_a_toleration_always_names_its_taint():
    for plan in plans():
        for obj in platform_objects(plan):
            spec = obj.get("spec", {})
            for toleration in [
                *spec.get("tolerations", ()),
                *spec.get("daemonsets", {}).get("tolerations", ()),
            ]:
                assert toleration["key"] in {
                    "nvidia.com/gpu",
                    "gpuyard.dev/pool",
                    "kubernetes.io/arch",
                    "cloud.google.com/gke-queued",
                    "cloud.google.com/compute-class",
                }
                assert toleration["effect"] == "NoSchedule"
                assert toleration["operator"] == ("Equal" if "value" in toleration else "Exists")


def test_kueues_rules_hold_in_the_objects():
    for plan in plans():
        for obj in platform_objects(plan):
            groups = obj.get("spec", {}).get("resourceGroups", ())
            for group in groups:
                for flavor in group["flavors"]:
                    assert [r["name"] for r in flavor["resources"]] == group["coveredResources"]
            resources = [r for g in groups for r in g["coveredResources"]]
            assert len(set(resources)) == len(resources)


@pytest.mark.repeats("the others of this file")
def test_objects_are_plain_values():
    for plan in plans():
        assert json.loads(json.dumps(objects_of(plan))) == objects_of(plan)


def test_groups_are_named_for_what_they_are_for():
    assert [name for name, _ in object_groups(stack("local"))] == [
        "platform",
        "gpu-operator",
        "nodes-train",
        "nodes-serve",
        "nodes-dev",
        "queueing",
        "admission",
        "access",
        "team-vision",
        "team-speech",
        "team-search",
    ]
    assert [name for name, _ in object_groups(stack("research"))] == [
        "platform",
        "gpu-operator",
        "networks",
        "autoscaler",
        "kueue",
        "queueing",
        "admission",
        "access",
        "team-vision",
        "team-speech",
        "requeue",
    ]
