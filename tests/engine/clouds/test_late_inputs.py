"""Programs with their own network, key and roles, whose outputs are fields of the platform."""

import json

import pytest
from testbed.plugins.cloud.account import Account

from kit.stacks import platform, pool
from stacks import STACK

EKS_POOL = pool(nodes="1..2", capacity=["on-demand"])
GKE_POOL = pool(machine="a2-highgpu-8g", nodes=1, zones=["us-central1-a"], capacity=["on-demand"])
SPECS = {
    "aws": platform([EKS_POOL], cloud="aws", cluster={"protect": False}),
    "gcp": platform([GKE_POOL], cloud="gcp", cluster={"protect": False}),
}
PLACES = {
    "aws": {"aws:region": "us-east-1"},
    "gcp": {"gcp:region": "us-central1", "gcp:project": "my-project"},
}
HEAD = """
import json
from pathlib import Path
import pulumi
from gpuyard.resources import EksCluster, GkeCluster, GpuNodePool

def own(kind, name, inputs, *outputs):
    return pulumi.CustomResource(kind, name, {**dict.fromkeys(outputs), **inputs})

spec = json.loads(Path("platform.json").read_text())
"""
OWN = {
    "aws": """
vpc = own("aws:ec2/vpc:Vpc", "own", {"cidrBlock": "10.0.0.0/16"})
subnets = [
    own("aws:ec2/subnet:Subnet", f"own-{zone}", {
        "vpcId": vpc.id, "cidrBlock": f"10.0.{n}.0/24", "availabilityZone": f"us-east-1{zone}",
    })
    for n, zone in enumerate("ab")
]
key = own("aws:kms/key:Key", "own", {"enableKeyRotation": True}, "arn")

def role(name, service):
    trust = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    return own("aws:iam/role:Role", name, {"name": name, "assumeRolePolicy": policy}, "arn")

spec["cluster"] |= {
    "network": {"id": vpc, "subnets": {"private": pulumi.Output.all(*(s.id for s in subnets))}},
    "key": key.arn,
    "roles": {"cluster": role("own-cluster", "eks.amazonaws.com"), "nodes": role("own-nodes", "ec2.amazonaws.com").arn},
    "admins": [role("own-admin", "ec2.amazonaws.com").arn],
}
cluster = EksCluster("lab", {"platform": spec})
""",
    "gcp": """
network = own("gcp:compute/network:Network", "own", {"name": "own", "autoCreateSubnetworks": False}, "name")
subnetwork = own("gcp:compute/subnetwork:Subnetwork", "own", {
    "name": "own-nodes", "network": network.id, "region": "us-central1", "ipCidrRange": "10.0.0.0/20",
}, "name")
ring = own("gcp:kms/keyRing:KeyRing", "own", {"name": "own", "location": "us-central1"})
key = own("gcp:kms/cryptoKey:CryptoKey", "own", {"name": "own", "keyRing": ring.id})
account = own("gcp:serviceaccount/account:Account", "own", {"accountId": "own-nodes"}, "email", "member")
spec["cluster"] |= {
    "network": {"id": network, "subnets": {"private": [subnetwork]}},
    "key": key,
    "roles": {"nodes": account.email},
}
cluster = GkeCluster("lab", {"platform": spec})
""",
}
EXISTING = """
cluster = own("aws:eks/cluster:Cluster", "own", {
    "name": "blue", "roleArn": role("eks", "eks.amazonaws.com").arn, "version": spec["kubernetes"],
    "vpcConfig": {"subnetIds": [each.id for each in subnets]},
}, "name")
spec = {**spec, "cluster": {"existing": cluster.name}, "system": None}
cluster = EksCluster("lab", {"platform": spec})
"""
POOL = """
GpuNodePool("train", {"platform": spec, "pool": "train", "foundation": cluster.foundation})
"""
CLUSTERS = {"aws": "aws:eks/cluster:Cluster", "gcp": "gcp:container/cluster:Cluster"}
NETWORKS = {"aws": "aws:ec2/vpc:Vpc", "gcp": "gcp:compute/network:Network"}
STAYS = {"aws": set(), "gcp": {"gcp:kms/keyRing:KeyRing"}}
"""What a cloud keeps for ever."""


def configure(lab, cloud, program):
    (lab.folder / "platform.json").write_text(json.dumps(SPECS[cloud]))
    for key, value in PLACES[cloud].items():
        lab.run("config", "set", "--stack", STACK, key, value)
    lab.program(program)


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_a_program_with_its_own_network_key_and_roles_lives_and_dies(of_clouds, tmp_path, cloud):
    account = Account(tmp_path / "cloud", cloud)
    configure(of_clouds, cloud, HEAD + OWN[cloud] + POOL)
    of_clouds.preview()
    assert not account.all()
    of_clouds.up()
    (cluster,) = account.all(CLUSTERS[cloud])
    (network,) = account.all(NETWORKS[cloud])  # no other was created
    state = cluster.state
    used = state["vpcConfig"]["vpcId"] if cloud == "aws" else state["network"]
    assert used == (network.id if cloud == "aws" else "own")
    of_clouds.unchanged()
    of_clouds.up("--refresh", "--expect-no-changes")
    of_clouds.destroy()
    assert {each.kind for each in account.all()} == STAYS[cloud]


def test_nodes_join_a_cluster_of_the_same_program_that_a_preview_does_not_query(of_clouds):
    network = OWN["aws"].partition('spec["cluster"]')[0]
    configure(of_clouds, "aws", HEAD + network + EXISTING + POOL)
    of_clouds.preview()
    of_clouds.up()
    of_clouds.unchanged()
    group = of_clouds.resource("train-on-demand")
    assert group["inputs"]["clusterName"] == "blue"
