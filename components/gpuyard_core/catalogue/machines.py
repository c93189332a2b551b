"""Machine types of the clouds: hardware, capacity types and prices."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from fractions import Fraction

from gpuyard_core.catalogue import sources
from gpuyard_core.catalogue.gpus import GPUS, Gpu
from gpuyard_core.catalogue.sources import Source
from gpuyard_core.catalogue.tables import cpu_machines, machines


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


def table_records(table: str) -> Iterator[dict[str, str]]:
    """The rows of a text table by the column names of its first line."""
    header, *lines = table.strip().splitlines()
    return (dict(zip(header[1:].split(), line.split(), strict=True)) for line in lines)


def _gpus(cell: str) -> tuple[int, Fraction]:
    """`8` is eight GPUs; `1/8` is one eighth of a GPU."""
    share = Fraction(cell)
    return (int(share), Fraction(1)) if share >= 1 else (1, share)


_SOLD: Mapping[str, Capacity] = {
    "o": Capacity.ON_DEMAND,
    "s": Capacity.SPOT,
    "r": Capacity.RESERVED,
    "b": Capacity.BLOCK,
    "f": Capacity.FLEX_START,
}


def _sold(cell: str) -> frozenset[Capacity]:
    return frozenset(_SOLD[letter] for letter in cell)


_SOURCES: Mapping[tuple[str, str], Source] = {
    ("aws", "offers"): sources.EC2_OFFERS,
    ("aws", "unlisted"): sources.EC2_NOT_LISTED,
    ("gcp", "offers"): sources.GCE_OFFERS,
    ("gcp", "lists"): sources.GCE_LISTS,
}


def _gpu_machines(table: str, cloud: str, region: str, spot: Source | None) -> Iterator[Machine]:
    """The machines of a table; without a source of their own, Spot prices have that of the row."""
    for row in table_records(table):
        gpus, fraction = _gpus(row["gpus"])
        numa, source = _number(row.get("numa", "-")), _SOURCES[cloud, row["source"]]
        yield Machine(
            name=row["type"],
            cloud=cloud,
            gpu=GPUS[row["gpu"]],
            gpus=gpus,
            gpu_fraction=fraction,
            vcpus=int(row["vcpu"]),
            memory_gib=int(row["gib"]),
            arch=row["arch"],
            network_gbps=_number(row["gbps"]),
            efa_interfaces=int(row.get("efa", 0)),
            nvme_gb=int(row["nvme"]),
            numa_nodes=None if numa is None else int(numa),
            accelerator=row.get("accelerator"),
            region=region,
            on_demand=_price(row["usd"], source),
            spot=_price(row["spot"], spot or source),
            sold=_sold(row["sold"]),
            source=source,
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
            sold=_sold("osrf"),
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
        *_gpu_machines(machines.EC2_GPU, "aws", "us-east-1", sources.EC2_SPOT),
        *_cpu_machines(cpu_machines.EC2_CPU, "aws", "us-east-1", sources.EC2_OFFERS),
        *_gpu_machines(machines.GCE_GPU, "gcp", "us-central1", None),
        *_gce_n1_machines(),
        *_cpu_machines(cpu_machines.GCE_CPU, "gcp", "us-central1", sources.GCE_OFFERS),
    )
}
"""Machines by type name. Names are unique across clouds: EC2 types contain a dot, GCE types do not."""


def find_machine(name: str, machines: Mapping[str, Machine] = MACHINES) -> Machine | None:
    """The machine with that name, ignoring case; None if the catalogue does not have it."""
    return machines.get(name) or machines.get(name.lower())


UNDESCRIBED: Mapping[str, Source] = dict.fromkeys(
    ("p6e-gb300.36xlarge", "p6e-gb300.72xlarge"), sources.EC2_UNDESCRIBED
)
"""Types that AWS sells, without a row because their memory and network are unknown."""


def machines_of(cloud: str) -> Mapping[str, Machine]:
    """The machines of one cloud by type name, in catalogue order."""
    return {name: machine for name, machine in MACHINES.items() if machine.cloud == cloud}
