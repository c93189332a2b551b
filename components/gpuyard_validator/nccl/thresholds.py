"""Thresholds of collectives: published measurements, otherwise link rates.

A threshold is a share of a measurement, and never exceeds the links' rate (`ceiling_gbps`). Small messages
have none: full bandwidth needs 1 GiB or more (nccl-tests curves: an H200 has 403 of 473 GB/s at 128 MiB).
"""

from dataclasses import dataclass
from functools import cache

from gpuyard_validator.nccl.arithmetic import GIB, Operation, network_share
from gpuyard_validator.thresholds import DATA, Quantity, Source, common, sources, threshold_of
from gpuyard_validator.values import read_table

NVLINK, PCIE = "nvlink", "pcie"
"""Transports within a node; a rack's NVLink also connects nodes."""
LEAST_BYTES = GIB
OF_RING, OF_BEST, OF_TWO_NODES, USUAL = 0.88, 0.75, 0.6, 0.9
"""Shares of measurements. NVLink SHARP may be off, so within a node the ring's measurement counts.
On two nodes NCCL's trees exceed the line rate (nccl-tests issues 153, 196, 274); a healthy ring does not."""
OF_NVLINK, OF_NETWORK, OF_PCIE = 0.6, 0.5, 0.15
"""Shares of a link's rate, without a measurement."""
NVLS_GAIN = 1.1
"""An all-reduce in the NVSwitches exceeds the links' rate slightly: 482 of 450 GB/s were measured."""
_LANE_GBPS = {3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}
"""GB/s of a PCIe lane in one direction, by generation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What runs, and on which hardware."""

    product: str
    gpus: int
    """GPUs of one node."""
    nodes: int
    operation: Operation
    size: int
    way: str
    """nvlink or pcie within a node; efa, infiniband, roce, fastrak, tcpx, gib or tcp between nodes."""
    nvlink: float
    """GB/s of one GPU, both directions summed; 0 without NVLink."""
    network: float | None
    """GB/s of one GPU's adapters, in one direction; None where unknown."""

    @property
    def ranks(self) -> int:
        """One for each GPU."""
        return self.gpus * self.nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A published measurement."""

    product: str
    gpus: int
    nodes: int
    operation: Operation
    way: str
    size: int
    best: float
    ring: float = 0.0
    """With NVLink SHARP off; 0 where not measured separately."""
    source: Source

    @property
    def floor(self) -> float:
        """The threshold."""
        if self.ring:
            return OF_RING * self.ring
        return (OF_TWO_NODES if self.nodes == 2 else OF_BEST) * self.best  # noqa: PLR2004


@dataclass(frozen=True, slots=True, kw_only=True)
class BandwidthThreshold:
    """The threshold of a run."""

    floor: float
    typical: float
    """Below it, performance is unusual but not yet a failure."""
    said: str
    is_enforced: bool = True
    """False where a lower value is only a warning: the derivation is too coarse."""


@cache
def measured() -> tuple[Measured, ...]:
    """The published measurements; over EFA of p4de, p5, p5en and p6-b200, over FasTrak of a3-mega."""
    return tuple(
        Measured(
            product=row["product"],
            gpus=int(row["gpus"]),
            nodes=int(row["nodes"]),
            operation=Operation(row["operation"]),
            way=row["way"],
            size=int(row["gib"]) * GIB,
            best=float(row["best"]),
            ring=float(row["ring"] or 0),
            source=sources()[row["source"]],
        )
        for row in read_table(DATA / "collectives.csv")
    )


def bandwidth_threshold(shape: Shape) -> BandwidthThreshold | None:
    """The threshold of a run; None for a small message or links of unknown rate."""
    if shape.size < LEAST_BYTES:
        return None
    rows = sorted((row for row in measured() if _fits(row, shape)), key=lambda each: each.size)
    if not rows:
        return _derived(shape)
    row = next((each for each in reversed(rows) if each.size <= shape.size), rows[0])
    seen = f"{row.best:g} GB/s at {row.size // GIB} GiB, {row.source}"
    return BandwidthThreshold(floor=row.floor, typical=USUAL * row.best, said=f"share of {seen}")


def _fits(row: Measured, shape: Shape) -> bool:
    same = (row.product, row.gpus, row.nodes, row.operation, row.way)
    wanted = (shape.product, shape.gpus, shape.nodes, shape.operation, shape.way)
    return same == wanted


def _derived(shape: Shape) -> BandwidthThreshold | None:
    """From link rates: a threshold without a typical value."""
    limits = []
    if shape.nodes > 1 and shape.way != NVLINK:
        if shape.network is None:
            return None
        share = network_share(shape.operation, shape.ranks, shape.nodes)
        source = f"{OF_NETWORK:g} of {shape.network:g} GB/s of adapters per GPU"
        limits.append((OF_NETWORK * shape.network / share, source))
    if shape.nvlink:
        uni = shape.nvlink / 2
        limits.append((OF_NVLINK * uni, f"{OF_NVLINK:g} of {uni:g} GB/s of NVLink"))
    else:
        rate = pcie_gbps(shape.product)
        limits.append((OF_PCIE * rate, f"{OF_PCIE:g} of {rate:g} GB/s of PCIe"))
    floor, source = min(limits)
    source = f"derived, not measured: {source}"
    return BandwidthThreshold(
        floor=floor, typical=floor, said=source, is_enforced=bool(shape.nvlink)
    )


def pcie_gbps(product: str) -> float:
    """GB/s of this product's PCIe slot, in one direction."""
    lanes = threshold_of(Quantity.PCIE_WIDTH, product) or common(Quantity.PCIE_WIDTH)
    generation = threshold_of(Quantity.PCIE_GENERATION, product) or common(Quantity.PCIE_GENERATION)
    return lanes.value * _LANE_GBPS[int(generation.value)]


def ceiling_gbps(shape: Shape) -> float | None:
    """The maximum of this shape; None where a link's rate is unknown."""
    gain = NVLS_GAIN if shape.operation is Operation.ALL_REDUCE else 1.0
    inside = gain * (shape.nvlink / 2 or pcie_gbps(shape.product))
    if shape.nodes == 1 or shape.way == NVLINK:
        return inside
    if shape.network is None:
        return None
    return min(inside, shape.network / network_share(shape.operation, shape.ranks, shape.nodes))
