"""The permissions of KEDA: the length of the queues that services scale on, and queries of a managed Prometheus."""

from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.aws.metrics import WORKSPACE
from gpuyard.render.aws.place import (
    AwsLocation,
    document,
    pod_identity_association,
    role,
    statement,
)
from gpuyard.render.aws.roles import TAKEN_BY_PODS
from gpuyard.render.cloud.graph import CloudCall, CloudResource, Joined
from gpuyard.render.workloads.scalers import queries_managed_prometheus
from gpuyard_core.names import KEDA_ACCOUNT, KEDA_NAMESPACE, QUERY_URL


def scaler_parts(
    plan: PlatformPlan,
    place: AwsLocation,
    cluster: CloudResource | CloudCall,
    ready: tuple[str, ...] = (),
) -> list[CloudResource]:
    """KEDA's role and its assignment; none if no service needs it."""
    queues = {s.spec.queue.sqs for s in plan.services if s.spec.queue and s.spec.queue.sqs}
    allowed: list[dict[str, Any]] = []
    if queues:
        arns = [_arn(place, url) for url in sorted(queues)]
        allowed.append(statement("sqs:GetQueueAttributes", arns))
    if queries_managed_prometheus(plan):
        allowed.append(statement("aps:QueryMetrics", UnresolvedOutput(f"{WORKSPACE}.arn")))
    if not allowed:
        return []
    keda = role(plan, "keda-role", "pods.eks.amazonaws.com", TAKEN_BY_PODS)
    rights = CloudResource(
        kind="aws:iam/rolePolicy:RolePolicy",
        name="keda-rights",
        inputs={"role": keda.get("name"), "policy": document(*allowed)},
    )
    account = (KEDA_NAMESPACE, KEDA_ACCOUNT)
    after = (rights.name, *ready)
    identity = pod_identity_association(
        plan, "keda-identity", cluster.get("name"), account, keda, after
    )
    return [keda, rights, identity]


def _arn(place: AwsLocation, url: str) -> Joined:
    """`https://sqs.REGION.amazonaws.com/ACCOUNT/NAME`."""
    host, account, name = url.removeprefix("https://").split("/")
    return Joined("arn:", place.partition, f":sqs:{host.split('.')[1]}:{account}:{name}")


def scaler_values(plan: PlatformPlan, place: AwsLocation) -> dict[str, Any]:
    """The address of the workspace for queries; that of its own output ends with a slash, which KEDA would double."""
    if not queries_managed_prometheus(plan):
        return {}
    workspace = UnresolvedOutput(f"{WORKSPACE}.id")
    parts = ("https://aps-workspaces.", place.region, ".amazonaws.com/workspaces/", workspace)
    return {QUERY_URL: Joined(*parts)}
