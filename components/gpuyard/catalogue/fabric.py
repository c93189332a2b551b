"""Fabrics: how GPUs of one machine reach GPUs of another without going through the host's TCP stack.

Also what a node must be made with for it: which interface on which network card, which further networks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cache

from gpuyard.catalogue.machines import Machine
from gpuyard.catalogue.node_pools import most_in_pool
from gpuyard.catalogue.sources import GCE_GPUDIRECT, Source
from gpuyard.catalogue.tables.fabric import EC2_NETWORK, EFA_CARDS

EC2_CARDS = Source(
    "EC2 DescribeInstanceTypes, NetworkCards, as shipped by moto 5.2.5",
    date(2026, 11, 21),
    as_of=date(2026, 11, 21),
)
EC2_PODS = Source(
    "interfaces of card 0 times IPv4 addresses without the first, plus 2 (EC2 DescribeInstanceTypes as shipped by"
    " moto 5.2.5); Karpenter's instance-types.md of 2026-07-11 has the same figures",
    date(2026, 11, 21),
    as_of=date(2026, 7, 11),
)


@dataclass(frozen=True, slots=True)
class Fabric:
    """One way to other machines' GPUs."""

    name: str
    source: Source


@dataclass(frozen=True, slots=True)
class Interface:
    """One network interface of an EC2 node, as a launch template lists it."""

    card: int
    device: int
    """Index on its card: the primary one is 0 on card 0, every other interface is 1, but for p6e."""
    kind: str
    """`interface` has an IP address, `efa` has one and bypasses TCP, `efa-only` bypasses TCP and has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuDirect:
    """What GKE needs so that a machine's GPUs are reached directly."""

    name: str
    device_networks: int | None
    """Networks for the GPUs' own cards; None where GKE makes them itself."""
    host_networks: int
    """Further networks for the host, beside the cluster's."""
    mtu: int | None
    """None: the network's profile says it."""
    device_mode: str | None
    """`deviceMode` of GKE's network parameters; None where DRANET hands the cards out."""
    profile: str | None
    """Network profile of the zone, as its name ends."""
    source: Source


def _tcp(name: str, networks: int) -> GpuDirect:
    return GpuDirect(
        name=name,
        device_networks=networks,
        host_networks=0,
        mtu=8244,
        device_mode="NetDevice",
        profile=None,
        source=GCE_GPUDIRECT,
    )


GCE_EDGE = Source(
    "Compute Engine, GPU network bandwidth (a copy of the page): A3 Edge has GPUDirect-TCPX over four cards of its"
    " GPUs; no example of a node pool seen",
    date(2026, 11, 22),
    verified=False,
    as_of=date(2026, 11, 22),
)
GCE_A4X_MAX = Source(
    "cluster-toolkit v1.95.0 at 1047080, gke-a4x-max-bm.yaml and modules/network/gpu-rdma-vpc: net-1 (IDPF) beside"
    " the cluster's, and a VPC of yours whose predefined subnet takes eight MRDMA interfaces, handed out by DRANET",
    date(2026, 11, 22),
    as_of=date(2026, 11, 22),
)
RDMA_IMAGE = Source(
    "Google, create an AI-optimized GKE cluster, requirements: to use GPUDirect RDMA, nodes must use Container-Optimized"
    " OS; Ubuntu and Windows are not supported",
    date(2026, 11, 28),
    as_of=date(2026, 8, 22),
)
ASAPD_LITE_SOURCE = Source(
    "Google, create an AI-optimized GKE cluster that uses A4X Max: asapd-lite configures the MRDMA NICs; NVIDIA/aicr"
    " docs/integrator/gke-a4x-max-networking.md: without it DRANET publishes no RDMA NIC. The public manifest has an"
    " older image (v0.0.3) than others run (v0.0.8) and no node selector, so it is not rendered",
    date(2026, 11, 28),
    as_of=date(2026, 8, 22),
)
ASAPD_LITE = "asapd-lite-installer/asapd-lite-installer-a4x-max-bm-cos.yaml"
"""Its manifest in GoogleCloudPlatform/container-engine-accelerators."""
EFA_DRIVER_FAULTS = frozenset({("GB200", 595)})
"""GPUs and driver branches with known faults of EFA."""
EFA_FAULTS_SOURCE = Source(
    "awslabs/amazon-eks-ami doc/usage/g7-ami.md: driver 595 has known issues with EFA on GB200 instances",
    date(2026, 11, 28),
    as_of=date(2026, 8, 22),
)
P6E_EFA = Source(
    "EC2 User Guide, EFA on p6e-gb200: eight EFA-only interfaces of 200 Gbps, or four of 400, on the odd cards, 1600"
    " together; aws-parallelcluster PR 6930: an odd card takes one interface, so its index is 0. Karpenter's 3200 is"
    " the sum with what has no EFA: not taken",
    date(2026, 11, 22),
    verified=False,
    as_of=date(2026, 11, 22),
)


def _rdma(
    device_networks: int | None, host_networks: int, device_mode: str | None, profile: str | None
) -> GpuDirect:
    return GpuDirect(
        name="GPUDirect-RDMA",
        device_networks=device_networks,
        host_networks=host_networks,
        mtu=None,
        device_mode=device_mode,
        profile=profile,
        source=GCE_GPUDIRECT,
    )


GPUDIRECT: Mapping[str, GpuDirect] = {
    "a3-highgpu-8g": _tcp("GPUDirect-TCPX", 4),
    "a3-edgegpu-8g": replace(_tcp("GPUDirect-TCPX", 4), source=GCE_EDGE),
    "a3-edgegpu-8g-nolssd": replace(_tcp("GPUDirect-TCPX", 4), source=GCE_EDGE),
    "a3-megagpu-8g": _tcp("GPUDirect-TCPXO", 8),
    "a3-ultragpu-8g": _rdma(8, 1, "RDMA", "vpc-roce"),
    "a3-ultragpu-8g-nolssd": _rdma(8, 1, "RDMA", "vpc-roce"),
    "a4-highgpu-8g": _rdma(8, 1, "RDMA", "vpc-roce"),
    "a4x-highgpu-4g": _rdma(None, 0, None, None),
    "a4x-maxgpu-4g-metal": replace(_rdma(8, 1, None, "vpc-roce-metal"), source=GCE_A4X_MAX),
}
"""By GCE machine type. Types that are not here have TCP only, or nobody has published more."""


def direct_fabric(machine: Machine) -> Fabric | None:
    """EFA or GPUDirect; None when collectives between machines of this type go over TCP."""
    if machine.efa_interfaces:
        return Fabric("EFA", machine.source)
    result = GPUDIRECT.get(machine.name)
    return Fabric(result.name, result.source) if result else None


def nvlink_gpus(machine: Machine) -> int | None:
    """GPUs of one NVLink domain; None without NVLink between GPUs, and for racks whose size the offer decides."""
    if machine.gpu is None or not machine.gpu.nvlink_gbps or machine.gpus == 1:
        return None
    nodes = most_in_pool(machine) if machine.is_rack else 1
    return nodes * machine.gpus if nodes else None


@cache
def _ec2() -> Mapping[str, tuple[int, int | None, int | None]]:
    """By type: cards, interfaces of card 0, addresses of an interface. Parsed when somebody asks first."""
    results: dict[str, tuple[int, int | None, int | None]] = {}
    for line in EC2_NETWORK.strip().splitlines()[1:]:
        cards, primary, ipv4, *types = line.split()
        results |= dict.fromkeys(types, (int(cards), _known(primary), _known(ipv4)))
    return results


def _known(cell: str) -> int | None:
    return None if cell == "-" else int(cell)


def network_cards(machine: Machine) -> int | None:
    """How many network cards an EC2 machine has; None elsewhere, where nobody chooses among them."""
    return _ec2()[machine.name][0] if machine.name in _ec2() else None


def interfaces(machine: Machine) -> tuple[Interface, ...]:
    """What a launch template must list so that every EFA of the machine is there; empty without EFA.

    One interface has an IP address: the primary one. The others carry EFA traffic and nothing else, so that
    they take no addresses. Where there are fewer EFAs than cards, card 0 takes none (p6-b300), and on p6e the
    odd ones alone take one each, which is then the first of its card.
    """
    if not machine.efa_interfaces:
        return ()
    if machine.name in EFA_CARDS:
        others = (Interface(card, 0, "efa-only") for card in EFA_CARDS[machine.name])
        return (Interface(0, 0, "interface"), *others)
    cards = network_cards(machine) or 1
    primary = "efa" if machine.efa_interfaces == cards else "interface"
    rest = (Interface(card, 1, "efa-only") for card in range(1, cards))
    return (Interface(0, 0, primary), *rest)


def pod_limit(machine: Machine) -> int | None:
    """Pods that the VPC's own network gives addresses to, without prefix delegation; None when unknown."""
    _, primary, ipv4 = _ec2().get(machine.name, (0, None, None))
    return primary * (ipv4 - 1) + 2 if primary and ipv4 else None
