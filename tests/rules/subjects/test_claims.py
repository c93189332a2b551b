"""Whose devices a pod claims, by the claims in view."""

from gpuyard_core.manifests.pods import Pod
from gpuyard_lint.rules.rule import UNKNOWN, Resource, Stack
from gpuyard_lint.rules.subjects.claims import claims_only_other_devices
from gpuyard_lint.rules.subjects.device_counts import uses_time_slicing
from kit.every import every


def pod(*claims, gpus=0):
    limits = {"nvidia.com/gpu": gpus} if gpus else {}
    containers = [{"name": "a", "resources": {"limits": limits}}]
    return Pod((), {}, {"resourceClaims": list(claims), "containers": containers})


def template(name, *requests):
    spec = {"spec": {"devices": {"requests": list(requests)}}}
    return Resource("resource.k8s.io/v1/ResourceClaimTemplate", name, {"spec": spec})


INTEL = {"exactly": {"deviceClassName": "gpu.intel.com"}}
NVIDIA = {"deviceClassName": "gpu.nvidia.com"}
BY_NAME = {"resourceClaimTemplateName": "x-gpu"}


@every(
    ("asked", "templates", "others"),
    [
        (pod(BY_NAME), [template("x-gpu", INTEL)], True),
        (pod(BY_NAME), [template("${APP}-gpu", INTEL)], True),
        (pod(BY_NAME), [template("${APP}-gpu", INTEL), template("x-gpu", NVIDIA)], False),
        (pod(BY_NAME), [template("y-gpu", INTEL)], False),
        (pod(BY_NAME), [template("${APP}-cpu", INTEL)], False),
        (pod(BY_NAME), [template("x-gpu", INTEL, NVIDIA)], False),
        (pod(BY_NAME), [template("x-gpu", {"deviceClassName": "of-the-team"})], False),
        (pod(BY_NAME), [template("x-gpu")], False),
        (pod(BY_NAME, gpus=1), [template("x-gpu", INTEL)], False),
        (pod({"resourceClaimTemplateName": UNKNOWN}), [template("x-gpu", INTEL)], False),
        (pod({"name": "g"}), [template("x-gpu", INTEL)], False),
        (pod(), [template("x-gpu", INTEL)], False),
    ],
)
def test_a_pod_claims_what_others_make_where_all_that_may_be_meant_says_so(
    asked, templates, others
):
    assert claims_only_other_devices(Stack(tuple(templates)), asked) is others


@every(
    ("sharing", "turns"),
    [
        ({"timeSlicing": {"resources": [{"replicas": 2}]}}, True),
        ({"timeSlicing": {"resources": [{"replicas": 1}]}}, False),
        ({"timeSlicing": {"resources": [{}]}}, False),
        ({"timeSlicing": {"resources": UNKNOWN}}, False),
        ({"mps": {"resources": [{"replicas": 2}]}}, False),
    ],
)
def test_turns_are_handed_out_by_a_plugin_that_is_told_of_several(sharing, turns):
    plugin = Resource("config:device-plugin", "c", {"version": "v1", "sharing": sharing})
    assert uses_time_slicing(Stack((plugin,))) is turns
    assert uses_time_slicing(Stack(())) is False
