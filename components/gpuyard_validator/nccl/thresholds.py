"""Thresholds of collectives: published measurements, otherwise link rates.

A threshold is a share of a measurement, and never exceeds the links' rate (`ceiling_gbps`). Small messages
have none: full bandwidth needs 1 GiB or more (nccl-tests curves: an H200 has 403 of 473 GB/s at 128 MiB).
"""

from dataclasses import dataclass

from gpuyard_validator.nccl.arithmetic import GIB, Operation, network_share
from gpuyard_validator.thresholds import Quantity, Source, common, threshold_of

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

STAS = Source("stas00/ml-engineering network/benchmarks, measured", "2026-11-24", is_verified=True)
AWS = Source(
    "awsome-distributed-training micro-benchmarks/nccl-tests", "2026-11-24", is_verified=True
)
NVCRE = Source(
    "NVIDIA/cluster-readiness-engine validation-results.md", "2026-11-24", is_verified=True
)
COREWEAVE = Source("coreweave/nccl-tests README, measured", "2026-11-24", is_verified=True)
SLIDE = Source(
    "NVIDIA's slide of bus bandwidths, by stas00/ml-engineering", "2026-11-24", is_verified=True
)


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


_A100, _H100 = "NVIDIA-A100-SXM4-80GB", "NVIDIA-H100-80GB-HBM3"
_H200, _B200, _GB200 = "NVIDIA-H200", "NVIDIA-B200", "NVIDIA-GB200"


def _row(  # noqa: PLR0913, PLR0917  a row of a table
    product: str,
    gpus: int,
    nodes: int,
    operation: Operation,
    way: str,
    gib: int,
    best: float,
    source: Source,
    ring: float = 0.0,
) -> Measured:
    return Measured(
        product=product,
        gpus=gpus,
        nodes=nodes,
        operation=operation,
        way=way,
        size=gib * GIB,
        best=best,
        ring=ring,
        source=source,
    )


_ALL = Operation
MEASURED = (
    _row(_A100, 8, 1, _ALL.ALL_REDUCE, NVLINK, 16, 234.9, STAS, ring=232),
    _row(_H100, 8, 1, _ALL.ALL_REDUCE, NVLINK, 8, 480, SLIDE, ring=370),
    _row(_H200, 8, 1, _ALL.ALL_REDUCE, NVLINK, 8, 473, STAS, ring=367),
    _row(_H200, 4, 1, _ALL.ALL_REDUCE, NVLINK, 8, 363, STAS, ring=363),
    _row(_B200, 8, 1, _ALL.ALL_REDUCE, NVLINK, 8, 838, STAS, ring=682),
    _row(_A100, 8, 2, _ALL.ALL_REDUCE, "efa", 2, 78.3, AWS),
    _row(_H100, 8, 2, _ALL.ALL_REDUCE, "efa", 16, 487, AWS),
    _row(_H100, 8, 2, _ALL.ALL_GATHER, "efa", 16, 338.6, NVCRE),
    _row(_H100, 8, 2, _ALL.ALL_TO_ALL, "efa", 16, 79.1, NVCRE),
    _row(_H200, 8, 4, _ALL.ALL_REDUCE, "efa", 4, 364.9, AWS),
    _row(_B200, 8, 4, _ALL.ALL_REDUCE, "efa", 1, 362, AWS),
    _row(_B200, 8, 4, _ALL.ALL_REDUCE, "efa", 4, 377, AWS),
    _row(_B200, 8, 4, _ALL.ALL_REDUCE, "efa", 16, 381.8, AWS),
    _row(_H100, 8, 8, _ALL.ALL_REDUCE, "infiniband", 8, 386, COREWEAVE),
    _row(_H100, 8, 2, _ALL.ALL_REDUCE, "fastrak", 16, 337, NVCRE),
    _row(_H100, 8, 2, _ALL.ALL_GATHER, "fastrak", 16, 189, NVCRE),
    _row(_H100, 8, 2, _ALL.ALL_TO_ALL, "fastrak", 16, 40, NVCRE),
    _row(_GB200, 4, 2, _ALL.ALL_REDUCE, NVLINK, 16, 838, AWS),
    _row(_GB200, 4, 4, _ALL.ALL_REDUCE, NVLINK, 16, 882, AWS),
)
"""Over EFA: p4de, p5, p5en and p6-b200; over FasTrak: a3-mega. The date is when it was read."""


def bandwidth_threshold(shape: Shape) -> BandwidthThreshold | None:
    """The threshold of a run; None for a small message or links of unknown rate."""
    if shape.size < LEAST_BYTES:
        return None
    rows = sorted((row for row in MEASURED if _fits(row, shape)), key=lambda each: each.size)
    if not rows:
        return _derived(shape)
    row = next((each for each in reversed(rows) if each.size <= shape.size), rows[0])
    seen = f"{row.best:g} GB/s at {row.size // GIB} GiB, {row.source.title} ({row.source.read_on})"
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
