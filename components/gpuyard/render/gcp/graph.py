"""All Google Cloud resources of a platform in order: network, identities, cluster, node pools."""

from typing import Any

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import CloudGraph, CloudResource, Joined, PathInProject
from gpuyard.render.cloud.kubeconfig import ClusterAccess, https
from gpuyard.render.cloud.prerequisites import gcp_prerequisites
from gpuyard.render.gcp.cluster import cluster, existing_cluster
from gpuyard.render.gcp.fabric import fabric_networks
from gpuyard.render.gcp.identity import NodeIdentity, identity, project_member, workload_identity
from gpuyard.render.gcp.network import cluster_network
from gpuyard.render.gcp.place import GcpLocation, GcpNodePoolInputs, gcp_location, gcp_resource
from gpuyard.render.gcp.pools import node_pools
from gpuyard.render.gcp.storage import GcpStoreFoundation, store_parts, store_values
from gpuyard.render.workloads.scalers import MONITORING, queries_managed_prometheus
from gpuyard.spec.late_inputs import is_late_input
from gpuyard_core.names import GMP_COLLECTOR, GMP_NAMESPACE, KEDA_ACCOUNT, KEDA_NAMESPACE, QUERY_URL


def gcp_graph(plan: PlatformPlan) -> CloudGraph:
    """All resources of a platform on GKE; with an existing cluster, pools and what they need."""
    place = gcp_location(plan)
    who = identity(plan, place)
    existing_call = existing_cluster(plan, place)
    network = cluster_network(plan, place)
    network_parts = () if existing_call else network.resources
    new_cluster = cluster(plan, place, network, who)
    cluster_source = existing_call or new_cluster
    foundation = GcpNodePoolInputs(
        place=place,
        account=who.account,
        key=who.key,
        after=who.grants,
        protect=cluster_spec(plan.spec).protect,
        cluster=cluster_source.get("name"),
        location=cluster_source.get("location"),
    )
    ready = () if existing_call else (new_cluster.name,)
    stores = GcpStoreFoundation(
        place=place,
        network=_linked(place, existing_call.get("network") if existing_call else network.network),
        managed=bool(network_parts),
        ready=ready,
    )
    return CloudGraph(
        (
            *network_parts,
            *fabric_networks(plan, place, network.taken),
            *who.resources,
            *(() if existing_call else (new_cluster,)),
            *store_parts(plan, stores),
            *metric_grants(plan, place, who, ready),
            *scaler_grants(plan, place, ready),
            *node_pools(plan, foundation),
        ),
        (*place.calls, *((existing_call,) if existing_call else ())),
        {**store_values(plan, place), **scaler_values(plan, place)},
        gcp_prerequisites(plan),
    )


def _linked(place: GcpLocation, network: Any) -> Any:
    """A network in the form for services outside Compute Engine: with its project."""
    if isinstance(network, str) and "/" in network:
        return network
    prefix = Joined("projects/", place.project, "/global/networks/")
    return (
        PathInProject(prefix, network) if is_late_input(network) else Joined(*prefix.parts, network)
    )


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
            plan,
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
    return [project_member(plan, place, f"nodes-{_short(_VIEWER)}", _VIEWER, who.member), *own]


def _short(role: str) -> str:
    return role.rpartition(".")[2].lower()


_HINT = "Install gke-gcloud-auth-plugin: https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-access-for-kubectl"
_MADE = {
    "dns": "controlPlaneEndpointsConfig.dnsEndpointConfig.endpoint",
    "authority": "masterAuth.clusterCaCertificate",
}
_GIVEN = {
    "dns": "controlPlaneEndpointsConfigs.0.dnsEndpointConfigs.0.endpoint",
    "authority": "masterAuths.0.clusterCaCertificate",
}


def gke_access(plan: PlatformPlan, _profile: str | None = None) -> ClusterAccess:
    """By DNS name, with a public certificate, if it is enabled; otherwise by address."""
    spec = cluster_spec(plan.spec)
    outputs = _GIVEN if spec.existing else _MADE
    by_name = spec.endpoint.dns
    return ClusterAccess(
        endpoint=https(UnresolvedOutput(f"cluster.{outputs['dns'] if by_name else 'endpoint'}")),
        authority=None if by_name else UnresolvedOutput(f"cluster.{outputs['authority']}"),
        identity=UnresolvedOutput("cluster.selfLink"),
        run={
            "command": "gke-gcloud-auth-plugin",
            "installHint": _HINT,
            "provideClusterInfo": True,
        },
    )


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
    values = {"role": _VIEWER, "member": member, "after": ready}
    return [
        gcp_resource(plan, "member", name=name, project=project, **values)
        for name, project in projects.items()
    ]


def scaler_values(plan: PlatformPlan, place: GcpLocation) -> dict[str, Any]:
    """The address for queries of the managed Prometheus."""
    if not queries_managed_prometheus(plan):
        return {}
    before, after = MONITORING.split("{}")
    return {QUERY_URL: Joined(before, place.project, after)}
