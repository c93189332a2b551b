"""All Google Cloud resources of a platform in order: network, identities, cluster, node pools."""

from typing import Any

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.cloud.graph import CloudGraph, Joined, PathInProject
from gpuyard.render.cloud.prerequisites import gcp_prerequisites
from gpuyard.render.gcp.cluster import cluster, existing_cluster
from gpuyard.render.gcp.fabric import fabric_networks
from gpuyard.render.gcp.foundation import GcpNodePoolInputs
from gpuyard.render.gcp.identity import identity
from gpuyard.render.gcp.metrics import metric_grants
from gpuyard.render.gcp.network import cluster_network
from gpuyard.render.gcp.place import GcpLocation, gcp_location
from gpuyard.render.gcp.pools import node_pools
from gpuyard.render.gcp.scalers import scaler_grants, scaler_values
from gpuyard.render.gcp.storage import GcpStoreFoundation, store_parts, store_values
from gpuyard.spec.late_inputs import is_late_input


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
