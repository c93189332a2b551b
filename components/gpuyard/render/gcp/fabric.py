"""Additional networks that connect the GPUs of different machines.

TCPX and TCPXO need a network for each GPU network card of a node. RDMA needs one for the host, and
one with a profile of its zone, in which each card has a subnetwork. All pools of a platform share
the networks: a machine uses as many of them as the catalogue lists.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_network
from typing import Any

from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import CloudResource, Joined
from gpuyard.render.cloud.spelling import fit_name
from gpuyard.render.gcp.capacity_options import machines_of
from gpuyard.render.gcp.place import GcpLocation, gcp_resource
from gpuyard_core.catalogue.fabric import GPUDIRECT
from gpuyard_core.catalogue.gke.nodes import (
    DEVICE_PREFIX,
    FABRIC_RANGES,
    HOST_PREFIX,
    PREDEFINED_SUBNET,
    PROFILE_URL,
    RDMA_PREFIX,
)
from gpuyard_core.catalogue.machines import GpuDirect, Machine

METAL = "vpc-roce-metal"
"""The profile of networks that come with a subnetwork."""


@dataclass(frozen=True, slots=True)
class FabricLink:
    """One additional network interface of a node."""

    pod_network_name: str
    """The network name that pods use."""
    mode: str | None
    """`deviceMode` of the network's parameters; None if pods claim the card instead."""
    network: str
    """The network, by its name in the graph."""
    subnetwork: str
    """The subnetwork, as a name suffix; empty: the one that comes with the network."""

    @property
    def config(self) -> dict[str, Any]:
        """The interface as an entry of a node pool."""
        network = UnresolvedOutput(f"{self.network}.name")
        if not self.subnetwork:
            return {"network": network, "subnetwork": Joined(PREDEFINED_SUBNET, network)}
        return {
            "network": network,
            "subnetwork": UnresolvedOutput(f"{self.subnetwork}-subnetwork.name"),
        }


def machine_gpudirect(pool: PoolPlan, machine: Machine) -> GpuDirect | None:
    """GPUDirect of a pool's machine; None if it has only TCP, or its networks are in other zones.

    An RDMA network is in one zone: nodes that may start in several zones can have none.
    """
    direct = GPUDIRECT.get(machine.name)
    return None if direct and direct.profile and len(pool.zones) != 1 else direct


def links(plan: PlatformPlan, pool: PoolPlan, machine: Machine) -> tuple[FabricLink, ...]:
    """The additional interfaces of a pool's nodes, in their order on a node."""
    direct = machine_gpudirect(pool, machine)
    if direct is None:
        return ()
    if direct.profile is None:
        return tuple(_device(n) for n in range(direct.device_networks or 0))
    zone = pool.zones[0]
    end = "" if zone == _rdma_zones(plan)[0] else f"-{zone}"
    cards = range(direct.device_networks or 0)
    return (_host(), *(_card(direct, zone, n, end) for n in cards))


def all_links(plan: PlatformPlan) -> Iterator[FabricLink]:
    """Every additional interface of all nodes of the platform."""
    for pool in plan.pools:
        for machine in machines_of(pool):
            yield from links(plan, pool, machine)


def pod_networks(plan: PlatformPlan, pool: PoolPlan) -> tuple[str, ...]:
    """The networks of the machine's cards; none where pods claim the cards."""
    return tuple(each.pod_network_name for each in links(plan, pool, pool.machine) if each.mode)


def makes_own_networks(machine: Machine) -> bool:
    """Whether GKE creates the networks of these nodes' cards itself."""
    direct = GPUDIRECT.get(machine.name)
    return direct is not None and direct.device_networks is None


def claims_cards(pool: PoolPlan, machine: Machine) -> bool:
    """Whether pods claim these nodes' network cards instead of naming their networks."""
    direct = machine_gpudirect(pool, machine)
    return direct is not None and direct.device_mode is None


# ── networks ──────────────────────────────────────────────────────────────────────────────────────
def fabric_networks(
    plan: PlatformPlan, place: GcpLocation, used_ranges: Iterable[str]
) -> tuple[CloudResource, ...]:
    """Every additional network that a pool of the platform needs, with unused address ranges."""
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
    """The first range without any of these addresses; the last one if each has some."""
    networks = [ip_network(each, strict=False) for each in used_ranges]
    ranges = [IPv4Network(each) for each in FABRIC_RANGES]
    return next((r for r in ranges if not any(r.overlaps(o) for o in networks)), ranges[-1])


def _subnets(addresses: IPv4Network, quarter: int, prefix: int) -> list[IPv4Network]:
    """Subnets of the range, starting at a quarter of it."""
    quarters = list(addresses.subnets(new_prefix=addresses.prefixlen + 2))
    return [each for part in quarters[quarter:] for each in part.subnets(new_prefix=prefix)]


def _plain(
    plan: PlatformPlan, place: GcpLocation, part: str, addresses: IPv4Network, mtu: int | None
) -> list[CloudResource]:
    """A network with one subnetwork, which allows all traffic inside, and none from outside."""
    network = _network(plan, part, {"mtu": mtu})
    own, name = fabric_name(plan, f"{part}-inside"), network.get("name")
    addresses_text = str(addresses)
    return [
        network,
        _subnetwork(plan, place, part, part, addresses),
        gcp_resource(
            plan, "fabric-inside", part=part, own=own, network=name, addresses=addresses_text
        ),
    ]


def _profiled(
    plan: PlatformPlan, place: GcpLocation, zone: str, direct: GpuDirect, addresses: IPv4Network
) -> list[CloudResource]:
    """A network whose profile sets MTU and firewall; that of bare metal comes with a subnetwork."""
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
    """The name of an additional network, or of a subnetwork of one, on Google Cloud."""
    return fit_name(f"{plan.name}-{part}")


def _network(plan: PlatformPlan, part: str, more: dict[str, Any]) -> CloudResource:
    own = fabric_name(plan, part)
    more = {key: value for key, value in more.items() if value}
    return gcp_resource(plan, "fabric-network", part=part, own=own, more=more)


def _subnetwork(
    plan: PlatformPlan, place: GcpLocation, network: str, part: str, addresses: IPv4Network
) -> CloudResource:
    return gcp_resource(
        plan,
        "fabric-subnetwork",
        part=part,
        own=fabric_name(plan, part),
        network=UnresolvedOutput(f"{network}.name"),
        region=place.region,
        addresses=str(addresses),
    )


# ── interfaces ────────────────────────────────────────────────────────────────────────────────────
def all_direct(plan: PlatformPlan) -> Iterator[tuple[PoolPlan, GpuDirect]]:
    """GPUDirect of every machine of every pool."""
    for pool in plan.pools:
        for machine in machines_of(pool):
            if direct := machine_gpudirect(pool, machine):
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
