"""Programs with their own network, key and roles, whose outputs are fields of the platform."""

import json

import pytest
from testbed.plugins.cloud.account import CALLER

from kit.stacks import platform, pool, team
from stacks import STACK

EKS_POOL = pool(nodes="1..2", capacity=["on-demand"])
GKE_POOL = pool(machine="a2-highgpu-8g", nodes=1, zones=["us-central1-a"], capacity=["on-demand"])
TEAMS = [team(guarantee={"train": 8}, protect=False)]
REST = {"queueing": {"install": False}, "cluster": {"protect": False}}
SPECS = {
    "aws": platform([EKS_POOL], TEAMS, cloud="aws", **REST),
    "gcp": platform([GKE_POOL], TEAMS, cloud="gcp", **REST),
}
HEAD = """
import json
from pathlib import Path
import pulumi
import pulumi_aws as aws
import pulumi_gcp as gcp
from gpuyard.resources import EksCluster, GpuNodePool, Platform

spec = json.loads(Path("platform.json").read_text())
"""
OWN = {
    "aws": """
vpc = aws.ec2.Vpc("own", cidr_block="10.0.0.0/16")
subnets = [
    aws.ec2.Subnet(
        f"own-{zone}", vpc_id=vpc.id, cidr_block=f"10.0.{n}.0/24", availability_zone=f"us-east-1{zone}"
    )
    for n, zone in enumerate("abc")
]
internet = aws.ec2.InternetGateway("own", vpc_id=vpc.id)
address = aws.ec2.Eip("own", domain="vpc")
nat = aws.ec2.NatGateway("own", allocation_id=address.id, subnet_id=subnets[2].id)
public = aws.ec2.RouteTable("public", vpc_id=vpc.id)
private = aws.ec2.RouteTable("private", vpc_id=vpc.id)
routes = [
    aws.ec2.Route("public", route_table_id=public.id, destination_cidr_block="0.0.0.0/0", gateway_id=internet.id),
    aws.ec2.Route("private", route_table_id=private.id, destination_cidr_block="0.0.0.0/0", nat_gateway_id=nat.id),
] + [
    aws.ec2.RouteTableAssociation(f"own-{n}", route_table_id=table.id, subnet_id=subnet.id)
    for n, (table, subnet) in enumerate(zip([private, private, public], subnets))
]
key = aws.kms.Key("own", enable_key_rotation=True)

def role(name, service, *policies):
    trust = {"Effect": "Allow", "Principal": {"Service": service}, "Action": ["sts:AssumeRole", "sts:TagSession"]}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    made = aws.iam.Role(name, name=name, assume_role_policy=policy)
    for each in policies:
        arn = f"arn:aws:iam::aws:policy/{each}"
        routes.append(aws.iam.RolePolicyAttachment(f"{name}-{each}", role=made.name, policy_arn=arn))
    return made

def roles():
    workers = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")
    return {
        "cluster": role("own-cluster", "eks.amazonaws.com", "AmazonEKSClusterPolicy"),
        "nodes": role("own-nodes", "ec2.amazonaws.com", *workers).arn,
    }

spec["cluster"] |= {
    "network": {"id": vpc, "subnets": {"private": pulumi.Output.all(*(s.id for s in subnets[:2]))}},
    "key": key.arn,
    "roles": roles(),
    "admins": [role("own-admin", "ec2.amazonaws.com").arn],
}
opts = pulumi.ResourceOptions(depends_on=routes)
""",
    "gcp": """
network = gcp.compute.Network("own", name="own", auto_create_subnetworks=False)
subnetwork = gcp.compute.Subnetwork(
    "own", name="own-nodes", network=network.id, region="us-central1", ip_cidr_range="10.0.0.0/20"
)
ring = gcp.kms.KeyRing("own", name="own", location="us-central1")
account = gcp.serviceaccount.Account("own", account_id="own-nodes")
spec["cluster"] |= {
    "network": {"id": network, "subnets": {"private": [subnetwork.name]}},
    "key": gcp.kms.CryptoKey("own", name="own", key_ring=ring.id),
    "roles": {"nodes": account.email},
}
opts = None
""",
}
EXISTING = """
cluster = aws.eks.Cluster(
    "own",
    name="blue",
    role_arn=role("eks", "eks.amazonaws.com").arn,
    version=spec["kubernetes"],
    vpc_config={"subnet_ids": [each.id for each in subnets]},
)
spec = {**spec, "cluster": {"existing": cluster.name}, "system": None}
cluster = EksCluster("lab", {"platform": spec})
GpuNodePool("train", {"platform": spec, "pool": "train", "foundation": cluster.foundation})
"""
CLUSTERS = {"aws": "aws:eks/cluster:Cluster", "gcp": "gcp:container/cluster:Cluster"}
NETWORKS = {"aws": "aws:ec2/vpc:Vpc", "gcp": "gcp:compute/network:Network"}
STAYS = {"aws": set(), "gcp": {"gcp:kms/keyRing:KeyRing"}}
"""What a cloud keeps for ever."""


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_a_program_with_its_own_network_key_and_roles_lives_and_dies(new_yard, cloud):
    lab = new_yard(SPECS[cloud])
    (lab.stack.folder / "__main__.py").write_text(
        f'{HEAD}{OWN[cloud]}\nPlatform("lab", {{"platform": spec}}, opts)\n'
    )
    lab.stack.env[CALLER] = "arn:aws:iam::123456789012:role/own-admin"
    lab.stack.preview()
    assert not lab.account.all()
    lab.stack.up()
    lab.stack.unchanged()
    (cluster,) = lab.account.all(CLUSTERS[cloud])
    (network,) = lab.account.all(NETWORKS[cloud])  # no other was created
    state = cluster.state
    used = state["vpcConfig"]["vpcId"] if cloud == "aws" else state["network"]
    assert used == (network.id if cloud == "aws" else "own")
    lab.write(pools=[{**SPECS[cloud]["pools"][0], "nodes": 3}])
    lab.stack.up()
    lab.stack.up("--refresh", "--expect-no-changes")
    lab.stack.destroy()
    assert lab.kinds() == STAYS[cloud]


def test_nodes_join_a_cluster_of_the_same_program_that_a_preview_does_not_query(of_clouds):
    (of_clouds.folder / "platform.json").write_text(json.dumps(SPECS["aws"]))
    of_clouds.run("config", "set", "--stack", STACK, "aws:region", "us-east-1")
    network = OWN["aws"].partition('spec["cluster"]')[0]
    of_clouds.program(HEAD + network + EXISTING)
    of_clouds.preview()
    of_clouds.up()
    of_clouds.unchanged()
    group = of_clouds.resource("train-on-demand")
    assert group["inputs"]["clusterName"] == "blue"
