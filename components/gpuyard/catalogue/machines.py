"""Machine types of the clouds: hardware, capacity types and prices."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from fractions import Fraction

from gpuyard.catalogue import sources
from gpuyard.catalogue.gpus import GPUS, Gpu
from gpuyard.catalogue.sources import Source
from gpuyard.catalogue.tables import cpu_machines, machines


class Capacity(StrEnum):
    """How a machine is bought: the capacity options of a pool."""

    RESERVED = "reserved"
    BLOCK = "block"
    FLEX_START = "flex-start"
    SPOT = "spot"
    ON_DEMAND = "on-demand"


CDMM_SOURCE = Source(
    "Google, create an AI-optimized GKE cluster: Coherent Driver-based Memory Management (CDMM) is on by default on A4X"
    " and A4X Max, and MIG is not supported with it; Amazon EKS user guide, P6e-GB200 UltraServers: the same from"
    " driver 580 on",
    date(2026, 11, 28),
    as_of=date(2026, 8, 22),
)
RACK_GPUS = frozenset({"GB200", "GB300"})
"""GPUs whose NVLink spans several nodes; nodes of one domain have the same clique label."""


@dataclass(frozen=True, slots=True)
class Price:
    """USD an hour for one machine; a range if zones differ."""

    low: float
    high: float
    source: Source


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
    region: str | None = None
    """The region of the prices; other regions differ."""
    on_demand: Price | None = None
    """List price; None is unknown, never free."""
    spot: Price | None = None
    sold: frozenset[Capacity] = frozenset()

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
        return self.gpu is not None and self.gpu.name in RACK_GPUS

    @property
    def uses_cdmm(self) -> bool:
        """Whether the cloud's driver uses CDMM by default, which excludes MIG."""
        return self.is_rack and self.cloud in {"aws", "gcp"}


def _number(cell: str) -> float | None:
    return None if cell == "-" else float(cell)


def _price(cell: str, source: Source) -> Price | None:
    if cell == "-":
        return None
    low, _, high = cell.partition("-")
    return Price(float(low), float(high or low), source)


def table_rows(table: str) -> Iterator[list[str]]:
    """The cells of a text table, row by row; lines with a # are comments."""
    return (line.split() for line in table.strip().splitlines() if not line.startswith("#"))


def _gpus(cell: str) -> tuple[int, Fraction]:
    """`8` is eight GPUs; `1/8` is one eighth of a GPU."""
    share = Fraction(cell)
    return (int(share), Fraction(1)) if share >= 1 else (1, share)


def _ec2_sold(name: str, *, listed: bool) -> frozenset[Capacity]:
    """Every EC2 GPU type has spot and reservations; the P family has capacity blocks, except p3dn."""
    if not listed:
        return frozenset({Capacity.BLOCK})
    sold = {Capacity.ON_DEMAND, Capacity.SPOT, Capacity.RESERVED}
    if name.startswith("p") and not name.startswith("p3dn"):
        sold.add(Capacity.BLOCK)
    return frozenset(sold)


def _ec2_gpu_machines() -> Iterator[Machine]:
    for name, gpu, count, vcpu, gib, gbps, efa, nvme, numa, usd, spot in table_rows(
        machines.EC2_GPU
    ):
        gpus, fraction = _gpus(count)
        listed = not name.startswith("p6e")
        nodes = _number(numa)
        yield Machine(
            name=name,
            cloud="aws",
            gpu=GPUS[gpu],
            gpus=gpus,
            gpu_fraction=fraction,
            vcpus=int(vcpu),
            memory_gib=int(gib),
            arch="arm64" if name.startswith(("g5g.", "p6e")) else "amd64",
            network_gbps=_number(gbps),
            efa_interfaces=int(efa),
            nvme_gb=int(nvme),
            numa_nodes=None if nodes is None else int(nodes),
            region="us-east-1",
            on_demand=_price(usd, sources.EC2_OFFERS),
            spot=_price(spot, sources.EC2_SPOT),
            sold=_ec2_sold(name, listed=listed),
            source=sources.EC2_OFFERS if listed else sources.EC2_NOT_LISTED,
        )


_GCE_FROM_LISTS = ("a3-mega", "a3-ultra", "a3-edge", "a4")


def _gce_sold(name: str, *, on_demand: bool) -> frozenset[Capacity]:
    """All types can be reserved; the other capacity types are by list, with or without a price (GCE_CONSUMPTION)."""
    sold = {Capacity.RESERVED}
    if on_demand:
        sold.add(Capacity.ON_DEMAND)
    if not name.startswith(machines.NO_SPOT):
        sold.add(Capacity.SPOT)
    if not name.startswith(machines.NO_FLEX_START):
        sold.add(Capacity.FLEX_START)
    if name.startswith(machines.CALENDAR_MODE):
        sold.add(Capacity.BLOCK)
    return frozenset(sold)


def _gce_gpu_machines() -> Iterator[Machine]:
    for name, gpu, count, vcpu, gib, gbps, ssd, accelerator, usd, sold, spot in table_rows(
        machines.GCE_GPU
    ):
        gpus, fraction = _gpus(count)
        origin = sources.GCE_LISTS if name.startswith(_GCE_FROM_LISTS) else sources.GCE_OFFERS
        yield Machine(
            name=name,
            cloud="gcp",
            gpu=GPUS[gpu],
            gpus=gpus,
            gpu_fraction=fraction,
            vcpus=int(vcpu),
            memory_gib=int(gib),
            arch="arm64" if name.startswith("a4x-") else "amd64",
            network_gbps=_number(gbps),
            nvme_gb=int(ssd),
            accelerator=accelerator,
            region="us-central1",
            on_demand=_price(usd, origin),
            spot=_price(spot, origin),
            sold=_gce_sold(name, on_demand=sold == "yes"),
            source=origin,
        )


def _gce_n1_machines() -> Iterator[Machine]:
    prices = {gpu: rest for gpu, *rest in table_rows(machines.GCE_N1_PRICES)}
    host = next(row for row in table_rows(cpu_machines.GCE_CPU) if row[0] == "n1-standard-4")
    for name, gpu, accelerator, gpus, vcpu, gib in table_rows(machines.GCE_N1):
        usd, spot = (
            f"{int(vcpu) / 4 * float(four) + int(gpus) * float(one):.4f}"
            for four, one in zip(host[4:], prices[gpu], strict=True)
        )
        yield Machine(
            name=name,
            cloud="gcp",
            gpu=GPUS[gpu],
            gpus=int(gpus),
            vcpus=int(vcpu),
            memory_gib=int(gib),
            accelerator=accelerator,
            region="us-central1",
            on_demand=_price(usd, sources.GCE_N1),
            spot=_price(spot, sources.GCE_N1),
            sold=_gce_sold(name, on_demand=True),
            source=sources.GCE_N1,
        )


def _cpu_machines(table: str, cloud: str, region: str, source: Source) -> Iterator[Machine]:
    for name, vcpu, gib, arch, usd, *rest in table_rows(table):
        yield Machine(
            name=name,
            cloud=cloud,
            vcpus=int(vcpu),
            memory_gib=int(gib),
            arch=arch,
            region=region,
            on_demand=_price(usd, source),
            spot=_price(rest[0], source) if rest else None,
            sold=frozenset({Capacity.ON_DEMAND, Capacity.SPOT, Capacity.RESERVED}),
            source=source,
        )


MACHINES: Mapping[str, Machine] = {
    machine.name: machine
    for machine in (
        *_ec2_gpu_machines(),
        *_cpu_machines(cpu_machines.EC2_CPU, "aws", "us-east-1", sources.EC2_OFFERS),
        *_gce_gpu_machines(),
        *_gce_n1_machines(),
        *_cpu_machines(cpu_machines.GCE_CPU, "gcp", "us-central1", sources.GCE_OFFERS),
    )
}
"""Machines by type name. Names are unique across clouds: EC2 types contain a dot, GCE types do not."""


def find_machine(name: str) -> Machine | None:
    """The machine with that name, ignoring case; None if the catalogue does not have it."""
    return MACHINES.get(name) or MACHINES.get(name.lower())


UNDESCRIBED: Mapping[str, Source] = dict.fromkeys(
    ("p6e-gb300.36xlarge", "p6e-gb300.72xlarge"), sources.EC2_UNDESCRIBED
)
"""Types that AWS sells, without a row because their memory and network are unknown."""


def machine_names(cloud: str | None = None) -> tuple[str, ...]:
    """Machine names of one cloud (or of all), in catalogue order."""
    return tuple(m.name for m in MACHINES.values() if cloud in {None, m.cloud})
