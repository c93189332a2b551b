"""Clusters as components of their own: what they give to others, and one that is there already."""

import json
from dataclasses import replace

import pulumi
import pytest

from gpuyard.changes.deployed_state import DeployedResource, DeployedState
from gpuyard.resources import EksCluster, GkeCluster, GpuNodePool, Platform
from gpuyard.resources.clusters import change_preview
from gpuyard_core.names import SYSTEM_POOL
from kit.clouds import answers
from kit.stacks import platform, pool

EKS = platform([pool(nodes="0..4"), pool("more")], cloud="aws")
GKE = platform([pool(machine="a3-megagpu-8g", zones=["us-central1-a"])], cloud="gcp")
CASES = pytest.mark.parametrize(
    ("kind", "raw"), [(EksCluster, EKS), (GkeCluster, GKE)], ids=["aws", "gcp"]
)


@pytest.fixture
def clouds(pulumi_mocks):
    return pulumi_mocks.with_settings(outputs=answers.outputs, calls=answers.calls())


def configured():
    pulumi.runtime.set_config("aws:region", "us-east-1")
    pulumi.runtime.set_config("gcp:region", "us-central1")


def apart(kind, raw, given=lambda cluster: cluster.foundation):
    """A cluster, and its first pool as another program would make it: with values alone."""

    def program():
        configured()
        cluster = kind("lab", {"platform": raw})
        args = {"platform": raw, "pool": "train", "foundation": given(cluster)}
        GpuNodePool("train", args)

    return program


def together(raw):
    def program():
        configured()
        Platform("lab", {"platform": raw})

    return program


def groups(graph):
    found = [one for one in graph if one.type.endswith((":NodeGroup", ":NodePool"))]
    return {one.name.rpartition("lab-")[2]: one for one in found}


@CASES
def test_a_pool_apart_is_bought_as_in_a_platform(clouds, kind, raw):
    alone, inside = groups(clouds.run(apart(kind, raw))), groups(clouds.run(together(raw)))
    name = next(name for name in alone if name.startswith("train"))
    cluster_wide = {"clusterName", "launchTemplate", "nodeRoleArn", "subnetIds", "nodeConfig"}
    for key, value in inside[name].inputs.items():
        if key not in cluster_wide:
            assert alone[name].inputs[key] == value, key


@CASES
def test_pools_apart_wait_for_all_of_their_cluster(clouds, kind, raw):
    graph = clouds.run(apart(kind, raw))
    cluster = {one.urn for one in graph if one.custom and graph.ancestors(one)[0].name == "lab"}
    (group,) = [one for name, one in groups(graph).items() if name.startswith("train")]
    assert cluster <= set(group.dependencies)


@CASES
def test_a_preview_of_a_pool_apart_registers_the_same(clouds, kind, raw):
    clouds.assert_same_when_unknown(apart(kind, raw))


def test_the_values_may_be_written_down(clouds):
    graph = clouds.run(apart(EksCluster, EKS))
    outputs = graph.one("gpuyard:index:EksCluster").registered_outputs
    assert outputs["clusterName"] == "lab"
    assert outputs["endpoint"].startswith("https://")
    assert outputs["nodeRole"].startswith("arn:aws:iam::")
    assert json.loads(outputs["kubeconfig"])["current-context"] == "lab"
    again = clouds.run(apart(EksCluster, EKS, given=lambda _: outputs["foundation"]))
    assert set(groups(again)) == set(groups(graph))


def test_a_pool_apart_sends_new_bounds_with_the_size_that_its_node_group_has(clouds, monkeypatch):
    before = groups(clouds.run(apart(EksCluster, EKS)))
    (there,) = [one for name, one in before.items() if name.startswith("train")]
    left = DeployedResource(urn=there.urn, kind=there.type, outputs=there.outputs)
    stand = DeployedState((left, replace(left, urn=f"{there.urn}-other")), {})
    monkeypatch.setattr(change_preview, "last_known_state", lambda: stand)
    asked = []

    def told(args):
        asked.append(args)
        return {"scalingConfigs": [{"desiredSize": 3}]}

    clouds = clouds.with_settings(
        calls={**answers.calls(), "aws:eks/getNodeGroup:getNodeGroup": told}
    )
    raised = {**EKS, "pools": [pool(nodes="2..6"), pool("more")]}
    (group,) = [
        one
        for name, one in groups(clouds.run(apart(EksCluster, raised))).items()
        if name.startswith("train")
    ]
    assert group.inputs["scalingConfig"] == {"minSize": 2, "desiredSize": 3, "maxSize": 6}
    assert asked == [{"clusterName": "lab", "nodeGroupName": there.inputs["nodeGroupName"]}]


def test_nodes_join_a_cluster_that_is_there(pulumi_mocks):
    there = {
        "name": "blue",
        "endpoint": "https://blue.example",
        "certificateAuthorities": [{"data": "Y2E="}],
        "kubernetesNetworkConfigs": [{"serviceIpv4Cidr": "172.20.0.0/16"}],
        "vpcConfig": {
            "vpcId": "vpc-1",
            "subnetIds": ["subnet-1", "subnet-2"],
            "clusterSecurityGroupId": "sg-1",
        },
    }
    calls = {**answers.calls(), "aws:eks/getCluster:getCluster": there}
    runner = pulumi_mocks.with_settings(outputs=answers.outputs, calls=calls)
    graph = runner.run(together({**EKS, "cluster": {"existing": "blue"}}))
    assert [one for one in graph if one.type == "aws:eks/cluster:Cluster"] == []
    found = groups(graph)
    assert {one.inputs["clusterName"] for one in found.values()} == {"blue"}
    said = graph.one("pulumi:providers:kubernetes").inputs
    assert said["clusterIdentifier"] == "https://blue.example"
    assert json.loads(said["kubeconfig"])["current-context"] == "blue"


def test_the_profile_of_the_provider_is_that_of_the_way_in(clouds):
    def program():
        pulumi.runtime.set_config("aws:profile", "training")
        together(EKS)()

    said = clouds.run(program).one("pulumi:providers:kubernetes").inputs["kubeconfig"]
    (user,) = json.loads(said)["users"]
    assert user["user"]["exec"]["env"] == [{"name": "AWS_PROFILE", "value": "training"}]


def test_by_its_name_a_cluster_of_gke_needs_no_certificate(pulumi_mocks):
    def outputs(resource):
        found = dict(answers.outputs(resource))
        if resource.type == "gcp:container/cluster:Cluster":
            ways = {"dnsEndpointConfig": {"allowExternalTraffic": True, "endpoint": answers.DNS}}
            found["controlPlaneEndpointsConfig"] = ways
        return found

    runner = pulumi_mocks.with_settings(outputs=outputs, calls=answers.calls())
    graph = runner.run(together({**GKE, "cluster": {"endpoint": {"dns": True}}}))
    config = json.loads(graph.one("pulumi:providers:kubernetes").inputs["kubeconfig"])
    assert config["clusters"][0]["cluster"] == {"server": f"https://{answers.DNS}"}


def test_manifests_go_to_a_folder_and_nodes_to_the_cloud(clouds):
    graph = clouds.run(together({**EKS, "apply": "render"}))
    provider = graph.one("pulumi:providers:kubernetes")
    assert provider.inputs["renderYamlToDirectory"] == "rendered/lab"
    assert SYSTEM_POOL in "".join(groups(graph))


def test_a_provider_that_is_given_is_the_way_in(clouds):
    def program():
        configured()
        given = pulumi.ProviderResource("kubernetes", "mine", {})
        Platform("lab", {"platform": EKS}, pulumi.ResourceOptions(providers=[given]))

    assert clouds.run(program).one("pulumi:providers:kubernetes").name == "mine"
