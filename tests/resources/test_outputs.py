"""What a platform gives to the rest of a program: its cluster, provider, pools and teams."""

import pulumi
import pytest

from gpuyard.resources import EksCluster, GkeCluster, GpuNodePool, Platform, Team
from gpuyard.resources.errors import OutputUnavailable, UnknownPart
from kit.clouds import answers
from kit.stacks import platform, pool, team

AWS = platform([pool()], [team()], cloud="aws")
GCP = platform([pool(machine="a3-megagpu-8g", zones=["us-central1-a"])], cloud="gcp")
OWN = platform([pool(), pool("more")], [team()], cluster={"existing": "blue"})
PLACES = {"aws:region": "us-east-1", "gcp:region": "us-central1", "gcp:project": "acme-ml"}
VPC = {"vpcId": "vpc-1", "subnetIds": ["subnet-1", "subnet-2"], "clusterSecurityGroupId": "sg-1"}
EXISTING = {
    "aws:eks/getCluster:getCluster": {
        "name": "blue",
        "endpoint": "https://blue.example",
        "certificateAuthorities": [{"data": "Y2E="}],
        "kubernetesNetworkConfigs": [{"serviceIpv4Cidr": "172.20.0.0/16"}],
        "vpcConfig": VPC,
    },
    "gcp:container/getCluster:getCluster": {
        "name": "blue",
        "location": "us-central1",
        "endpoint": "10.0.0.2",
        "network": "net",
        "subnetwork": "nodes",
        "selfLink": "https://container.googleapis.com/v1/projects/acme-ml/zones/a/clusters/blue",
        "masterAuths": [{"clusterCaCertificate": "Y2E="}],
        "controlPlaneEndpointsConfigs": [],
    },
}


def computed(resource):
    """The outputs of the clouds, with the VPC that EKS finds by the subnets."""
    found = dict(answers.outputs(resource))
    return found | {"vpcConfig": VPC} if resource.type == "aws:eks/cluster:Cluster" else found


@pytest.fixture
def outputs(pulumi_mocks):
    """The outputs that a function takes from a platform, and the graph."""
    clouds = pulumi_mocks.with_settings(
        outputs=computed, calls={**answers.calls(), **EXISTING}, allow_top_level=True
    )

    def run(raw, take):
        found = {}

        def program():
            for name, output in take(Platform("lab", {"platform": raw})).items():
                pulumi.Output.from_input(output).apply(
                    lambda value, n=name: found.update({n: value})
                )

        graph = clouds.run(program, config=PLACES)
        return found, graph

    return run


def test_a_platform_on_eks_gives_the_resource_of_the_cluster_and_its_values(outputs):
    def take(lab):
        assert isinstance(lab.eks, EksCluster)
        assert lab.cluster is lab.eks.cluster
        assert lab.cluster.pulumi_resource_type == "aws:eks/cluster:Cluster"
        names = ("oidc", "node_role", "network", "security_group")
        own = {name: getattr(lab.eks, name) for name in ("arn", "subnets", "certificate_authority")}
        return {name: getattr(lab, name) for name in names} | own | {"name": lab.cluster.name}

    found, _ = outputs(AWS, take)
    assert found["oidc"].startswith("https://oidc.eks.us-east-1.")
    assert found["node_role"].startswith("arn:aws:iam::")
    assert (found["network"], found["security_group"]) == ("vpc-1", "sg-1")
    assert found["arn"].startswith("arn:aws:eks:us-east-1:")
    assert len(found["subnets"]) > 1
    assert found["certificate_authority"]


def test_a_platform_on_gke_gives_the_resource_of_the_cluster_and_its_values(outputs):
    def take(lab):
        assert isinstance(lab.gke, GkeCluster)
        assert lab.cluster is lab.gke.cluster
        assert lab.cluster.pulumi_resource_type == "gcp:container/cluster:Cluster"
        names = ("oidc", "node_role", "network")
        own = {name: getattr(lab.gke, name) for name in ("workload_pool", "subnets")}
        return {name: getattr(lab, name) for name in names} | own | {"id": lab.cluster.id}

    found, _ = outputs(GCP, take)
    assert found["oidc"] == f"https://container.googleapis.com/v1/{found['id']}"
    assert found["node_role"].endswith(".iam.gserviceaccount.com")
    assert found["network"]
    assert found["workload_pool"].endswith(".svc.id.goog")
    assert len(found["subnets"]) == 1


@pytest.mark.parametrize(
    ("raw", "kind"),
    [(AWS, "aws:eks/cluster:Cluster"), (GCP, "gcp:container/cluster:Cluster")],
    ids=["aws", "gcp"],
)
def test_an_existing_cluster_is_read_only_if_a_program_uses_it(outputs, raw, kind):
    raw = {**raw, "cluster": {"existing": "blue"}}
    _, unused = outputs(raw, lambda _: {})
    assert unused.of_type(kind) == []
    _, used = outputs(raw, lambda lab: {"one": lab.cluster.name, "two": lab.cluster.name})
    (read,) = used.of_type(kind)
    assert read.read
    assert read.name == "existing:lab-cluster"


def test_the_kubeconfig_is_secret_and_the_provider_is_that_of_the_platform(outputs):
    def take(lab):
        k8s = pulumi.CustomResource(
            "kubernetes:core/v1:ConfigMap",
            "mine",
            {"metadata": {"name": "mine"}, "data": {"kubeconfig": lab.kubeconfig}},
            pulumi.ResourceOptions(provider=lab.provider),
        )
        return {"urn": k8s.urn}

    _, graph = outputs(AWS, take)
    mine = graph.one("kubernetes:core/v1:ConfigMap", "mine")
    assert mine.secrets == {"data.kubeconfig"}
    assert mine.provider.rpartition("::")[0] == graph.one("pulumi:providers:kubernetes").urn


def test_pools_and_teams_are_components_by_name(outputs):
    def take(lab):
        assert {type(each) for each in lab.pools.values()} == {GpuNodePool}
        assert {type(each) for each in lab.teams.values()} == {Team}
        assert list(lab.pools) == ["train", "more"]
        assert "tran" not in lab.pools
        return {
            "resources": lab.pools["train"].resources,
            "namespaces": lab.teams["vision"].namespaces,
            "queue": lab.teams["vision"].local_queue,
            "summary": lab.pool_summaries["train"]["nodes"],
        }

    found, _ = outputs(OWN, take)
    assert found["resources"] == {"nvidia.com/gpu": 8}
    assert found["namespaces"] == ["vision"]
    assert found["queue"]
    assert found["summary"]


def test_an_unknown_name_shows_the_nearest_one(outputs):
    def take(lab):
        with pytest.raises(UnknownPart) as unknown:
            lab.pools["trian"]
        assert str(unknown.value) == (
            "lab.pools['trian']: the platform has no pool of this name, allowed: train, more; "
            "fix: write 'train'"
        )
        return {}

    outputs(OWN, take)


UNAVAILABLE = (
    "lab.cluster: gpuyard knows no such output on `cloud: none`, only on aws or gcp; fix: use "
    "`provider`, the Kubernetes provider of its cluster"
)


def test_a_cluster_of_your_own_gives_its_provider_and_says_so(outputs):
    def take(lab):
        with pytest.raises(OutputUnavailable) as refused:
            lab.cluster  # noqa: B018  reading it fails
        assert str(refused.value) == UNAVAILABLE
        for name in ("kubeconfig", "oidc", "node_role", "network", "security_group", "eks", "gke"):
            with pytest.raises(OutputUnavailable, match=f"^lab.{name}: "):
                getattr(lab, name)
        assert lab.provider.pulumi_resource_name == "lab-kubernetes"
        return {}

    outputs(OWN, take)


def test_the_component_of_another_cloud_is_named(outputs):
    def take(lab):
        with pytest.raises(OutputUnavailable) as refused:
            lab.gke  # noqa: B018  reading it fails
        assert str(refused.value) == (
            "lab.gke: gpuyard knows no such output on `cloud: aws`, only on gcp; fix: use `eks`, "
            "the component of its cluster"
        )
        return {}

    outputs(AWS, take)
