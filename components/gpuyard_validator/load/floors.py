"""What one GPU must reach: rows by product, with who says so, and links by their rates.

A floor is a share of what somebody has measured. Where nobody has, it is a share of the maker's sheet, says
so, and falling below is a warning: nothing is known of how far a good one stays below its sheet.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard_validator.floors import OURS, Source
from gpuyard_validator.nccl.floors import pcie_gbps

OF_MEASURED, OF_SHEET = 0.75, 0.5
"""DCGM takes the first of what it has measured of memory (nvvs/diag-skus.yaml.in)."""
OF_SLOT, OF_NVLINK, OF_PRODUCT = 0.6, 0.6, 0.85
"""Of a slot's rate, of NVLink in one direction, and of a product's floor by a training's steps, for long."""

DCGM = Source(
    "DCGM 4.6.0 nvvs/diag-skus.yaml.in, STREAM triad as measured", "2026-11-25", seen=True
)
MAMF = Source(
    "stas00/ml-engineering compute/accelerator, best of mamf-finder", "2026-11-25", seen=True
)
AZNHC = Source("Azure/azurehpc-health-checks conf, floors of its fleet", "2026-11-25", seen=True)
SHEET = Source("NVIDIA's data sheet", "2026-11-25")
CLOCKED = Source("derived: 188 SMs of 1024 operations a clock at 2430 MHz", "2026-11-25")


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a product is sold with, and what somebody has seen of it."""

    sheet: float
    """GB/s, or TFLOPS."""
    measured: float | None
    source: Source
    firm: bool = True
    """False where nothing else confirms the measurement: falling below is a warning."""

    @property
    def held(self) -> "Held":
        """What it must reach."""
        if self.measured is None:
            said = f"derived, not measured: {OF_SHEET:g} of {self.sheet:g}, {self.source.title}"
            return Held(OF_SHEET * self.sheet, said, firm=False)
        return _of_measured(self.measured, self.source, firm=self.firm)


@dataclass(frozen=True, slots=True)
class Held:
    """What a rate is held against."""

    floor: float
    said: str
    firm: bool
    """False where falling below is told only."""


def _of_measured(measured: float, source: Source, *, firm: bool) -> Held:
    doubt = "" if firm else "; not measured elsewhere"
    said = f"{OF_MEASURED:g} of {measured:g}, {source.title} ({source.read_on}){doubt}"
    return Held(OF_MEASURED * measured, said, firm)


_T4, _A10G, _L4, _L40S = "Tesla-T4", "NVIDIA-A10G", "NVIDIA-L4", "NVIDIA-L40S"
_A100_40, _A100_80 = "NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-SXM4-80GB"
_H100, _H200, _B200 = "NVIDIA-H100-80GB-HBM3", "NVIDIA-H200", "NVIDIA-B200"
_GB200, _RTX6000 = "NVIDIA-GB200", "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"

MEMORY: Mapping[str, Sheet] = {
    _T4: Sheet(320, 244, DCGM),
    _A10G: Sheet(600, 484, DCGM),
    _L4: Sheet(300, 265, DCGM),
    _L40S: Sheet(864, 700, DCGM),
    # DCGM's own row of it is ten times too low: 137500 where its comment computes 1372500.
    _A100_40: Sheet(1555, None, SHEET),
    _A100_80: Sheet(2039, 1564, DCGM),
    _H100: Sheet(3350, 2540, DCGM),
    # DCGM has measured 3110, two thirds of its sheet; its floor there is a thousand times too low besides.
    _H200: Sheet(4800, 4260, OURS),
    _B200: Sheet(8000, 5430, DCGM),
    # DCGM calls the row of this device id "B200 DevId 10DE".
    _GB200: Sheet(8000, 3470, DCGM, firm=False),
    _RTX6000: Sheet(1597, 1480, DCGM, firm=False),
}
"""GB/s inside the memory, read and written bytes together."""
DCGM_MEMORY: Mapping[str, float] = {
    "NVIDIA-B300-SXM6-AC": 6164.48,
    "NVIDIA-GB300": 6030,
    "NVIDIA-H100-NVL": 2724,
    "NVIDIA-RTX-PRO-4500-Blackwell-Server-Edition": 739,
}
"""The same as DCGM has measured it, of products whose other rates have no source here."""
PRODUCT: Mapping[str, Sheet] = {
    _T4: Sheet(65, None, SHEET),
    _A10G: Sheet(70, None, SHEET),
    _L4: Sheet(121, None, SHEET),
    _L40S: Sheet(362, None, SHEET),
    _A100_40: Sheet(312, 271, MAMF),
    _A100_80: Sheet(312, 271, MAMF),
    _H100: Sheet(989, 795, MAMF),
    _H200: Sheet(989, 795, MAMF),
    _B200: Sheet(2250, 1745, MAMF),
    _GB200: Sheet(2500, None, SHEET),
    _RTX6000: Sheet(467, None, CLOCKED),
}
"""TFLOPS of dense products in bf16 or fp16, summed in float32."""
_SLOT: Mapping[str, float] = {_A100_40: 21, _A100_80: 21, _H100: 48, _H200: 48}
"""GB/s between host and GPU, pinned; these are floors already."""
_PAIR: Mapping[str, float] = {_A100_40: 235, _A100_80: 235, _H100: 335, _H200: 335}
"""GB/s from one GPU to another by NVLink; these too."""


def memory_held(product: str) -> Held | None:
    """Of copies inside the memory; None for a product of which nobody says anything here."""
    if product in DCGM_MEMORY:
        return _of_measured(DCGM_MEMORY[product], DCGM, firm=False)
    row = MEMORY.get(product)
    return row.held if row else None


def product_held(product: str) -> Held | None:
    """Of products of matrices."""
    row = PRODUCT.get(product)
    return row.held if row else None


def step_held(product: str) -> Held | None:
    """Of a training's steps: for long, hot, and with a copy of the weights between products."""
    found = product_held(product)
    if found is None:
        return None
    return Held(OF_PRODUCT * found.floor, f"derived: {OF_PRODUCT:g} of ({found.said})", found.firm)


def slot_held(product: str) -> Held:
    """Of copies between host and GPU."""
    if product in _SLOT:
        return Held(_SLOT[product], f"{AZNHC.title} ({AZNHC.read_on})", firm=True)
    rate = pcie_gbps(product)
    said = f"derived, not measured: {OF_SLOT:g} of {rate:g} GB/s of PCIe"
    return Held(OF_SLOT * rate, said, firm=False)


def pair_held(product: str, nvlink_gbps: int) -> Held:
    """Of copies to another GPU."""
    if product in _PAIR:
        return Held(_PAIR[product], f"{AZNHC.title} ({AZNHC.read_on})", firm=True)
    uni = nvlink_gbps / 2
    said = f"derived, not measured: {OF_NVLINK:g} of {uni:g} GB/s of NVLink"
    return Held(OF_NVLINK * uni, said, firm=False)
