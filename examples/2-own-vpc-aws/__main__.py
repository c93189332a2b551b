"""A GPU platform on EKS in a VPC, with a key and roles of the same program, and resources on its outputs."""

import json

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from gpuyard.resources import Platform, await_registrations


def role(name: str, service: str, policies: list[str]) -> aws.iam.Role:
    """A role that a service of AWS may assume, with managed policies."""
    trust = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": "sts:AssumeRole",
                "Principal": {"Service": service},
            },
        ],
    }
    arns = [f"arn:aws:iam::aws:policy/{policy}" for policy in policies]
    return aws.iam.Role(name, assume_role_policy=json.dumps(trust), managed_policy_arns=arns)


vpc = aws.ec2.Vpc("vpc", cidr_block="10.0.0.0/16", enable_dns_hostnames=True)
internet = aws.ec2.InternetGateway("internet", vpc_id=vpc.id)
public = aws.ec2.Subnet("public", vpc_id=vpc.id, cidr_block="10.0.255.0/24")
private = [
    aws.ec2.Subnet(
        f"private-{zone}",
        vpc_id=vpc.id,
        cidr_block=f"10.0.{16 * number}.0/20",
        availability_zone=f"us-east-1{zone}",
    )
    for number, zone in enumerate("ab")
]
address = aws.ec2.Eip("nat", domain="vpc")
nat = aws.ec2.NatGateway("nat", subnet_id=public.id, allocation_id=address.id)
tables = {name: aws.ec2.RouteTable(name, vpc_id=vpc.id) for name in ("public", "private")}
# Nodes register and pull images through the NAT gateway: the platform waits for its routes.
routes = [
    aws.ec2.Route(
        "public",
        route_table_id=tables["public"].id,
        destination_cidr_block="0.0.0.0/0",
        gateway_id=internet.id,
    ),
    aws.ec2.Route(
        "private",
        route_table_id=tables["private"].id,
        destination_cidr_block="0.0.0.0/0",
        nat_gateway_id=nat.id,
    ),
    aws.ec2.RouteTableAssociation(
        "public", route_table_id=tables["public"].id, subnet_id=public.id
    ),
    *(
        aws.ec2.RouteTableAssociation(
            f"private-{number}", route_table_id=tables["private"].id, subnet_id=each.id
        )
        for number, each in enumerate(private)
    ),
]
key = aws.kms.Key("key", enable_key_rotation=True)
cluster_role = role("cluster", "eks.amazonaws.com", ["AmazonEKSClusterPolicy"])
node_role = role(
    "node",
    "ec2.amazonaws.com",
    ["AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly"],
)

platform = Platform(
    "platform",
    {
        "platform": {
            "name": "lab",
            "cloud": "aws",
            "kubernetes": "1.36",
            "cluster": {
                "network": {"id": vpc.id, "subnets": {"private": [each.id for each in private]}},
                "key": key.arn,
                "roles": {"cluster": cluster_role.arn, "nodes": node_role.arn},
                "protect": False,  # True in production: the cluster and its nodes cannot be deleted
            },
            "system": {"machine": "m7i.xlarge", "nodes": 2},
            "pools": [
                {"name": "train", "machine": "g6e.48xlarge", "nodes": 2, "zones": ["us-east-1a"]},
            ],
            "teams": [{"name": "vision", "guarantee": {"train": 16}}],
        },
    },
    pulumi.ResourceOptions(depends_on=routes),
)

aws.eks.Addon("snapshots", cluster_name=platform.cluster.name, addon_name="snapshot-controller")
k8s.core.v1.ConfigMap(
    "platform",
    metadata={"name": "platform", "namespace": "default"},
    data={"oidc": platform.oidc, "team": platform.teams["vision"].local_queue},
    opts=pulumi.ResourceOptions(provider=platform.provider),
)
pulumi.export("kubeconfig", platform.kubeconfig)
await_registrations()
