"""EFA's device plugin: where it runs, what it may, and that the agents of fake nodes know it."""

import pytest

from gpuyard.render.platform import cloud_objects
from gpuyard.render.supply.images import pulled_images
from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_simulate.agents.cloud_node import EFA_PLUGIN, agent_in
from kit.stacks import plan_of, platform, pool, team


def daemon_set(**more):
    (found,) = cloud_objects(plan_of(platform(cloud="aws", **more)))
    return found["spec"]["template"]["spec"]


def test_it_runs_where_adapters_are_and_nowhere_else():
    affinity = daemon_set()["affinity"]["nodeAffinity"]
    ((term,),) = [
        each["matchExpressions"]
        for each in affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    ]
    assert term["key"] == "node.kubernetes.io/instance-type"
    assert "p5.48xlarge" in term["values"]
    assert [name for name in term["values"] if not MACHINES[name].efa_interfaces] == []


def test_it_tolerates_the_taints_of_every_pool():
    pools = [pool(owners=["vision"]), pool("open")]
    plan = plan_of(platform(pools, [team("vision", guarantee={"train": 8})], cloud="aws"))
    (found,) = cloud_objects(plan)
    tolerated = {each["key"] for each in found["spec"]["template"]["spec"]["tolerations"]}
    assert {taint.key for each in plan.pools for taint in each.taints} <= tolerated


def test_no_deployment_waits_for_a_node_that_boots():
    (found,) = cloud_objects(plan_of(platform(cloud="aws")))
    assert found["metadata"]["annotations"] == {"pulumi.com/skipAwait": "true"}
    assert found["metadata"]["namespace"] == "kube-system"


def test_agents_of_fake_nodes_know_its_image():
    spec = daemon_set()
    running = {"spec": spec, "status": {"phase": "Running"}}
    assert agent_in(running) == EFA_PLUGIN


@pytest.mark.parametrize(
    "raw",
    [
        platform([pool(machine="g6.xlarge")], cloud="aws"),
        platform(cloud="aws", cluster={"existing": "blue"}),
        platform(cloud="simulated"),
        platform(),
    ],
    ids=["no adapters", "existing", "simulated", "own"],
)
def test_elsewhere_it_is_not_made(raw):
    assert cloud_objects(plan_of(raw)) == []


def test_its_image_is_listed_and_may_come_from_a_mirror():
    (image,) = [each for each in images() if "efa" in each.repository]
    assert (image.reference, image.component) == (
        "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.20",
        "EFA's device plugin",
    )
    (image,) = [
        each for each in images(mirror={"images": "all.example"}) if "efa" in each.repository
    ]
    assert image.repository == "all.example/eks/aws-efa-k8s-device-plugin"


def images(**more):
    return pulled_images(plan_of(platform(cloud="aws", **more)))
