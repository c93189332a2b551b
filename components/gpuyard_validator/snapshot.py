"""What a machine says of itself, once: the only thing that checks read.

A reader makes it from NVML and the host's files, or from a document that another run has recorded.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from gpuyard_validator.load.record import Load
from gpuyard_validator.nccl.record import Collectives
from gpuyard_validator.values import UNASKED, Answer, Malformed, decode, encode

BAD_VARIABLES = (
    "NSIGHT_CUDA_DEBUGGER",
    "CUDA_INJECTION32_PATH",
    "CUDA_INJECTION64_PATH",
    "CUDA_AUTO_BOOST",
    "CUDA_ENABLE_COREDUMP_ON_EXCEPTION",
    "CUDA_COREDUMP_FILE",
    "CUDA_DEVICE_WAITS_ON_EXCEPTION",
    "CUDA_PROFILE",
    "COMPUTE_PROFILE",
    "OPENCL_PROFILE",
)
"""What slows or stops programs that compute: DCGM nvvs/src/Software.cpp at 0d22068."""


class CannotRead(Exception):
    """Nothing can be said of this machine: no driver, no library, no file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One MIG device, as NVML describes it."""

    gpu_slices: int
    compute_slices: int
    memory_mib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """What a GPU knows of its NVLink fabric."""

    state: int
    """0 not supported, 1 not started, 2 in progress, 3 completed."""
    status: int
    """0 when it completed well."""
    cluster: str
    clique: int
    health: int | None
    """The mask of health; null where the driver has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU."""

    index: int
    answers: Answer[bool] = UNASKED
    """False when it is lost or wants a reset before it says anything."""
    name: Answer[str] = UNASKED
    uuid: Answer[str] = UNASKED
    serial: Answer[str] = UNASKED
    pci_id: Answer[str] = UNASKED
    memory_mib: Answer[int] = UNASKED
    vbios: Answer[str] = UNASKED
    gsp_firmware: Answer[str] = UNASKED
    inforom_image: Answer[str] = UNASKED
    inforom_valid: Answer[bool] = UNASKED
    persistence: Answer[bool] = UNASKED
    compute_mode: Answer[int] = UNASKED
    ecc_current: Answer[bool] = UNASKED
    ecc_pending: Answer[bool] = UNASKED
    mig_current: Answer[bool] = UNASKED
    mig_pending: Answer[bool] = UNASKED
    instances: Answer[tuple[Instance, ...]] = UNASKED
    recovery_action: Answer[int] = UNASKED
    unrepairable: Answer[bool] = UNASKED
    repair_pending: Answer[bool] = UNASKED
    remapped_uncorrectable: Answer[int] = UNASKED
    remap_pending: Answer[bool] = UNASKED
    remap_failure: Answer[bool] = UNASKED
    retired_pages: Answer[int] = UNASKED
    retired_pending: Answer[bool] = UNASKED
    sram_uncorrected: Answer[int] = UNASKED
    sram_threshold: Answer[bool] = UNASKED
    dram_uncorrected: Answer[int] = UNASKED
    clock_reasons: Answer[int] = UNASKED
    thermal_margin: Answer[int] = UNASKED
    """Degrees until it slows down."""
    power_limit_mw: Answer[int] = UNASKED
    power_default_mw: Answer[int] = UNASKED
    max_sm_mhz: Answer[int] = UNASKED
    pcie_generation: Answer[int] = UNASKED
    """The most that GPU and slot can do together: an idle link is slower."""
    pcie_width: Answer[int] = UNASKED
    nvlinks: Answer[tuple[bool, ...]] = UNASKED
    """By link that the device has: whether it is active."""
    nvlink_recoveries: Answer[int] = UNASKED
    unreachable: Answer[tuple[int, ...]] = UNASKED
    """Indexes of GPUs that it does not reach by NVLink."""
    fabric: Answer[Fabric] = UNASKED
    processes: Answer[tuple[int, ...]] = UNASKED
    utilization: Answer[int] = UNASKED
    load: Answer[Load] = UNASKED
    """What came of it at work; nothing is asked of it in the profile quick."""
    numa: Answer[int] = UNASKED
    """The NUMA node that its bus belongs to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumaNode:
    """One NUMA node of the host that has CPUs: memory of a GPU alone is none."""

    index: int
    cpus: int
    memory_mib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """One RDMA device of the host."""

    name: str
    driver: str
    """efa, mlx5_core and others."""
    active: bool
    link: str
    """InfiniBand or Ethernet; EFA's is unspecified."""
    gbps: float
    numa: Answer[int] = UNASKED
    """The NUMA node that its bus belongs to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One machine."""

    node: str
    source: str
    """Who made it: nvml, or where a recorded one comes from."""
    gpus: tuple[Gpu, ...]
    driver: Answer[str] = UNASKED
    kernel_driver: Answer[str] = UNASKED
    """Version of the kernel's module, which the library's must equal."""
    open_modules: Answer[bool] = UNASKED
    """Whether the kernel's module is the open one, which shares memory by dma-buf."""
    modules: Answer[tuple[str, ...]] = UNASKED
    environment: Answer[Mapping[str, str]] = UNASKED
    """Bad variables alone: a record is handed on, and others may be secrets."""
    adapters: Answer[tuple[Adapter, ...]] = UNASKED
    numa: Answer[tuple[NumaNode, ...]] = UNASKED
    collectives: Answer[Collectives] = UNASKED
    """What ran together with other nodes; nothing does in the profile quick."""


class Reader(Protocol):
    """Whoever can say what a machine is."""

    def read(self) -> Snapshot:
        """All of it, once.

        Raises:
            CannotRead: nothing can be said of it.
        """
        ...


@dataclass(frozen=True, slots=True)
class SnapshotReader:
    """A machine that was recorded."""

    text: str

    def read(self) -> Snapshot:
        """It, as it was."""
        try:
            found: Snapshot = decode(Snapshot, json.loads(self.text))
        except (ValueError, RecursionError) as problem:
            raise CannotRead(f"the snapshot is not JSON: {problem}") from None
        except Malformed as problem:
            raise CannotRead(f"not a snapshot: {problem}") from None
        return found


def recorded(snapshot: Snapshot) -> str:
    """A machine as a document that `SnapshotReader` reads."""
    return json.dumps(encode(snapshot), indent=1) + "\n"
