"""The whole platform at Google: network, identities, cluster and node pools, in the order they are made."""

from typing import Any

from gpuyard.plan.cluster.ranges import cluster_of
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.cloud.before import asked_of_gcp
from gpuyard.render.cloud.graph import CloudGraph, Joined
from gpuyard.render.gcp.cluster import cluster, existing_cluster
from gpuyard.render.gcp.fabric import fabric_networks
from gpuyard.render.gcp.ground import GcpGround
from gpuyard.render.gcp.identity import identity
from gpuyard.render.gcp.network import cluster_network
from gpuyard.render.gcp.place import GcpPlace, place_of
from gpuyard.render.gcp.pools import node_pools
from gpuyard.render.gcp.storage import GcpStoreGround, store_parts, store_values


def gcp_graph(plan: PlatformPlan) -> CloudGraph:
    """Everything that a platform on GKE buys; for a cluster that is there, pools and what they need."""
    place = place_of(plan)
    who = identity(plan, place)
    asked = existing_cluster(plan, place)
    network = cluster_network(plan, place)
    around = () if asked else network.resources
    made = cluster(plan, place, network, who)
    there = asked or made
    ground = GcpGround(
        place=place,
        account=who.account,
        key=who.key,
        after=who.grants,
        protect=cluster_of(plan.spec).protect,
        cluster=there.get("name"),
        location=there.get("location"),
    )
    stores = GcpStoreGround(
        place=place,
        network=_linked(place, asked.get("network") if asked else network.network),
        ours=bool(around),
        ready=() if asked else (made.name,),
    )
    return CloudGraph(
        (
            *around,
            *fabric_networks(plan, place, network.taken),
            *who.resources,
            *(() if asked else (made,)),
            *store_parts(plan, stores),
            *node_pools(plan, ground),
        ),
        (*place.calls, *((asked,) if asked else ())),
        store_values(plan, place),
        asked_of_gcp(plan),
    )


def _linked(place: GcpPlace, network: Any) -> Any:
    """A network as services beside Compute Engine want it: with its project."""
    if isinstance(network, str) and "/" in network:
        return network
    return Joined("projects/", place.project, "/global/networks/", network)
