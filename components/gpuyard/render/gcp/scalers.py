"""The permissions of KEDA: it reads metrics of Cloud Monitoring, which has those of Pub/Sub and of pods."""

from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.cloud.graph import CloudResource, Joined
from gpuyard.render.gcp.identity import workload_identity
from gpuyard.render.gcp.place import GcpLocation
from gpuyard.render.workloads.scalers import MONITORING, queries_managed_prometheus
from gpuyard_core.names import KEDA_ACCOUNT, KEDA_NAMESPACE, QUERY_URL

_VIEWER = "roles/monitoring.viewer"


def scaler_grants(
    plan: PlatformPlan, place: GcpLocation, ready: tuple[str, ...]
) -> list[CloudResource]:
    """The role in each project with a subscription, and in that of the platform for a managed Prometheus."""
    subscriptions = {s.spec.queue.pubsub for s in plan.services if s.spec.queue}
    projects: dict[str, Any] = {
        f"keda-{name}": name
        for name in sorted(each.split("/")[1] for each in subscriptions if each)
    }
    if queries_managed_prometheus(plan):
        projects["keda-viewer"] = place.project
    member = workload_identity(place, KEDA_NAMESPACE, KEDA_ACCOUNT)
    return [
        CloudResource(
            kind="gcp:projects/iAMMember:IAMMember",
            name=name,
            inputs={"project": project, "role": _VIEWER, "member": member},
            after=ready,
            delete_first=True,
        )
        for name, project in projects.items()
    ]


def scaler_values(plan: PlatformPlan, place: GcpLocation) -> dict[str, Any]:
    """The address for queries of the managed Prometheus."""
    if not queries_managed_prometheus(plan):
        return {}
    before, after = MONITORING.split("{}")
    return {QUERY_URL: Joined(before, place.project, after)}
