"""A pool that stands alone joins a cluster of the same program, which a preview cannot query."""

from stacks import STACK

PROGRAM = """
import json
import pulumi
import pulumi_aws as aws
from gpuyard.resources import GpuNodePool

def role(name, service):
    trust = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    return aws.iam.Role(name, assume_role_policy=document)

vpc = aws.ec2.Vpc("network", cidr_block="10.0.0.0/16")
subnets = [
    aws.ec2.Subnet(
        f"own-{zone}",
        vpc_id=vpc.id,
        cidr_block=f"10.0.{n}.0/24",
        availability_zone=f"us-east-1{zone}",
        tags={"kubernetes.io/role/internal-elb": "1"},
    )
    for n, zone in enumerate("ab")
]
cluster = aws.eks.Cluster(
    "own",
    role_arn=role("eks", "eks.amazonaws.com").arn,
    version="1.36",
    vpc_config={"subnet_ids": [each.id for each in subnets]},
)
spec = {"name": "train", "machine": "g6e.48xlarge", "nodes": 1, "zones": ["us-east-1a"]}
GpuNodePool("train", {"cluster": {"existing": cluster, "protect": False}, "cloud": "aws", "pool": spec})
GpuNodePool("more", {"cluster": cluster, "pool": {**spec, "name": "more"}})
"""


def test_pools_join_a_cluster_of_the_same_program(of_clouds):
    of_clouds.run("config", "set", "--stack", STACK, "aws:region", "us-east-1")
    of_clouds.program(PROGRAM)
    of_clouds.preview()
    of_clouds.up()
    of_clouds.unchanged()
    cluster = of_clouds.resource("own")
    for name in ("train", "more"):
        group = of_clouds.resource(f"{name}-on-demand")
        assert group["inputs"]["clusterName"] == cluster["outputs"]["name"]
    of_clouds.run("state", "unprotect", "--all", "--yes")
    of_clouds.destroy()
