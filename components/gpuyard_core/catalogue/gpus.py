"""GPUs: their names, node labels, PCI ids and features."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date

from gpuyard_core.catalogue.mig import MIG_PRODUCTS, MigProduct
from gpuyard_core.catalogue.sources import VOLTA_ENDS, Source
from gpuyard_core.catalogue.tables.gpus import GPU_ROWS, SOURCES

LAST_BRANCH: Mapping[str, tuple[int, Source]] = {
    "Pascal": (580, VOLTA_ENDS),
    "Volta": (580, VOLTA_ENDS),
}
"""The last driver branch that supports an architecture, if later branches do not."""
NVLINK_GENERATION: Mapping[str, int] = {"Volta": 2, "Ampere": 3, "Hopper": 4, "Blackwell": 5}
"""NVLink generations by architecture, for GPUs with an NVLink domain."""
NVLINK_SOURCE = Source(
    "NVIDIA, NVLink and NVLink Switch: second generation on V100, third on A100, fourth on Hopper, fifth on Blackwell",
    date(2026, 11, 28),
    as_of=date(2026, 8, 22),
)
OPEN_MODULES = Source(
    "NVIDIA driver installation guide 610, kernel modules: open ones are for Turing and newer",
    date(2026, 11, 23),
    as_of=date(2026, 11, 23),
)
CLOSED_MODULES = frozenset({"Maxwell", "Pascal", "Volta"})
"""Architectures that the driver's open kernel modules do not support (OPEN_MODULES)."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU product."""

    name: str
    product: str
    """The value of `nvidia.com/gpu.product` by GPU Feature Discovery for a whole, unshared GPU."""
    memory_gib: int
    """Nominal memory, as the product is sold."""
    architecture: str
    compute_capability: tuple[int, int]
    nvlink_gbps: int
    """GB/s per GPU in the node's NVLink domain; 0 without one; bridges between cards do not count."""
    pci_id: str | None
    """Device id of NVIDIA's vendor id 10DE; None if another product has the same."""
    first_driver: str | None
    """The first driver that supports it; None if older than every driver that still gets fixes."""
    aliases: tuple[str, ...]
    """Other common spellings. A memory suffix is understood without being listed here."""
    source: Source
    partitioned_like: str | None = None
    """The GPU whose MIG geometry it shares, if another one."""

    @property
    def mig(self) -> MigProduct | None:
        """MIG geometry; None without MIG support or a published geometry."""
        product = MIG_PRODUCTS.get(self.partitioned_like or self.name)
        return replace(product, gpu=self.name) if product and self.partitioned_like else product

    @property
    def nvlink_generation(self) -> int | None:
        """The generation of its NVLink; None without an NVLink domain."""
        return NVLINK_GENERATION[self.architecture] if self.nvlink_gbps else None

    @property
    def open_modules(self) -> bool:
        """Whether the driver's open kernel modules support it; GPUs before Turing need the proprietary ones."""
        return self.architecture not in CLOSED_MODULES

    @property
    def last_driver_branch(self) -> int | None:
        """The last driver branch that supports it; None if the newest one does."""
        last = LAST_BRANCH.get(self.architecture)
        return last[0] if last else None


def _known(cell: str) -> str | None:
    return None if cell == "-" else cell


def _gpus() -> Iterator[Gpu]:
    for line in GPU_ROWS.strip().splitlines():
        if line.startswith("#"):
            continue
        name, product, gib, arch, capability, nvlink, pci, driver, cut, source, *also = line.split()
        major, minor = capability.split(".")
        yield Gpu(
            name=name,
            product=product,
            memory_gib=int(gib),
            architecture=arch,
            compute_capability=(int(major), int(minor)),
            nvlink_gbps=int(nvlink),
            pci_id=_known(pci),
            first_driver=_known(driver),
            aliases=tuple(also),
            source=SOURCES[source],
            partitioned_like=_known(cut),
        )


GPUS: Mapping[str, Gpu] = {gpu.name: gpu for gpu in _gpus()}


def _spellings() -> dict[str, Gpu]:
    return {
        spelling.lower(): gpu
        for gpu in GPUS.values()
        for spelling in (gpu.name, gpu.product, gpu.pci_id or gpu.name, *gpu.aliases)
    }


_BY_SPELLING = _spellings()
_MARKS = re.compile(r"-shared$|-mig-[^ ]+$")
"""The suffix of GPU Feature Discovery for a product of a shared or partitioned GPU."""
_MEMORY = re.compile(r"(?P<name>.+?)-?(?P<gib>\d+)(?:-?gi?b?)?$")
_PCI = re.compile(r"(?:0x)?(?:10de:)?(?P<id>[0-9a-f]{4})(?::10de|10de)?$")


def find_gpu(spelling: str) -> Gpu | None:
    """The GPU with any of its usual names, ignoring case; None if unknown.

    `H100`, `H100-80GB`, the product label, also of shared and partitioned GPUs, the name in nvidia-smi,
    and the PCI device id as `2330`, `0x2330`, `10de:2330` or `0x233010DE`.
    """
    text = "-".join(spelling.lower().split())
    text = _MARKS.sub("", text)
    for name in (text, f"nvidia-{text}"):
        if name in _BY_SPELLING:
            return _BY_SPELLING[name]
    if match := _PCI.match(text):
        return _BY_SPELLING.get(match["id"])
    if match := _MEMORY.match(text):
        gpu = _BY_SPELLING.get(match["name"])
        return gpu if gpu and gpu.memory_gib == int(match["gib"]) else None
    return None


def gpu_spellings() -> tuple[str, ...]:
    """The catalogue names, for suggestions."""
    return tuple(GPUS)
