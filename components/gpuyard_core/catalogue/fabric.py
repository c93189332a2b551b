"""Fabrics: how GPUs of different machines communicate without the host's TCP stack.

Also the node settings for it: the interface of each network card, and additional networks.

Sources: `fabric.ec2-cards`, `fabric.ec2-pods`, `fabric.p6e-efa`, `fabric.rdma-image`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard_core.catalogue.machines import MACHINES, GpuDirect, Machine
from gpuyard_core.catalogue.node_pools import max_nodes_per_pool
from gpuyard_core.catalogue.sources import Source


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


ASAPD_LITE = "asapd-lite-installer/asapd-lite-installer-a4x-max-bm-cos.yaml"
"""Its manifest in GoogleCloudPlatform/container-engine-accelerators (fabric.asapd-lite)."""
EFA_DRIVER_FAULTS = frozenset({("GB200", 595)})
"""GPUs and driver branches with known EFA faults (fabric.efa-faults)."""


GPUDIRECT: Mapping[str, GpuDirect] = {
    name: machine.gpudirect for name, machine in MACHINES.items() if machine.gpudirect
}
"""By GCE machine type. Other types have TCP only, or no published fabric."""


def direct_fabric(machine: Machine) -> Fabric | None:
    """EFA or GPUDirect; None if collectives between machines of this type use TCP."""
    if machine.efa_interfaces:
        return Fabric("EFA", machine.source)
    result = machine.gpudirect
    return Fabric(result.name, result.source) if result else None


def nvlink_gpus(machine: Machine) -> int | None:
    """GPUs of one NVLink domain; None without NVLink between GPUs, and for racks, whose size depends on the offer."""
    if machine.gpu is None or not machine.gpu.nvlink_gbps or machine.gpus == 1:
        return None
    nodes = max_nodes_per_pool(machine) if machine.is_rack else 1
    return nodes * machine.gpus if nodes else None


def efa_interfaces_to_launch(machine: Machine) -> tuple[Interface, ...]:
    """The interfaces that a launch template must list for every EFA of the machine; empty without EFA.

    Only the primary interface has an IP address. The others carry EFA traffic only, so that they use no
    addresses. If there are fewer EFAs than cards, card 0 has none (p6-b300); on p6e only the odd cards have
    one each, which is then the first of its card.
    """
    if not machine.efa_interfaces:
        return ()
    if machine.efa_cards:
        others = (Interface(card, 0, "efa-only") for card in machine.efa_cards)
        return (Interface(0, 0, "interface"), *others)
    cards = machine.network_cards or 1
    primary = "efa" if machine.efa_interfaces == cards else "interface"
    rest = (Interface(card, 1, "efa-only") for card in range(1, cards))
    return (Interface(0, 0, primary), *rest)


def pod_limit(machine: Machine) -> int | None:
    """The number of pods for which the VPC CNI has addresses, without prefix delegation; None if unknown."""
    primary, ipv4 = machine.primary_interfaces, machine.interface_addresses
    return primary * (ipv4 - 1) + 2 if primary and ipv4 else None
