"""Thresholds of one GPU: rows by product with their sources, and link rates.

A threshold is a share of a published measurement. Without one, it is a share of the data sheet, marked as
derived, and a lower value is a warning: how far good GPUs stay below their data sheet is unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard_validator.nccl.thresholds import pcie_gbps
from gpuyard_validator.thresholds import OWN_MEASUREMENTS, Source

OF_MEASURED, OF_SHEET = 0.75, 0.5
"""DCGM uses the first as the share of its memory measurements (nvvs/diag-skus.yaml.in)."""
OF_SLOT, OF_NVLINK, OF_PRODUCT = 0.6, 0.6, 0.85
"""Shares of a slot's rate, of NVLink in one direction, and of the matrix product threshold for long training steps."""

DCGM = Source(
    "DCGM 4.6.0 nvvs/diag-skus.yaml.in, STREAM triad as measured", "2026-11-25", is_verified=True
)
MAMF = Source(
    "stas00/ml-engineering compute/accelerator, best of mamf-finder", "2026-11-25", is_verified=True
)
AZNHC = Source(
    "Azure/azurehpc-health-checks conf, thresholds of its fleet", "2026-11-25", is_verified=True
)
SHEET = Source("NVIDIA's data sheet", "2026-11-25")
CLOCKED = Source("derived: 188 SMs of 1024 operations a clock at 2430 MHz", "2026-11-25")


@dataclass(frozen=True, slots=True)
class DataSheet:
    """Data sheet values of a product, and published measurements."""

    sheet: float
    """GB/s, or TFLOPS."""
    measured: float | None
    source: Source
    is_enforced: bool = True
    """False where no second source confirms the measurement: a lower value is a warning."""

    @property
    def threshold(self) -> "LoadThreshold":
        """The threshold and its source."""
        if self.measured is None:
            said = f"derived, not measured: {OF_SHEET:g} of {self.sheet:g}, {self.source.title}"
            return LoadThreshold(OF_SHEET * self.sheet, said, is_enforced=False)
        return _of_measured(self.measured, self.source, firm=self.is_enforced)


@dataclass(frozen=True, slots=True)
class LoadThreshold:
    """The threshold of a rate."""

    floor: float
    said: str
    is_enforced: bool
    """False where a lower value is only a warning."""


def _of_measured(measured: float, source: Source, *, firm: bool) -> LoadThreshold:
    doubt = "" if firm else "; not measured elsewhere"
    said = f"{OF_MEASURED:g} of {measured:g}, {source.title} ({source.read_on}){doubt}"
    return LoadThreshold(OF_MEASURED * measured, said, firm)


_T4, _A10G, _L4, _L40S = "Tesla-T4", "NVIDIA-A10G", "NVIDIA-L4", "NVIDIA-L40S"
_A100_40, _A100_80 = "NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-SXM4-80GB"
_H100, _H200, _B200 = "NVIDIA-H100-80GB-HBM3", "NVIDIA-H200", "NVIDIA-B200"
_GB200, _RTX6000 = "NVIDIA-GB200", "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"

MEMORY: Mapping[str, DataSheet] = {
    _T4: DataSheet(320, 244, DCGM),
    _A10G: DataSheet(600, 484, DCGM),
    _L4: DataSheet(300, 265, DCGM),
    _L40S: DataSheet(864, 700, DCGM),
    # DCGM's own row of it is ten times too low: 137500 where its comment computes 1372500.
    _A100_40: DataSheet(1555, None, SHEET),
    _A100_80: DataSheet(2039, 1564, DCGM),
    _H100: DataSheet(3350, 2540, DCGM),
    # DCGM has measured 3110, two thirds of the data sheet; its threshold there is also a thousand times too low.
    _H200: DataSheet(4800, 4260, OWN_MEASUREMENTS),
    _B200: DataSheet(8000, 5430, DCGM),
    # DCGM calls the row of this device id "B200 DevId 10DE".
    _GB200: DataSheet(8000, 3470, DCGM, is_enforced=False),
    _RTX6000: DataSheet(1597, 1480, DCGM, is_enforced=False),
}
"""GB/s of GPU memory, bytes read and written summed."""
DCGM_MEMORY: Mapping[str, float] = {
    "NVIDIA-B300-SXM6-AC": 6164.48,
    "NVIDIA-GB300": 6030,
    "NVIDIA-H100-NVL": 2724,
    "NVIDIA-RTX-PRO-4500-Blackwell-Server-Edition": 739,
}
"""The same from DCGM's measurements, for products whose other rates have no source here."""
PRODUCT: Mapping[str, DataSheet] = {
    _T4: DataSheet(65, None, SHEET),
    _A10G: DataSheet(70, None, SHEET),
    _L4: DataSheet(121, None, SHEET),
    _L40S: DataSheet(362, None, SHEET),
    _A100_40: DataSheet(312, 271, MAMF),
    _A100_80: DataSheet(312, 271, MAMF),
    _H100: DataSheet(989, 795, MAMF),
    _H200: DataSheet(989, 795, MAMF),
    _B200: DataSheet(2250, 1745, MAMF),
    _GB200: DataSheet(2500, None, SHEET),
    _RTX6000: DataSheet(467, None, CLOCKED),
}
"""TFLOPS of dense matrix products in bf16 or fp16, summed in float32."""
_SLOT: Mapping[str, float] = {_A100_40: 21, _A100_80: 21, _H100: 48, _H200: 48}
"""GB/s between host and GPU, pinned; these are thresholds already."""
_PAIR: Mapping[str, float] = {_A100_40: 235, _A100_80: 235, _H100: 335, _H200: 335}
"""GB/s from one GPU to another over NVLink; thresholds already."""


def memory_threshold(product: str) -> LoadThreshold | None:
    """Of copies within GPU memory; None without a source for the product."""
    if product in DCGM_MEMORY:
        return _of_measured(DCGM_MEMORY[product], DCGM, firm=False)
    row = MEMORY.get(product)
    return row.threshold if row else None


def matmul_threshold(product: str) -> LoadThreshold | None:
    """Of matrix products."""
    row = PRODUCT.get(product)
    return row.threshold if row else None


def step_threshold(product: str) -> LoadThreshold | None:
    """Of training steps: long, hot, and with a copy of the weights between products."""
    result = matmul_threshold(product)
    if result is None:
        return None
    return LoadThreshold(
        OF_PRODUCT * result.floor, f"derived: {OF_PRODUCT:g} of ({result.said})", result.is_enforced
    )


def pcie_threshold(product: str) -> LoadThreshold:
    """Of copies between host and GPU."""
    if product in _SLOT:
        return LoadThreshold(_SLOT[product], f"{AZNHC.title} ({AZNHC.read_on})", is_enforced=True)
    rate = pcie_gbps(product)
    source = f"derived, not measured: {OF_SLOT:g} of {rate:g} GB/s of PCIe"
    return LoadThreshold(OF_SLOT * rate, source, is_enforced=False)


def peer_threshold(product: str, nvlink_gbps: int) -> LoadThreshold:
    """Of copies to another GPU."""
    if product in _PAIR:
        return LoadThreshold(_PAIR[product], f"{AZNHC.title} ({AZNHC.read_on})", is_enforced=True)
    uni = nvlink_gbps / 2
    source = f"derived, not measured: {OF_NVLINK:g} of {uni:g} GB/s of NVLink"
    return LoadThreshold(OF_NVLINK * uni, source, is_enforced=False)
