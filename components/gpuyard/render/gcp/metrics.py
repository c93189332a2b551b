"""Permissions of Google Cloud Managed Service for Prometheus: to write samples, and to read them for rules.

The service takes them from the account of the nodes, or on a cluster with Workload Identity from its own accounts.
"""

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.cloud.graph import CloudResource
from gpuyard.render.gcp.identity import NodeIdentity, project_member, workload_identity
from gpuyard.render.gcp.place import GcpLocation
from gpuyard_core.names import GMP_COLLECTOR, GMP_NAMESPACE

_WRITER, _VIEWER = "roles/monitoring.metricWriter", "roles/monitoring.viewer"
_EVALUATOR = "rule-evaluator"
_OWN = ((GMP_COLLECTOR, _WRITER), (_EVALUATOR, _WRITER), (_EVALUATOR, _VIEWER))


def metric_grants(
    plan: PlatformPlan, place: GcpLocation, who: NodeIdentity, ready: tuple[str, ...]
) -> list[CloudResource]:
    """The roles; the identity pool of the project exists once it has a cluster."""
    if plan.observability is None or plan.observability.managed is None:
        return []
    own = [
        project_member(
            place,
            f"{account}-{_short(role)}",
            role,
            workload_identity(place, GMP_NAMESPACE, account),
            after=ready,
        )
        for account, role in _OWN
    ]
    if cluster_spec(plan.spec).roles.nodes is not None:
        return own  # you grant the permissions of an existing account
    return [project_member(place, f"nodes-{_short(_VIEWER)}", _VIEWER, who.member), *own]


def _short(role: str) -> str:
    return role.rpartition(".")[2].lower()
