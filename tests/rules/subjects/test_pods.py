"""Pods are found wherever a kind keeps them, and what they ask for is read as Kubernetes reads it."""

import pytest

from gpuyard_core.manifests.fields import at, block, is_true, number, text
from gpuyard_core.manifests.pods import gpu_requests
from gpuyard_lint.rules.rule import UNKNOWN, NotEvaluatedError, Resource
from gpuyard_lint.rules.subjects.pods import POD_KINDS, pods_of
from kit.every import every

POD = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "main"}]}}


def put(path, value):
    """A mapping with this value at this path."""
    for step in reversed(path):
        value = [value] if step == 0 else {step: value}
    return value


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("v1/Pod", ()),
        ("v1/PodTemplate", ("template",)),
        ("apps/v1/Deployment", ("spec", "template")),
        ("batch/v1/Job", ("spec", "template")),
        ("batch/v1/CronJob", ("spec", "jobTemplate", "spec", "template")),
        (
            "jobset.x-k8s.io/v1alpha2/JobSet",
            ("spec", "replicatedJobs", 0, "template", "spec", "template"),
        ),
        ("kubeflow.org/v1/PyTorchJob", ("spec", "pytorchReplicaSpecs", "Worker", "template")),
        ("ray.io/v1/RayCluster", ("spec", "workerGroupSpecs", 0, "template")),
        (
            "leaderworkerset.x-k8s.io/v1/LeaderWorkerSet",
            ("spec", "leaderWorkerTemplate", "workerTemplate"),
        ),
    ],
)
def test_a_pod_is_found_where_its_kind_keeps_it(kind, path):
    (pod,) = pods_of(Resource(kind, "x", put(path, POD)))
    assert pod.path == path
    assert pod.metadata == {"labels": {"a": "b"}}
    assert [where for where, _ in pod.containers()] == [(*path, "spec", "containers", 0)]


_OF_ONE_CONTAINER = {"apps.nvidia.com/NIMService", "apps.nvidia.com/NIMCache"}
"""Their spec is that of a container: whatever it holds is one."""


@every("kind", sorted(set(POD_KINDS) - _OF_ONE_CONTAINER))
@every("junk", [{}, {"spec": None}, {"spec": []}, {"spec": {"template": 5}}])
def test_a_resource_without_a_pod_has_none(kind, junk):
    group, _, name = kind.rpartition("/")
    shown = f"{group}/v1/{name}" if group else f"v1/{name}"
    assert [pod for pod in pods_of(Resource(shown, "x", junk)) if list(pod.containers())] == []


def test_other_kinds_have_no_pods():
    assert list(pods_of(Resource("v1/ConfigMap", "x", {"spec": POD["spec"]}))) == []


def test_what_a_pod_asks_for_is_the_sum_of_its_containers():
    spec = {
        "initContainers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}],
        "containers": [
            {"resources": {"limits": {"nvidia.com/gpu": "2", "cpu": 4}}},
            {"resources": {"requests": {"nvidia.com/mig-1g.5gb": 1}}},
        ],
        "resourceClaims": [{"name": "gpu"}],
    }
    (pod,) = pods_of(Resource("v1/Pod", "x", {"spec": spec}))
    assert pod.gpus() == {"nvidia.com/gpu": 3, "nvidia.com/mig-1g.5gb": 1}
    assert pod.claims_devices


def test_a_count_that_is_no_number_asks_for_none_and_an_unknown_one_is_unknown():
    assert gpu_requests({"resources": {"limits": {"nvidia.com/gpu": "many"}}}) == {
        "nvidia.com/gpu": 0
    }
    with pytest.raises(NotEvaluatedError):
        gpu_requests({"resources": {"limits": {"nvidia.com/gpu": UNKNOWN}}})


@pytest.mark.parametrize(
    ("given", "read"),
    [(3, 3), ("3", 3), ("0.5", 0.5), ("x", None), (True, None), (None, None), ([], None)],
)
def test_numbers(given, read):
    assert number(given) == read


@pytest.mark.parametrize(
    ("given", "read"), [(True, True), ("true", True), ("True", True), ("no", False), (1, False)]
)
def test_truths(given, read):
    assert is_true(given) is read


def test_a_block_may_be_a_list_of_one():
    assert block([{"a": 1}]) == block({"a": 1}) == {"a": 1}
    assert block([{"a": 1}, {"a": 2}]) == block(5) == {}


def test_what_stands_at_a_path():
    value = {"a": [{"b": [{"c": "d"}]}]}
    assert at(value, "a", "b", "c") == "d"
    assert at(value, "a", 0, "b", 0, "c") == "d"
    assert at(value, "a", 1) is None
    assert at(value, "x", "y") is None
    assert text(at(value, "a", "b", "c")) == "d"
    assert text(5) == ""
    with pytest.raises(NotEvaluatedError):
        at({"a": UNKNOWN}, "a", "b")


def test_a_resource_knows_its_namespace_and_its_kind_without_a_version():
    resource = Resource("apps/v1/Deployment", "x", {"metadata": {"namespace": "team"}})
    assert (resource.group_kind, resource.namespace) == ("apps/Deployment", "team")
    assert Resource("aws:eks/NodeGroup", "x", {"metadata": {"namespace": 5}}).namespace == ""
    assert Resource("values:gpu-operator", "x", {}).group_kind == "values:gpu-operator"


def test_pods_before_one_that_is_unknown_are_still_seen_each_time():
    sets = [{"template": {"spec": {"containers": [{"name": "a"}]}}}, UNKNOWN]
    resource = Resource("batch.volcano.sh/v1alpha1/Job", "j", {"spec": {"tasks": sets}})
    for _ in range(2):
        pods = pods_of(resource)
        assert [next(pods).spec["containers"][0]["name"]] == ["a"]
        with pytest.raises(NotEvaluatedError):
            next(pods)
