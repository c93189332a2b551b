"""Permissions that the deployer of a plan needs, by its cloud."""

from dataclasses import dataclass
from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.aws.place import aws_location
from gpuyard.render.cloud.graph import CloudGraph
from gpuyard.render.gcp.graph import gcp_graph
from gpuyard.render.permissions.needs import ANY, AccountPlace, PermissionRequest, required_actions
from gpuyard.render.permissions.policies import Statement, documents_of, statements_of
from gpuyard.render.permissions.roles import GcpPermissions, permissions_of


@dataclass(frozen=True, slots=True)
class AwsPermissions:
    """Policies for the deployer: attach every one of them."""

    statements: tuple[Statement, ...]
    documents: tuple[dict[str, Any], ...]

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions of all statements."""
        return tuple(sorted({a for each in self.statements for a in each.actions}))


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


def gcp_permissions(plan: PlatformPlan) -> GcpPermissions:
    """The roles of a plan on Google Cloud."""
    return permissions_of(gcp_graph(plan), plan.name)
