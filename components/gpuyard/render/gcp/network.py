"""The network of a GKE cluster: a new one without access from outside, or an existing one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.plan.cluster.ranges import cluster_ranges, cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.cloud.graph import CloudResource
from gpuyard.render.cloud.spelling import fit_name
from gpuyard.render.gcp.fabric import all_direct
from gpuyard.render.gcp.place import GcpLocation, gcp_resource
from gpuyard.spec.late_inputs import first_of
from gpuyard.spec.sections.cluster import ClusterNetwork, Nat

_FLOW_LOGS = {
    "aggregationInterval": "INTERVAL_1_MIN",
    "flowSampling": 0.5,
    "metadata": "INCLUDE_ALL_METADATA",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GcpNetwork:
    """The network of a cluster, and the resources created for it."""

    network: Any
    subnetwork: Any
    allocation: Mapping[str, str]
    """The address allocation for pods and services."""
    taken: tuple[str, ...]
    """Ranges that additional networks must not use."""
    resources: tuple[CloudResource, ...] = ()


def cluster_network(plan: PlatformPlan, place: GcpLocation) -> GcpNetwork:
    """The network of the platform's cluster."""
    spec, ranges = cluster_spec(plan.spec).network, cluster_ranges(plan.spec)
    pods, services = ranges["pods"], ranges["services"]
    if spec.id is not None:
        return _existing_network(spec, pods, services)
    # Its MTU is as large as between GPUs, if their traffic uses networks like it.
    mtu = next((direct.mtu for _, direct in all_direct(plan) if direct.mtu), None)
    resources = [
        gcp_resource(plan, "network", mtu=mtu),
        gcp_resource(
            plan,
            "subnetwork",
            own=fit_name(f"{plan.name}-nodes"),
            region=place.region,
            cidr=ranges["cidr"],
            pods=pods,
            services=services,
            logs=_FLOW_LOGS if spec.flow_logs else None,
        ),
    ]
    if spec.nat is not Nat.NONE:
        resources += [gcp_resource(plan, each, region=place.region) for each in ("router", "nat")]
    return GcpNetwork(
        network=resources[0].get("name"),
        subnetwork=resources[1].get("name"),
        allocation={"clusterSecondaryRangeName": "pods", "servicesSecondaryRangeName": "services"},
        taken=(ranges["cidr"], pods, services),
        resources=tuple(resources),
    )


def _existing_network(spec: ClusterNetwork, pods: str, services: str) -> GcpNetwork:
    """GKE adds the ranges of pods and services to the subnetwork."""
    return GcpNetwork(
        network=spec.id,
        subnetwork=first_of(spec.subnets.private) if spec.subnets else None,
        allocation={"clusterIpv4CidrBlock": pods, "servicesIpv4CidrBlock": services},
        taken=(pods, services),
    )
