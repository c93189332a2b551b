"""IAM permissions that the deployer of a plan on AWS needs."""

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.aws.place import aws_location
from gpuyard.render.cloud.graph import CloudGraph
from gpuyard.render.permissions.needs import ANY, AccountPlace, PermissionRequest, required_actions
from gpuyard.render.permissions.policies import AwsPermissions, documents_of, statements_of


def aws_needs(plan: PlatformPlan, graph: CloudGraph, account: str = ANY) -> list[PermissionRequest]:
    """Each action that a plan on AWS needs; without an account, ARNs match any account."""
    partition = aws_location(plan).partition
    where = AccountPlace(
        platform=plan.name,
        partition=partition if isinstance(partition, str) else ANY,
        region=plan.region or ANY,
        account=account,
    )
    return required_actions(graph, where)


def aws_permissions(plan: PlatformPlan, account: str = ANY) -> AwsPermissions:
    """The policies of a plan on AWS, in one account or in any."""
    statements = statements_of(aws_needs(plan, aws_graph(plan), account))
    return AwsPermissions(tuple(statements), tuple(documents_of(statements)))
