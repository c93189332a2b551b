"""Claimed GPUs: a GPUCluster in the place of a ClusterPolicy, and what each team's jobs claim by."""

import pytest
import yaml
from testbed.plugins.kubernetes.helm import unknown_values

from gpuyard.render.gpu_operator.objects import gpu_operator_objects
from gpuyard.render.gpu_operator.values import gpu_operator_release
from gpuyard.render.teams import claim_objects, team_objects
from gpuyard_core.catalogue.software.pins import PINS
from gpuyard_testing import CrdFolder
from kit.levels import upstream
from kit.stacks import plan_of, platform, pool, shape, team

RACK = {
    "machine": "p6e-gb200.36xlarge",
    "nodes": 18,
    "zones": ["us-east-1a"],
    "capacity": [{"block": "cr-0123456789abcdef0", "nodes": 18}],
}


def claiming(cloud="none", shapes=(), teams=(), more=None, **pools):
    return platform([pool(sharing="dra", **pools)], teams, cloud=cloud, shapes=shapes, **more or {})


PLANS = {
    "own": plan_of(claiming()),
    "own-driver": plan_of(claiming(image="own-driver")),
    "al2023-nvidia": plan_of(claiming("aws")),
    "ubuntu-eks": plan_of(claiming("aws", image="ubuntu-eks")),
    "rack": plan_of(claiming("aws", **RACK)),
    "mirror": plan_of(claiming(more={"mirror": {"images": "mirror.example/gpu"}})),
}
VALUES = {name: gpu_operator_release(plan).values for name, plan in PLANS.items()}
DRIVERS_OF_OPERATOR = {"own", "ubuntu-eks", "mirror"}


def gpu_cluster(values):
    """What the chart's template makes of values."""
    words = ("draDriver", "dcgm", "dcgmExporter", "hostPaths", "daemonsets")
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "GPUCluster",
        "metadata": {"name": "gpu-cluster"},
        "spec": {word: values[word] for word in words if word in values},
    }


@pytest.mark.parametrize("name", sorted(PLANS))
def test_one_of_the_two_is_made_and_the_device_plugin_is_off(name):
    found, plan = VALUES[name], PLANS[name]
    own = yaml.safe_load(upstream("values", "gpu-operator.yaml").read_text(encoding="utf-8"))
    unsaid = {
        "operator.version",
        "validator.version",
    }  # read by its templates, left out of its values
    assert set(unknown_values(found, own)) <= unsaid
    assert (found["clusterPolicy"], found["gpuCluster"]) == (
        {"deployCR": False},
        {"deployCR": True},
    )
    for part in ("devicePlugin", "migManager", "toolkit", "gfd"):
        assert found[part]["enabled"] is False, part
        assert "env" not in found[part]
    assert found["driver"]["enabled"] is (name in DRIVERS_OF_OPERATOR)
    by_object = found["driver"].get("nvidiaDriverCRD")
    assert by_object == ({"enabled": True} if name in DRIVERS_OF_OPERATOR else None)
    assert found["draDriver"]["computeDomains"] == {"enabled": name == "rack"}
    crds = CrdFolder(upstream("crds", "gpu-operator"))
    assert crds.violations(gpu_cluster(found)) == []
    assert crds.violations(gpu_cluster({**found, "draDriver": {"computeDomains": True}}))
    owners = plan.pools[0].node_software.owners
    assert (owners["devicePlugin"], owners["migManager"]) == ("the DRA driver", "the DRA driver")
    assert owners["toolkit"] == {
        "al2023-nvidia": "image",
        "rack": "image",
    }.get(name, "the container runtime")


def test_no_agent_reads_a_configuration_where_gpus_are_claimed():
    assert [each["kind"] for each in gpu_operator_objects(PLANS["own"])] == ["Namespace"]


def test_the_image_of_the_driver_comes_from_the_mirror():
    assert VALUES["mirror"]["draDriver"]["repository"] == "mirror.example/gpu/nvidia"


def test_where_nvidia_has_no_procedure_the_operator_is_as_ever():
    plan = plan_of(claiming("gcp", machine="a3-highgpu-8g", image="ubuntu-gke"))
    values = gpu_operator_release(plan).values
    assert not {"clusterPolicy", "gpuCluster", "draDriver"} & values.keys()
    assert values["devicePlugin"]["enabled"] is False
    assert values["toolkit"]["enabled"] is True


def test_simulated_nodes_get_the_object_that_a_chart_would_make():
    rack = plan_of(claiming("simulated", machine="a4x-highgpu-4g", nodes=18))
    for plan, domains in ((plan_of(claiming("simulated")), False), (rack, True)):
        (found,) = [o for o in gpu_operator_objects(plan) if o["kind"] == "GPUCluster"]
        assert found["metadata"]["name"] == "gpu-cluster"
        assert found["spec"]["draDriver"] == {
            "version": f"v{PINS['dra-driver'].version}",
            "computeDomains": {"enabled": domains},
        }
        assert CrdFolder(upstream("crds", "gpu-operator")).violations(found) == []
        assert not [o for o in gpu_operator_objects(plan) if o["kind"] == "ClusterPolicy"]


def claims_of(plan, name):
    given = plan.team(name)
    return [o for space in given.namespaces for o in claim_objects(plan, given, space)]


def test_a_team_has_a_template_for_each_shape_that_it_has_quota_for():
    shapes = [shape("small", gpus_per_node=2), shape("big", nodes=2, gpus_per_node=8)]
    teams = [
        team("a", guarantee={"train": 16}, namespaces=["a", "a-two"]),
        team("b", guarantee={"train": 4}),
    ]
    plan = plan_of(claiming(shapes=shapes, teams=teams))
    made = {(o["metadata"]["namespace"], o["metadata"]["name"]): o for o in claims_of(plan, "a")}
    assert list(made) == [("a", "small"), ("a", "big"), ("a-two", "small"), ("a-two", "big")]
    assert [o["metadata"]["name"] for o in claims_of(plan, "b")] == ["small"]
    big = made["a", "big"]
    assert (big["apiVersion"], big["kind"]) == ("resource.k8s.io/v1", "ResourceClaimTemplate")
    exactly = {"deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount", "count": 8}
    assert big["spec"] == {
        "spec": {"devices": {"requests": [{"name": "gpus", "exactly": exactly}]}}
    }
    kinds = [o["kind"] for o in team_objects(plan, plan.team("b"))]
    assert kinds.index("ResourceClaimTemplate") < kinds.index("LocalQueue")
    counted = plan_of(
        platform(teams=[team("a", guarantee={"train": 8})], shapes=[shape("s", gpus_per_node=8)])
    )
    assert claims_of(counted, "a") == []


def test_a_shape_that_goes_over_a_rack_has_a_domain_for_its_nvlink():
    shapes = [shape("llm", nodes=18, gpus_per_node=4), shape("one", gpus_per_node=4)]
    teams = [team("a", guarantee={"train": 72})]
    plan = plan_of(claiming("aws", shapes, teams, **RACK))
    *templates, domain = claims_of(plan, "a")
    assert [o["metadata"]["name"] for o in templates] == ["llm", "one"]
    assert (domain["kind"], domain["metadata"]["name"]) == ("ComputeDomain", "llm")
    assert domain["spec"]["channel"]["resourceClaimTemplate"] == {"name": "llm-channel"}
    assert CrdFolder(upstream("crds", "dra-driver")).violations(domain) == []
    theirs = plan_of(claiming("aws", shapes, teams, {"gpu_operator": {"install": False}}, **RACK))
    assert [o["kind"] for o in claims_of(theirs, "a")] == ["ResourceClaimTemplate"] * 2
