"""All thresholds of checks, each with its source.

`seen` says whether it was measured on hardware; the others come from vendor tables, or are derived.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Quantity(StrEnum):
    """The quantity of a threshold; its value names the unit."""

    PCIE_GENERATION = "generation"
    PCIE_WIDTH = "lanes"
    NVLINK_RATE = "GB/s per link"
    MAX_SM_CLOCK = "MHz"
    MEMORY_SHARE = "of nominal"
    RETIRED_PAGES = "pages"
    REMAPPED_ROWS = "rows"
    UTILIZATION = "%"
    POWER_SHARE = "of its limit"


@dataclass(frozen=True, slots=True)
class Source:
    """The source, and the date when it was read."""

    title: str
    read_on: str
    is_verified: bool = False


@dataclass(frozen=True, slots=True)
class Threshold:
    """One threshold: a minimum, or a maximum where its quantity counts damage."""

    value: float
    source: Source

    @property
    def source_text(self) -> str:
        """The source, as reports show it."""
        doubt = "" if self.source.is_verified else ", not measured on hardware"
        return f"{self.source.title} ({self.source.read_on}{doubt})"


CAPTURES = Source(
    "nvidia-smi -q -x of real nodes, NVIDIA/k8s-test-infra at 3b2b865, testdata/hardware",
    "2026-11-23",
    is_verified=True,
)
DCGM_SKUS = Source("DCGM 4.6.0 nvvs/diag-skus.yaml.in, minimum of the pcie test", "2026-11-23")
DCGM_LIMITS = Source("DCGM 4.6.0 common/DcgmGPUHardwareLimits.h", "2026-11-23")
DCGM_BUSY = Source(
    "DCGM issue 272: diagnostics above 10 % utilization measure other processes", "2026-11-23"
)
NVLINKS = Source(
    "NVIDIA data sheets: links of a GPU times their rate is its NVLink bandwidth", "2026-11-23"
)
AZNHC = Source(
    "Azure/azurehpc-health-checks: its thresholds between host and GPU are above the generation before",
    "2026-11-25",
    is_verified=True,
)
DCGM_POWER = Source("DCGM 4.6.0 targeted_power: at least 0.75 of its target", "2026-11-25")
OWN_MEASUREMENTS = Source(
    "this program on one GPU in a virtual machine", "2026-11-26", is_verified=True
)
DERIVED = Source("derived: ECC in line takes 1/16 of GDDR memory, firmware some MiB", "2026-11-23")

_T4, _A10G, _L4, _L40S = "Tesla-T4", "NVIDIA-A10G", "NVIDIA-L4", "NVIDIA-L40S"
_A100_40, _A100_80 = "NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-SXM4-80GB"
_H100, _H200, _B200 = "NVIDIA-H100-80GB-HBM3", "NVIDIA-H200", "NVIDIA-B200"
_GB200, _RTX6000 = "NVIDIA-GB200", "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"

THRESHOLDS: Mapping[tuple[Quantity, str], Threshold] = {
    # The slot's lanes, not the card's: EC2 nodes give a T4 and an L40S eight of sixteen lanes.
    (Quantity.PCIE_WIDTH, _T4): Threshold(8, CAPTURES),
    (Quantity.PCIE_WIDTH, _L40S): Threshold(8, CAPTURES),
    (Quantity.PCIE_WIDTH, _A10G): Threshold(8, DCGM_SKUS),
    (Quantity.PCIE_WIDTH, _L4): Threshold(8, DCGM_SKUS),
    (Quantity.PCIE_WIDTH, ""): Threshold(16, DCGM_SKUS),
    (Quantity.PCIE_GENERATION, _L40S): Threshold(4, CAPTURES),
    (Quantity.PCIE_GENERATION, _A100_40): Threshold(4, CAPTURES),
    (Quantity.PCIE_GENERATION, _A100_80): Threshold(4, AZNHC),
    (Quantity.PCIE_GENERATION, _H100): Threshold(5, CAPTURES),
    (Quantity.PCIE_GENERATION, _H200): Threshold(5, AZNHC),
    (Quantity.PCIE_GENERATION, _B200): Threshold(5, CAPTURES),
    (Quantity.PCIE_GENERATION, _GB200): Threshold(5, CAPTURES),
    (Quantity.PCIE_GENERATION, ""): Threshold(3, DCGM_SKUS),
    # Both directions summed: 600 GB/s of an A100 are 12 links, 900 of an H100 18, 1800 of a B200 18.
    (Quantity.NVLINK_RATE, "Volta"): Threshold(50, NVLINKS),
    (Quantity.NVLINK_RATE, "Ampere"): Threshold(50, NVLINKS),
    (Quantity.NVLINK_RATE, "Hopper"): Threshold(50, NVLINKS),
    (Quantity.NVLINK_RATE, "Blackwell"): Threshold(100, NVLINKS),
    (Quantity.MAX_SM_CLOCK, _T4): Threshold(1590, CAPTURES),
    (Quantity.MAX_SM_CLOCK, _L40S): Threshold(2520, CAPTURES),
    (Quantity.MAX_SM_CLOCK, _A100_40): Threshold(1410, CAPTURES),
    (Quantity.MAX_SM_CLOCK, _H100): Threshold(1980, CAPTURES),
    (Quantity.MAX_SM_CLOCK, _H200): Threshold(1980, OWN_MEASUREMENTS),
    (Quantity.MAX_SM_CLOCK, _B200): Threshold(1965, CAPTURES),
    (Quantity.MAX_SM_CLOCK, _GB200): Threshold(2062, CAPTURES),
    (Quantity.MEMORY_SHARE, ""): Threshold(0.93, DERIVED),
    (Quantity.RETIRED_PAGES, ""): Threshold(63, DCGM_LIMITS),
    (Quantity.REMAPPED_ROWS, ""): Threshold(512, DCGM_LIMITS),
    (Quantity.UTILIZATION, ""): Threshold(10, DCGM_BUSY),
    (Quantity.POWER_SHARE, ""): Threshold(0.75, DCGM_POWER),
}


def threshold_of(quantity: Quantity, product: str = "") -> Threshold | None:
    """The threshold of a product or architecture, otherwise the common one; None without either."""
    return THRESHOLDS.get((quantity, product)) or THRESHOLDS.get((quantity, ""))


def common(quantity: Quantity) -> Threshold:
    """The threshold of all products."""
    return THRESHOLDS[quantity, ""]
