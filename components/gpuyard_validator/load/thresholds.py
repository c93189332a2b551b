"""Thresholds of one GPU: the columns of data/gpus.csv, and link rates.

A threshold is a share of a published measurement. Without one, it is a share of the data sheet, marked as
derived, and a lower value is a warning: how far good GPUs stay below their data sheet is unknown.
"""

from dataclasses import dataclass

from gpuyard_validator.nccl.thresholds import pcie_gbps
from gpuyard_validator.thresholds import gpus

OF_MEASURED, OF_SHEET = 0.75, 0.5
"""DCGM uses the first as the share of its memory measurements (nvvs/diag-skus.yaml.in)."""
OF_SLOT, OF_NVLINK, OF_PRODUCT = 0.6, 0.6, 0.85
"""Shares of a slot's rate, of NVLink in one direction, and of the matrix product threshold for long training steps."""


@dataclass(frozen=True, slots=True)
class LoadThreshold:
    """The threshold of a rate."""

    floor: float
    said: str
    is_enforced: bool
    """False where a lower value is only a warning."""


def memory_threshold(product: str) -> LoadThreshold | None:
    """Of copies within GPU memory, bytes read and written summed; None without a source for the product."""
    return _rate_threshold(product, "memory")


def matmul_threshold(product: str) -> LoadThreshold | None:
    """Of dense matrix products in bf16 or fp16, summed in float32."""
    return _rate_threshold(product, "matmul")


def _rate_threshold(product: str, rate: str) -> LoadThreshold | None:
    row = gpus().get(product, {})
    if measured := row.get(rate):
        firm = measured.source.is_confirmed
        doubt = "" if firm else "; not measured elsewhere"
        said = f"{OF_MEASURED:g} of {measured.value:g}, {measured.source}{doubt}"
        return LoadThreshold(OF_MEASURED * measured.value, said, firm)
    if sheet := row.get(f"{rate}_sheet"):
        said = f"derived, not measured: {OF_SHEET:g} of {sheet.value:g}, {sheet.source.title}"
        return LoadThreshold(OF_SHEET * sheet.value, said, is_enforced=False)
    return None


def step_threshold(product: str) -> LoadThreshold | None:
    """Of training steps: long, hot, and with a copy of the weights between products."""
    result = matmul_threshold(product)
    if result is None:
        return None
    return LoadThreshold(
        OF_PRODUCT * result.floor, f"derived: {OF_PRODUCT:g} of ({result.said})", result.is_enforced
    )


def pcie_threshold(product: str) -> LoadThreshold:
    """Of copies between pinned host memory and GPU."""
    return _link_threshold(product, "host_copy", OF_SLOT, pcie_gbps(product), "PCIe")


def peer_threshold(product: str, nvlink_gbps: int) -> LoadThreshold:
    """Of copies to another GPU over NVLink."""
    return _link_threshold(product, "peer_copy", OF_NVLINK, nvlink_gbps / 2, "NVLink")


def _link_threshold(
    product: str, column: str, share: float, rate: float, link: str
) -> LoadThreshold:
    """The product's own threshold; otherwise a share of the link's rate in one direction."""
    if own := gpus().get(product, {}).get(column):
        return LoadThreshold(own.value, str(own.source), is_enforced=True)
    source = f"derived, not measured: {share:g} of {rate:g} GB/s of {link}"
    return LoadThreshold(share * rate, source, is_enforced=False)
