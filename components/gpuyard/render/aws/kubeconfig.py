"""Access to an EKS cluster: as `aws eks update-kubeconfig` writes it."""

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.aws.cluster import EXISTING_OUTPUTS, OUTPUTS
from gpuyard.render.aws.place import aws_location
from gpuyard.render.cloud.kubeconfig import ClusterAccess

_HINT = "Install the AWS CLI, version 2: https://docs.aws.amazon.com/cli/latest/userguide/getting-started-install.html"


def eks_reach(plan: PlatformPlan, profile: str | None = None) -> ClusterAccess:
    """The program is `aws`, with the provider's profile: another profile is another identity."""
    outputs = EXISTING_OUTPUTS if cluster_spec(plan.spec).existing else OUTPUTS
    endpoint = UnresolvedOutput(f"cluster.{outputs['endpoint']}")
    name = UnresolvedOutput("cluster.name")
    token = ["eks", "get-token", "--cluster-name", name, "--output", "json"]
    return ClusterAccess(
        endpoint=endpoint,
        authority=UnresolvedOutput(f"cluster.{outputs['authority']}"),
        # A replaced cluster has the same name and ARN, and another address.
        identity=endpoint,
        run={
            "command": "aws",
            "args": ["--region", aws_location(plan).region, *token],
            "installHint": _HINT,
            **({"env": [{"name": "AWS_PROFILE", "value": profile}]} if profile else {}),
        },
    )
