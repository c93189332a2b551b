"""Amazon Managed Service for Prometheus: a workspace, its rules and receivers, and who may write to it."""

from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.aws.place import (
    AwsLocation,
    aws_resource,
    pod_role,
    statement,
)
from gpuyard.render.cloud.graph import CloudResource, Joined
from gpuyard.render.observability.monitoring import COLLECTOR_ACCOUNT
from gpuyard.render.observability.routing import sns_routing
from gpuyard.render.observability.rules import rule_file
from gpuyard_core.names import MONITORING_NAMESPACE, REMOTE_REGION, REMOTE_WRITE

WORKSPACE = "metrics-workspace"
"""Its name in the graph."""


def metric_parts(plan: PlatformPlan, ready: tuple[str, ...]) -> list[CloudResource]:
    """All resources in order; none without a managed Prometheus. A dispatcher has no rules."""
    observed = plan.observability
    if observed is None or observed.managed is None:
        return []
    workspace = aws_resource(plan, WORKSPACE)
    parts = [workspace, aws_resource(plan, "metrics-retention", days=observed.retention_days)]
    if not plan.queueing.dispatch:
        parts.append(aws_resource(plan, "metrics-rules", rules=rule_file(plan)))
    if observed.alerts is not None:
        routing = sns_routing(plan, observed.alerts)
        parts.append(aws_resource(plan, "metrics-receivers", routing=routing))
    rights = [statement("aps:RemoteWrite", workspace.get("arn"))]
    account = (MONITORING_NAMESPACE, COLLECTOR_ACCOUNT)
    return [*parts, *pod_role(plan, "metrics", account, rights, ready)]


def metric_values(plan: PlatformPlan, place: AwsLocation) -> dict[str, Any]:
    """Where Prometheus in the cluster sends samples, by the names of these late values."""
    observed = plan.observability
    if observed is None or observed.managed is None:
        return {}
    endpoint = UnresolvedOutput(f"{WORKSPACE}.prometheusEndpoint")
    region = {} if plan.region else {REMOTE_REGION: place.region}
    return {REMOTE_WRITE: Joined(endpoint, "api/v1/remote_write"), **region}
