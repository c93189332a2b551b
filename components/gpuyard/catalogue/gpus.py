"""GPUs: what a device is called, by people and by the node, and what it can do."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard.catalogue.mig import MIG_PRODUCTS, MigProduct
from gpuyard.catalogue.sources import NVIDIA_DEVICES, NVIDIA_DEVICES_UNSEEN, Source


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU product."""

    name: str
    product: str
    """What GPU Feature Discovery writes into `nvidia.com/gpu.product` for a whole, unshared GPU."""
    memory_gib: int
    """Nominal memory, as the product is sold."""
    architecture: str
    compute_capability: tuple[int, int]
    nvlink_gbps: int
    """GB/s per GPU inside the node's NVLink domain, 0 without one."""
    also: tuple[str, ...]
    """Other spellings people use."""
    source: Source

    @property
    def mig(self) -> MigProduct | None:
        """How it can be cut, None when it cannot or nobody has published how."""
        return MIG_PRODUCTS.get(self.name)


def _row(  # noqa: PLR0913  one argument per column reads better than a table of strings here
    name: str,
    product: str,
    memory_gib: int,
    architecture: str,
    capability: str,
    nvlink_gbps: int = 0,
    also: tuple[str, ...] = (),
    source: Source = NVIDIA_DEVICES,
) -> Gpu:
    major, minor = capability.split(".")
    return Gpu(
        name, product, memory_gib, architecture, (int(major), int(minor)), nvlink_gbps, also, source
    )


_RTX6000 = "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"
_RTX4500 = "NVIDIA-RTX-PRO-4500-Blackwell-Server-Edition"
_UNSEEN = NVIDIA_DEVICES_UNSEEN

GPUS: Mapping[str, Gpu] = {
    gpu.name: gpu
    for gpu in (
        _row("T4", "Tesla-T4", 16, "Turing", "7.5", also=("T4-16GB",)),
        _row("T4G", "NVIDIA-T4G", 16, "Turing", "7.5", also=("T4G-16GB",)),
        _row("V100-32", "Tesla-V100-SXM2-32GB", 32, "Volta", "7.0", 300, ("V100-32GB",), _UNSEEN),
        _row("A10G", "NVIDIA-A10G", 24, "Ampere", "8.6", also=("A10G-24GB",)),
        _row("A30", "NVIDIA-A30", 24, "Ampere", "8.0", 200, ("A30-24GB", "A30-24"), _UNSEEN),
        _row("A100-40", "NVIDIA-A100-SXM4-40GB", 40, "Ampere", "8.0", 600, ("A100-40GB",)),
        _row("A100-80", "NVIDIA-A100-SXM4-80GB", 80, "Ampere", "8.0", 600, ("A100-80GB",)),
        _row("L4", "NVIDIA-L4", 24, "Ada", "8.9", also=("L4-24GB",)),
        _row("L40S", "NVIDIA-L40S", 48, "Ada", "8.9", also=("L40S-48GB",)),
        _row("H100", "NVIDIA-H100-80GB-HBM3", 80, "Hopper", "9.0", 900, ("H100-80GB", "H100-80")),
        _row(
            "H100-94",
            "NVIDIA-H100-NVL",
            94,
            "Hopper",
            "9.0",
            600,
            ("H100-94GB", "H100-NVL"),
            _UNSEEN,
        ),
        _row("H200", "NVIDIA-H200", 141, "Hopper", "9.0", 900, ("H200-141GB", "H200-141")),
        _row("B200", "NVIDIA-B200", 180, "Blackwell", "10.0", 1800, ("B200-180GB", "B200-180")),
        _row(
            "B300", "NVIDIA-B300-SXM6-AC", 270, "Blackwell", "10.3", 1800, ("B300-270GB",), _UNSEEN
        ),
        _row("GB200", "NVIDIA-GB200", 186, "Blackwell", "10.0", 1800, ("GB200-186GB",), _UNSEEN),
        _row("GB300", "NVIDIA-GB300", 279, "Blackwell", "10.3", 1800, ("GB300-279GB",), _UNSEEN),
        _row("RTX6000", _RTX6000, 96, "Blackwell", "12.0", also=("RTX-PRO-6000", "RTX6000-96GB")),
        _row("RTX4500", _RTX4500, 32, "Blackwell", "12.0", 0, ("RTX-PRO-4500",), _UNSEEN),
    )
}


def _spellings() -> dict[str, Gpu]:
    return {
        spelling.lower(): gpu
        for gpu in GPUS.values()
        for spelling in (gpu.name, gpu.product, *gpu.also)
    }


_BY_SPELLING = _spellings()


def find_gpu(spelling: str) -> Gpu | None:
    """A GPU by any of its usual names, letter case aside; None when nobody calls a GPU that."""
    return _BY_SPELLING.get(spelling.lower())


def gpu_spellings() -> tuple[str, ...]:
    """The catalogue names, for suggestions."""
    return tuple(GPUS)
