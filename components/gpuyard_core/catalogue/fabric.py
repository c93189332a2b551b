"""Fabrics: how GPUs of different machines communicate without the host's TCP stack.

Also the node settings for it: the interface of each network card, and additional networks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cache

from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.catalogue.node_pools import max_nodes_per_pool
from gpuyard_core.catalogue.sources import GCE_GPUDIRECT, Source
from gpuyard_core.catalogue.tables.fabric import EC2_NETWORK, EFA_CARDS

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
    """A fabric between GPUs of different machines."""

    name: str
    source: Source


@dataclass(frozen=True, slots=True)
class Interface:
    """One network interface of an EC2 node, as a launch template lists it."""

    card: int
    device: int
    """Index on its card: the primary one is 0 on card 0, every other interface is 1, except on p6e."""
    kind: str
    """`interface` has an IP address, `efa` also bypasses TCP, `efa-only` bypasses TCP without an address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuDirect:
    """The GKE settings for GPUDirect on a machine."""

    name: str
    device_networks: int | None
    """Networks for the GPUs' own cards; None if GKE creates them."""
    host_networks: int
    """Additional networks for the host, besides the cluster's."""
    mtu: int | None
    """None: the network profile sets it."""
    device_mode: str | None
    """`deviceMode` of GKE's network parameters; None if DRANET allocates the cards."""
    profile: str | None
    """The suffix of the zone's network profile."""
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
    "cluster-toolkit v1.95.0 at 1047080, gke-a4x-max-bm.yaml and modules/network/gpu-rdma-vpc: net-1 (IDPF) next to"
    " the cluster's, and your own VPC whose predefined subnet has eight MRDMA interfaces, allocated by DRANET",
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
"""GPUs and driver branches with known EFA faults."""
EFA_FAULTS_SOURCE = Source(
    "awslabs/amazon-eks-ami doc/usage/g7-ami.md: driver 595 has known issues with EFA on GB200 instances",
    date(2026, 11, 28),
    as_of=date(2026, 8, 22),
)
P6E_EFA = Source(
    "EC2 User Guide, EFA on p6e-gb200: eight EFA-only interfaces of 200 Gbps, or four of 400, on the odd cards, 1600"
    " together; aws-parallelcluster PR 6930: an odd card takes one interface, so its index is 0. Karpenter's 3200"
    " includes cards without EFA and is not used",
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
"""By GCE machine type. Other types have TCP only, or no published fabric."""


def direct_fabric(machine: Machine) -> Fabric | None:
    """EFA or GPUDirect; None if collectives between machines of this type use TCP."""
    if machine.efa_interfaces:
        return Fabric("EFA", machine.source)
    result = GPUDIRECT.get(machine.name)
    return Fabric(result.name, result.source) if result else None


def nvlink_gpus(machine: Machine) -> int | None:
    """GPUs of one NVLink domain; None without NVLink between GPUs, and for racks, whose size depends on the offer."""
    if machine.gpu is None or not machine.gpu.nvlink_gbps or machine.gpus == 1:
        return None
    nodes = max_nodes_per_pool(machine) if machine.is_rack else 1
    return nodes * machine.gpus if nodes else None


@cache
def _ec2() -> Mapping[str, tuple[int, int | None, int | None]]:
    """Cards, interfaces of card 0 and addresses of an interface, by type. Parsed on first use."""
    results: dict[str, tuple[int, int | None, int | None]] = {}
    for line in EC2_NETWORK.strip().splitlines()[1:]:
        cards, primary, ipv4, *types = line.split()
        results |= dict.fromkeys(types, (int(cards), _known(primary), _known(ipv4)))
    return results


def _known(cell: str) -> int | None:
    return None if cell == "-" else int(cell)


def network_cards(machine: Machine) -> int | None:
    """How many network cards an EC2 machine has; None on other clouds, where cards cannot be selected."""
    return _ec2()[machine.name][0] if machine.name in _ec2() else None


def efa_interfaces_to_launch(machine: Machine) -> tuple[Interface, ...]:
    """The interfaces that a launch template must list for every EFA of the machine; empty without EFA.

    Only the primary interface has an IP address. The others carry EFA traffic only, so that they use no
    addresses. If there are fewer EFAs than cards, card 0 has none (p6-b300); on p6e only the odd cards have
    one each, which is then the first of its card.
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
    """The number of pods for which the VPC CNI has addresses, without prefix delegation; None if unknown."""
    _, primary, ipv4 = _ec2().get(machine.name, (0, None, None))
    return primary * (ipv4 - 1) + 2 if primary and ipv4 else None
