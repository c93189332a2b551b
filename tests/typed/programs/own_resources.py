"""A user's program that passes its own resources and their outputs to a platform."""

from collections.abc import Sequence

import pulumi

from gpuyard.resources import Platform
from gpuyard.typed import ClusterNetwork, PlatformDict, Pool


class Role(pulumi.CustomResource):
    """A resource with an output, as an SDK declares it."""

    arn: pulumi.Output[str]


class Vpc(pulumi.ComponentResource):
    """A component with a list of outputs in one output."""

    vpc_id: pulumi.Output[str]
    private_subnet_ids: pulumi.Output[Sequence[str]]


role = Role("aws:iam/role:Role", "admin")
subnets = [Role("aws:ec2/subnet:Subnet", f"subnet-{n}") for n in range(2)]
ids = [subnet.id for subnet in subnets]
vpc = Vpc("own:network:Vpc", "vpc")
outputs: ClusterNetwork = {"id": vpc.vpc_id, "subnets": {"private": ids}}
resources: ClusterNetwork = {"id": role, "subnets": {"private": subnets}}
mixed: ClusterNetwork = {
    "id": "vpc-0123456789abcdef0",
    "subnets": {"private": ["subnet-0123456789abcdef0", subnets[0].id, subnets[1]]},
    "security_groups": [role.id],
}
whole: ClusterNetwork = {"id": vpc.vpc_id, "subnets": {"private": vpc.private_subnet_ids}}
train = Pool(name="train", machine="p5.48xlarge", nodes=2)
for network in (outputs, resources, mixed, whole, vpc):
    spec: PlatformDict = {
        "name": "lab",
        "cloud": "aws",
        "kubernetes": "1.36",
        "pools": [train],
        "cluster": {
            "network": network,
            "key": role.arn,
            "admins": ["arn:aws:iam::123456789012:role/platform", role.arn, role],
            "roles": {"cluster": role, "nodes": role.arn},
        },
        "storage": {"checkpoints": {"bucket": role.id}},
    }
    Platform("lab", {"platform": spec})
