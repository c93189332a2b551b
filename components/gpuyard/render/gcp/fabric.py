"""Further networks, through which GPUs of one machine reach those of another.

TCPX and TCPXO want a network for each of a node's GPU cards. RDMA wants one for the host, and one with a
profile of its zone, in which each card has a subnetwork. Networks are shared by all pools of a platform:
a machine takes as many of them as the catalogue says.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_network
from typing import Any

from gpuyard.catalogue.fabric import GPUDIRECT, GpuDirect
from gpuyard.catalogue.gke.networks import (
    DEVICE_PREFIX,
    FABRIC_RANGES,
    HOST_PREFIX,
    PREDEFINED_SUBNET,
    PROFILE_URL,
    RDMA_PREFIX,
)
from gpuyard.catalogue.machines import Machine
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.plan.records.late import Late
from gpuyard.render.cloud.graph import CloudResource, Joined
from gpuyard.render.cloud.spelling import fit
from gpuyard.render.gcp.capacity_options import machines_of
from gpuyard.render.gcp.place import GcpLocation

METAL = "vpc-roce-metal"
"""The profile of networks whose subnetwork is there already."""


@dataclass(frozen=True, slots=True)
class FabricLink:
    """One further network interface of a node."""

    object: str
    """What pods call its network."""
    mode: str | None
    """`deviceMode` of the network's parameters; None where pods claim the card instead."""
    network: str
    """Its network, by the name in the graph."""
    subnetwork: str
    """Its subnetwork, as the end of names; empty: the one that the network brings."""

    @property
    def config(self) -> dict[str, Any]:
        """As a node pool lists it."""
        network = Late(f"{self.network}.name")
        if not self.subnetwork:
            return {"network": network, "subnetwork": Joined(PREDEFINED_SUBNET, network)}
        return {"network": network, "subnetwork": Late(f"{self.subnetwork}-subnetwork.name")}


def direct_of(pool: PoolPlan, machine: Machine) -> GpuDirect | None:
    """What a machine of a pool needs; None where it has TCP alone, and where its networks are in other zones.

    An RDMA network lies in one zone: nodes that may start in several can have none.
    """
    direct = GPUDIRECT.get(machine.name)
    return None if direct and direct.profile and len(pool.zones) != 1 else direct


def links(plan: PlatformPlan, pool: PoolPlan, machine: Machine) -> tuple[FabricLink, ...]:
    """The further interfaces of a pool's nodes, in the order in which a node has them."""
    direct = direct_of(pool, machine)
    if direct is None:
        return ()
    if direct.profile is None:
        return tuple(_device(n) for n in range(direct.device_networks or 0))
    zone = pool.zones[0]
    end = "" if zone == _rdma_zones(plan)[0] else f"-{zone}"
    cards = range(direct.device_networks or 0)
    return (_host(), *(_card(direct, zone, n, end) for n in cards))


def all_links(plan: PlatformPlan) -> Iterator[FabricLink]:
    """Every further interface that some node of the platform has."""
    for pool in plan.pools:
        for machine in machines_of(pool):
            yield from links(plan, pool, machine)


def makes_own_networks(machine: Machine) -> bool:
    """Whether GKE makes the networks of these nodes' cards itself."""
    direct = GPUDIRECT.get(machine.name)
    return direct is not None and direct.device_networks is None


def claims_cards(pool: PoolPlan, machine: Machine) -> bool:
    """Whether pods claim these nodes' network cards, instead of naming their networks."""
    direct = direct_of(pool, machine)
    return direct is not None and direct.device_mode is None


# ── networks ──────────────────────────────────────────────────────────────────────────────────────
def fabric_networks(
    plan: PlatformPlan, place: GcpLocation, used_ranges: Iterable[str]
) -> tuple[CloudResource, ...]:
    """Every further network that some pool of the platform needs, with addresses that nobody else has."""
    tcp = [d for _, d in all_direct(plan) if d.profile is None and d.device_networks]
    devices = max((d.device_networks or 0 for d in tcp), default=0)
    rdma = {_rdma_part(zone, direct): (zone, direct) for zone, direct in _rdma(plan)}
    addresses = _free(used_ranges)
    results: list[CloudResource] = []
    for number, subnet in zip(range(devices), _subnets(addresses, 0, DEVICE_PREFIX), strict=False):
        results += _plain(plan, place, f"device-{number}", subnet, tcp[0].mtu)
    if rdma:
        results += _plain(plan, place, "host", _subnets(addresses, 2, HOST_PREFIX)[0], None)
    for zone, direct in rdma.values():
        results += _profiled(plan, place, zone, direct, addresses)
    return tuple(results)


def _free(used_ranges: Iterable[str]) -> IPv4Network:
    """The first range in which none of these addresses lie; the last one where each has some."""
    networks = [ip_network(each, strict=False) for each in used_ranges]
    ranges = [IPv4Network(each) for each in FABRIC_RANGES]
    return next((r for r in ranges if not any(r.overlaps(o) for o in networks)), ranges[-1])


def _subnets(addresses: IPv4Network, quarter: int, prefix: int) -> list[IPv4Network]:
    """Subnets from a quarter of the range on."""
    quarters = list(addresses.subnets(new_prefix=addresses.prefixlen + 2))
    return [each for part in quarters[quarter:] for each in part.subnets(new_prefix=prefix)]


def _plain(
    plan: PlatformPlan, place: GcpLocation, part: str, addresses: IPv4Network, mtu: int | None
) -> list[CloudResource]:
    """A network with one subnetwork, in which everything reaches everything, and nothing from outside."""
    network = _network(plan, part, {"mtu": mtu} if mtu else {})
    subnetwork = _subnetwork(plan, place, part, part, addresses)
    return [
        network,
        subnetwork,
        CloudResource(
            kind="gcp:compute/firewall:Firewall",
            name=f"{part}-inside",
            inputs={
                "name": fit(f"{plan.name}-{part}-inside"),
                "network": network.get("name"),
                "direction": "INGRESS",
                "sourceRanges": [str(addresses)],
                "allows": [{"protocol": "all"}],
            },
        ),
    ]


def _profiled(
    plan: PlatformPlan, place: GcpLocation, zone: str, direct: GpuDirect, addresses: IPv4Network
) -> list[CloudResource]:
    """A network whose profile says its MTU and who gets in; that of bare metal has its subnetwork already."""
    part = _rdma_part(zone, direct)
    begins, middle = PROFILE_URL
    url = Joined(begins, place.project, f"{middle}{zone}-{direct.profile}")
    results = [_network(plan, part, {"networkProfile": url, "routingMode": "REGIONAL"})]
    if direct.profile != METAL:
        subnets = zip(
            range(direct.device_networks or 0), _subnets(addresses, 3, RDMA_PREFIX), strict=False
        )
        results += [_subnetwork(plan, place, part, f"{part}-{n}", each) for n, each in subnets]
    return results


def fabric_name(plan: PlatformPlan, part: str) -> str:
    """What a further network, or a subnetwork of one, is called at Google."""
    return fit(f"{plan.name}-{part}")


def _network(plan: PlatformPlan, part: str, rest: dict[str, Any]) -> CloudResource:
    return CloudResource(
        kind="gcp:compute/network:Network",
        name=part,
        inputs={"name": fabric_name(plan, part), "autoCreateSubnetworks": False, **rest},
    )


def _subnetwork(
    plan: PlatformPlan, place: GcpLocation, network: str, part: str, addresses: IPv4Network
) -> CloudResource:
    return CloudResource(
        kind="gcp:compute/subnetwork:Subnetwork",
        name=f"{part}-subnetwork",
        inputs={
            "name": fabric_name(plan, part),
            "network": Late(f"{network}.name"),
            "region": place.region,
            "ipCidrRange": str(addresses),
        },
    )


# ── interfaces ────────────────────────────────────────────────────────────────────────────────────
def all_direct(plan: PlatformPlan) -> Iterator[tuple[PoolPlan, GpuDirect]]:
    """What every machine of every pool needs."""
    for pool in plan.pools:
        for machine in machines_of(pool):
            if direct := direct_of(pool, machine):
                yield pool, direct


def _rdma(plan: PlatformPlan) -> Iterator[tuple[str, GpuDirect]]:
    return ((pool.zones[0], direct) for pool, direct in all_direct(plan) if direct.profile)


def _rdma_zones(plan: PlatformPlan) -> list[str]:
    return [zone for zone, _ in _rdma(plan)]


def _rdma_part(zone: str, direct: GpuDirect) -> str:
    return f"rdma-metal-{zone}" if direct.profile == METAL else f"rdma-{zone}"


def _device(number: int) -> FabricLink:
    part = f"device-{number}"
    return FabricLink(f"vpc{number + 1}", "NetDevice", part, part)


def _host() -> FabricLink:
    return FabricLink("gvnic-1", "NetDevice", "host", "host")


def _card(direct: GpuDirect, zone: str, number: int, end: str) -> FabricLink:
    part = _rdma_part(zone, direct)
    subnetwork = "" if direct.profile == METAL else f"{part}-{number}"
    return FabricLink(f"rdma-{number}{end}", direct.device_mode, part, subnetwork)
