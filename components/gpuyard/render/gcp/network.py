"""The network of a GKE cluster: a new one without access from outside, or an existing one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.plan.cluster.ranges import cluster_ranges, cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import CloudResource
from gpuyard.render.cloud.spelling import fit_name
from gpuyard.render.gcp.fabric import all_direct
from gpuyard.render.gcp.place import GcpLocation
from gpuyard.spec.late_inputs import first_of
from gpuyard.spec.sections.cluster import ClusterNetwork, Nat

PODS, SERVICES = "pods", "services"
"""Names of the secondary ranges of a subnetwork."""


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
    network = _network(plan)
    subnetwork = _subnetwork(plan, place, ranges["cidr"], {PODS: pods, SERVICES: services})
    way_out = () if spec.nat is Nat.NONE else _egress(plan, place)
    return GcpNetwork(
        network=network.get("name"),
        subnetwork=subnetwork.get("name"),
        allocation={"clusterSecondaryRangeName": PODS, "servicesSecondaryRangeName": SERVICES},
        taken=(ranges["cidr"], pods, services),
        resources=(network, subnetwork, *way_out),
    )


def _existing_network(spec: ClusterNetwork, pods: str, services: str) -> GcpNetwork:
    """GKE adds the ranges of pods and services to the subnetwork."""
    return GcpNetwork(
        network=spec.id,
        subnetwork=first_of(spec.subnets.private) if spec.subnets else None,
        allocation={"clusterIpv4CidrBlock": pods, "servicesIpv4CidrBlock": services},
        taken=(pods, services),
    )


def _network(plan: PlatformPlan) -> CloudResource:
    """Its MTU is as large as between GPUs, if their traffic uses networks like it."""
    mtu = next((direct.mtu for _, direct in all_direct(plan) if direct.mtu), None)
    return CloudResource(
        kind="gcp:compute/network:Network",
        name="network",
        inputs={
            "name": plan.name,
            "autoCreateSubnetworks": False,
            "routingMode": "REGIONAL",
            **({"mtu": mtu} if mtu else {}),
        },
    )


def _subnetwork(
    plan: PlatformPlan, place: GcpLocation, nodes: str, ranges: Mapping[str, str]
) -> CloudResource:
    logs = {
        "logConfig": {
            "aggregationInterval": "INTERVAL_1_MIN",
            "flowSampling": 0.5,
            "metadata": "INCLUDE_ALL_METADATA",
        }
    }
    return CloudResource(
        kind="gcp:compute/subnetwork:Subnetwork",
        name="subnetwork",
        inputs={
            "name": fit_name(f"{plan.name}-nodes"),
            "network": UnresolvedOutput("network.name"),
            "region": place.region,
            "ipCidrRange": nodes,
            "privateIpGoogleAccess": True,
            "secondaryIpRanges": [
                {"rangeName": name, "ipCidrRange": cidr} for name, cidr in ranges.items()
            ],
            **(logs if cluster_spec(plan.spec).network.flow_logs else {}),
        },
        outputs=("selfLink",),
    )


def _egress(plan: PlatformPlan, place: GcpLocation) -> tuple[CloudResource, ...]:
    """Cloud NAT is regional: there is one, independent of the zones."""
    router = CloudResource(
        kind="gcp:compute/router:Router",
        name="router",
        inputs={
            "name": plan.name,
            "network": UnresolvedOutput("network.name"),
            "region": place.region,
        },
    )
    nat = CloudResource(
        kind="gcp:compute/routerNat:RouterNat",
        name="nat",
        inputs={
            "name": plan.name,
            "router": router.get("name"),
            "region": place.region,
            "natIpAllocateOption": "AUTO_ONLY",
            "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS",
            "subnetworks": [
                {
                    "name": UnresolvedOutput("subnetwork.selfLink"),
                    "sourceIpRangesToNats": ["ALL_IP_RANGES"],
                }
            ],
            # a hundred pods of a node that pull images at once exceed the default of 64 ports
            "enableDynamicPortAllocation": True,
            "enableEndpointIndependentMapping": False,
            "minPortsPerVm": 64,
            "maxPortsPerVm": 8192,
            "logConfig": {"enable": True, "filter": "ERRORS_ONLY"},
        },
    )
    return router, nat
