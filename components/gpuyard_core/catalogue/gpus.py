"""GPUs: their names, node labels, PCI ids and features."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gpuyard_core.catalogue.mig import MigProduct
from gpuyard_core.catalogue.sources import Source
from gpuyard_core.catalogue.tables import read_rows
from gpuyard_core.displayed import HIDDEN

LAST_BRANCH: Mapping[str, int] = {"Pascal": 580, "Volta": 580}
"""The last driver branch that supports an architecture, if later branches do not (volta-ends)."""
NVLINK_GENERATION: Mapping[str, int] = {"Volta": 2, "Ampere": 3, "Hopper": 4, "Blackwell": 5}
"""NVLink generations by architecture, for GPUs with an NVLink domain (gpus.nvlink)."""
CLOSED_MODULES = frozenset({"Maxwell", "Pascal", "Volta"})
"""Architectures that the driver's open kernel modules do not support (OPEN_MODULES, gpus.open-modules)."""


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
    mig: MigProduct | None = field(default=None, repr=False, metadata=HIDDEN)
    """MIG geometry; None without MIG support or a published geometry."""
    gke_partitions: Mapping[str, int] = field(
        default_factory=dict, repr=False, hash=False, metadata=HIDDEN
    )
    """Partition sizes of GKE's device plugin, with the number of slices of that size on the GPU
    (sharing.partitions)."""
    in_rack: bool = field(default=False, repr=False, metadata=HIDDEN)
    """Whether its NVLink spans several nodes; nodes of one domain have the same clique label."""

    @staticmethod
    def from_cell(cell: str) -> "Gpu":
        """The GPU with this name, for tables."""
        return GPUS[cell]

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
        return LAST_BRANCH.get(self.architecture)


GPUS: Mapping[str, Gpu] = {
    gpu.name: replace(gpu, mig=replace(gpu.mig, gpu=gpu.name)) if gpu.mig else gpu
    for gpu in read_rows("gpus", Gpu)
}
_DIVISIBLE = [(gpu, gpu.mig) for gpu in GPUS.values() if gpu.mig]
MIG_PRODUCTS: Mapping[str, MigProduct] = {
    (name := gpu.partitioned_like or gpu.name): replace(mig, gpu=name)
    for gpu, mig in sorted(_DIVISIBLE, key=lambda row: (row[1].family != "F8", row[0].memory_gib))
}
"""MIG geometries by catalogue name, those of data-centre GPUs first. Other GPUs have no MIG, or their geometry is unknown."""


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
