"""Machine types of the clouds: hardware, capacity types and prices.

Sources: `machines.cdmm`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from gpuyard_core.catalogue.gpus import Gpu
from gpuyard_core.catalogue.sources import Source, find_source
from gpuyard_core.catalogue.tables import read_rows
from gpuyard_core.displayed import HIDDEN


class Capacity(StrEnum):
    """How a machine is bought: the capacity options of a pool."""

    RESERVED = "reserved"
    BLOCK = "block"
    FLEX_START = "flex-start"
    SPOT = "spot"
    ON_DEMAND = "on-demand"


@dataclass(frozen=True, slots=True)
class Price:
    """USD an hour for one machine; a range if zones differ."""

    low: float
    high: float
    source: Source

    @staticmethod
    def from_cell(cell: str) -> "Price":
        """The price or range with its source, for tables: `23.84-24.40 ec2-spot`."""
        usd, source = cell.split()
        low, _, high = usd.partition("-")
        return Price(float(low), float(high or low), find_source(source))


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

    @staticmethod
    def from_cell(cell: str) -> "GpuDirect":
        """The fields in this order, for tables; a dash is None."""
        name, devices, hosts, mtu, mode, profile, source = (
            None if each == "-" else each for each in cell.split()
        )
        return GpuDirect(
            name=str(name),
            device_networks=int(devices) if devices else None,
            host_networks=int(hosts or 0),
            mtu=int(mtu) if mtu else None,
            device_mode=mode,
            profile=profile,
            source=find_source(str(source)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One machine type of one cloud, or a described machine of your own."""

    name: str
    """The machine type; with a suffix such as `+2xt4` if GPUs are attached to a type without GPUs."""
    cloud: str
    vcpus: int
    memory_gib: int
    source: Source
    gpu: Gpu | None = None
    gpus: int = 0
    gpu_fraction: Fraction = Fraction(1)
    """The part of one physical GPU that each of `gpus` is: 1/8 on g6f.large."""
    arch: str = "amd64"
    network_gbps: float | None = None
    efa_interfaces: int = 0
    nvme_gb: int = 0
    numa_nodes: int | None = None
    gpus_in_numa: int | None = None
    """The maximum number of GPUs in one NUMA node; None: all have the same number."""
    accelerator: str | None = None
    """GKE's name of the GPU."""
    gpu_quota: str = field(default="", repr=False, metadata=HIDDEN)
    """Compute Engine's quota of the GPU; empty if unknown."""
    region: str | None = None
    """The region of the prices; region_prices.csv has those of other regions."""
    on_demand: Price | None = None
    """List price; None is unknown, never free."""
    spot: Price | None = None
    sold: frozenset[Capacity] = frozenset()
    network_layers: int = field(default=0, repr=False, metadata=HIDDEN)
    """Network topology labels that the cloud puts on its nodes."""
    network_cards: int | None = field(default=None, repr=False, metadata=HIDDEN)
    """Network cards of an EC2 machine; None on other clouds, where cards cannot be selected."""
    primary_interfaces: int | None = field(default=None, repr=False, metadata=HIDDEN)
    """Interfaces of card 0."""
    interface_addresses: int | None = field(default=None, repr=False, metadata=HIDDEN)
    """IPv4 addresses of one interface."""
    efa_cards: tuple[int, ...] = field(default=(), repr=False, metadata=HIDDEN)
    """The cards with an EFA, if not all have one."""
    ultraserver_sizes: tuple[int, ...] = field(default=(), repr=False, metadata=HIDDEN)
    """Numbers of machines in one UltraServer, if it is only sold as a whole one."""
    gpudirect: GpuDirect | None = field(default=None, repr=False, metadata=HIDDEN)
    """GKE's settings for GPUDirect; None: TCP only, or no published fabric."""
    rack_topology: str = field(default="", repr=False, metadata=HIDDEN)
    """GKE's accelerator topology of an NVLink domain; a reservation of such machines also needs its policy."""
    gke_versions: tuple[str, ...] = field(default=(), repr=False, metadata=HIDDEN)
    """The oldest supported GKE version of each minor; later minors support it from their first version."""
    flex_start_compact: bool = field(default=False, repr=False, metadata=HIDDEN)
    """Whether GKE's flex-start nodes allow compact placement, except with queued provisioning."""
    one_year: Price | None = field(default=None, repr=False, metadata=HIDDEN)
    """A commitment in the region of the row: a standard reserved instance without upfront payment, or committed use."""
    three_years: Price | None = field(default=None, repr=False, metadata=HIDDEN)
    block: Price | None = field(default=None, repr=False, metadata=HIDDEN)
    """A capacity block, in `block_region`."""
    block_region: str = field(default="", repr=False, metadata=HIDDEN)

    @property
    def type_name(self) -> str:
        """The cloud's name of the machine type, without attached GPUs."""
        return self.name.partition("+")[0]

    @property
    def is_gpu_machine(self) -> bool:
        """Whether it has a GPU, or a part of one."""
        return self.gpu is not None

    @property
    def is_rack(self) -> bool:
        """Whether NVLink spans several of these nodes."""
        return self.gpu is not None and self.gpu.in_rack

    @property
    def uses_cdmm(self) -> bool:
        """Whether the cloud's driver uses CDMM by default, which excludes MIG."""
        return self.is_rack and self.cloud in {"aws", "gcp"}


MACHINES: Mapping[str, Machine] = {
    machine.name: machine for machine in read_rows("machines", Machine)
}
"""Machines by type name. Names are unique across clouds: EC2 types contain a dot, GCE types do not."""


def find_machine(name: str, machines: Mapping[str, Machine] = MACHINES) -> Machine | None:
    """The machine with that name, ignoring case; None if the catalogue does not have it."""
    return machines.get(name) or machines.get(name.lower())


UNDESCRIBED: Mapping[str, Source] = dict.fromkeys(
    ("p6e-gb300.36xlarge", "p6e-gb300.72xlarge"), find_source("ec2-undescribed")
)
"""Types that AWS sells, without a row because their memory and network are unknown."""


def machines_of(cloud: str) -> Mapping[str, Machine]:
    """The machines of one cloud by type name, in catalogue order."""
    return {name: machine for name, machine in MACHINES.items() if machine.cloud == cloud}
