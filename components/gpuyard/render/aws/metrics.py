"""Amazon Managed Service for Prometheus: a workspace, its rules and receivers, and who may write to it."""

from typing import Any

from gpuyard.plan.records import ObservabilityPlan, PlatformPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.aws.place import (
    AwsLocation,
    document,
    pod_identity_association,
    role,
    statement,
    tags_of,
)
from gpuyard.render.aws.roles import TAKEN_BY_PODS
from gpuyard.render.cloud.graph import CloudCall, CloudResource, Joined
from gpuyard.render.observability.monitoring import COLLECTOR_ACCOUNT
from gpuyard.render.observability.routing import sns_routing
from gpuyard.render.observability.rules import rule_file
from gpuyard_core.names import MONITORING_NAMESPACE, REMOTE_REGION, REMOTE_WRITE

WORKSPACE = "metrics-workspace"
"""Its name in the graph."""


def metric_parts(
    plan: PlatformPlan, cluster: CloudResource | CloudCall, ready: tuple[str, ...] = ()
) -> list[CloudResource]:
    """All resources in order; none without a managed Prometheus."""
    observed = plan.observability
    if observed is None or observed.managed is None:
        return []
    workspace = CloudResource(
        kind="aws:amp/workspace:Workspace",
        name=WORKSPACE,
        inputs={"alias": plan.name, "tags": tags_of(plan)},
        outputs=("arn", "prometheusEndpoint"),
    )
    writer = role(plan, "metrics-role", "pods.eks.amazonaws.com", TAKEN_BY_PODS)
    rights = CloudResource(
        kind="aws:iam/rolePolicy:RolePolicy",
        name="metrics-rights",
        inputs={
            "role": writer.get("name"),
            "policy": document(statement("aps:RemoteWrite", workspace.get("arn"))),
        },
    )
    identity = pod_identity_association(
        plan,
        "metrics-identity",
        cluster.get("name"),
        (MONITORING_NAMESPACE, COLLECTOR_ACCOUNT),
        writer,
        (rights.name, *ready),
    )
    return [workspace, *_contents(plan, observed, workspace), writer, rights, identity]


def _contents(
    plan: PlatformPlan, observed: ObservabilityPlan, workspace: CloudResource
) -> list[CloudResource]:
    """Retention, rules and receivers of the workspace; a dispatcher has no rules."""
    of_workspace = {"workspaceId": workspace.get("id")}
    parts = [
        CloudResource(
            kind="aws:amp/workspaceConfiguration:WorkspaceConfiguration",
            name="metrics-retention",
            inputs={**of_workspace, "retentionPeriodInDays": observed.retention_days},
        )
    ]
    if not plan.queueing.dispatch:
        rules = {"name": f"gpuyard-{plan.name}", "data": rule_file(plan), "tags": tags_of(plan)}
        parts.append(
            CloudResource(
                kind="aws:amp/ruleGroupNamespace:RuleGroupNamespace",
                name="metrics-rules",
                inputs={**of_workspace, **rules},
                delete_first=True,
            )
        )
    if observed.alerts is not None:
        parts.append(
            CloudResource(
                kind="aws:amp/alertManagerDefinition:AlertManagerDefinition",
                name="metrics-receivers",
                inputs={**of_workspace, "definition": sns_routing(plan, observed.alerts)},
                delete_first=True,
            )
        )
    return parts


def metric_values(plan: PlatformPlan, place: AwsLocation) -> dict[str, Any]:
    """Where Prometheus in the cluster sends samples, by the names of these late values."""
    observed = plan.observability
    if observed is None or observed.managed is None:
        return {}
    endpoint = UnresolvedOutput(f"{WORKSPACE}.prometheusEndpoint")
    region = {} if plan.region else {REMOTE_REGION: place.region}
    return {REMOTE_WRITE: Joined(endpoint, "api/v1/remote_write"), **region}
