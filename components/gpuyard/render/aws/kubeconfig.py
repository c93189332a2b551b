"""How programs reach an EKS cluster: as `aws eks update-kubeconfig` writes it."""

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import Late
from gpuyard.render.aws.cluster import EXISTING_OUTPUTS, OUTPUTS
from gpuyard.render.aws.place import aws_location
from gpuyard.render.cloud.kubeconfig import ClusterAccess

_HINT = "Install the AWS CLI, version 2: https://docs.aws.amazon.com/cli/latest/userguide/getting-started-install.html"


def eks_reach(plan: PlatformPlan, profile: str | None = None) -> ClusterAccess:
    """The program is `aws`, with the profile that the provider has: another one would be somebody else."""
    outputs = EXISTING_OUTPUTS if cluster_spec(plan.spec).existing else OUTPUTS
    endpoint = Late(f"cluster.{outputs['endpoint']}")
    name = Late("cluster.name")
    token = ["eks", "get-token", "--cluster-name", name, "--output", "json"]
    return ClusterAccess(
        endpoint=endpoint,
        authority=Late(f"cluster.{outputs['authority']}"),
        # A cluster that is made anew has its name and its ARN, and another address.
        identity=endpoint,
        run={
            "command": "aws",
            "args": ["--region", aws_location(plan).region, *token],
            "installHint": _HINT,
            **({"env": [{"name": "AWS_PROFILE", "value": profile}]} if profile else {}),
        },
    )
