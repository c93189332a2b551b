"""The snapshot of a machine: the only input of checks.

It comes from NVML and the host's files, or from a recorded document.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard_validator.load.record import Load
from gpuyard_validator.nccl.record import Collectives
from gpuyard_validator.values import NOT_QUERIED, Answer, Malformed, decode, encode

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
"""Variables that slow or stop CUDA programs: DCGM nvvs/src/Software.cpp at 0d22068."""


class CannotRead(Exception):
    """The machine cannot be read: no driver, no library, no file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One MIG device, as NVML reports it."""

    gpu_slices: int
    compute_slices: int
    memory_mib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """NVLink fabric state of a GPU."""

    state: int
    """0 not supported, 1 not started, 2 in progress, 3 completed."""
    status: int
    """0 after a successful initialization."""
    cluster: str
    clique: int
    health: int | None
    """The health mask; null where the driver has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU."""

    index: int
    answers: Answer[bool] = NOT_QUERIED
    """False when the GPU is lost or needs a reset before it responds."""
    name: Answer[str] = NOT_QUERIED
    uuid: Answer[str] = NOT_QUERIED
    serial: Answer[str] = NOT_QUERIED
    pci_id: Answer[str] = NOT_QUERIED
    memory_mib: Answer[int] = NOT_QUERIED
    vbios: Answer[str] = NOT_QUERIED
    gsp_firmware: Answer[str] = NOT_QUERIED
    inforom_image: Answer[str] = NOT_QUERIED
    inforom_valid: Answer[bool] = NOT_QUERIED
    persistence: Answer[bool] = NOT_QUERIED
    compute_mode: Answer[int] = NOT_QUERIED
    ecc_current: Answer[bool] = NOT_QUERIED
    ecc_pending: Answer[bool] = NOT_QUERIED
    mig_current: Answer[bool] = NOT_QUERIED
    mig_pending: Answer[bool] = NOT_QUERIED
    instances: Answer[tuple[Instance, ...]] = NOT_QUERIED
    recovery_action: Answer[int] = NOT_QUERIED
    unrepairable: Answer[bool] = NOT_QUERIED
    repair_pending: Answer[bool] = NOT_QUERIED
    remapped_uncorrectable: Answer[int] = NOT_QUERIED
    remap_pending: Answer[bool] = NOT_QUERIED
    remap_failure: Answer[bool] = NOT_QUERIED
    retired_pages: Answer[int] = NOT_QUERIED
    retired_pending: Answer[bool] = NOT_QUERIED
    sram_uncorrected: Answer[int] = NOT_QUERIED
    sram_threshold: Answer[bool] = NOT_QUERIED
    dram_uncorrected: Answer[int] = NOT_QUERIED
    clock_reasons: Answer[int] = NOT_QUERIED
    thermal_margin: Answer[int] = NOT_QUERIED
    """Degrees below the slowdown temperature."""
    power_limit_mw: Answer[int] = NOT_QUERIED
    power_default_mw: Answer[int] = NOT_QUERIED
    max_sm_mhz: Answer[int] = NOT_QUERIED
    pcie_generation: Answer[int] = NOT_QUERIED
    """The maximum of GPU and slot together: an idle link is slower."""
    pcie_width: Answer[int] = NOT_QUERIED
    nvlinks: Answer[tuple[bool, ...]] = NOT_QUERIED
    """For each of the device's links: whether it is active."""
    nvlink_recoveries: Answer[int] = NOT_QUERIED
    unreachable: Answer[tuple[int, ...]] = NOT_QUERIED
    """Indexes of GPUs that it does not reach over NVLink."""
    fabric: Answer[Fabric] = NOT_QUERIED
    processes: Answer[tuple[int, ...]] = NOT_QUERIED
    utilization: Answer[int] = NOT_QUERIED
    load: Answer[Load] = NOT_QUERIED
    """Its results under load; profile quick has none."""
    numa: Answer[int] = NOT_QUERIED
    """The NUMA node of its PCI bus."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumaNode:
    """One NUMA node of the host with CPUs: GPU memory alone does not count."""

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
    numa: Answer[int] = NOT_QUERIED
    """The NUMA node of its PCI bus."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One machine."""

    node: str
    source: str
    """Source of the snapshot: nvml, or the origin of a recorded one."""
    gpus: tuple[Gpu, ...]
    driver: Answer[str] = NOT_QUERIED
    kernel_driver: Answer[str] = NOT_QUERIED
    """Version of the kernel module, which must equal the library's."""
    open_modules: Answer[bool] = NOT_QUERIED
    """Whether the kernel module is the open one, which shares memory by dma-buf."""
    modules: Answer[tuple[str, ...]] = NOT_QUERIED
    environment: Answer[Mapping[str, str]] = NOT_QUERIED
    """Only the variables that checks read: a record is shared, and others may be secrets."""
    adapters: Answer[tuple[Adapter, ...]] = NOT_QUERIED
    numa: Answer[tuple[NumaNode, ...]] = NOT_QUERIED
    collectives: Answer[Collectives] = NOT_QUERIED
    """Results of collectives with other nodes; profile quick has none."""


def read_snapshot(text: str) -> Snapshot:
    """A recorded machine.

    Raises:
        CannotRead: the document is no snapshot.
    """
    try:
        result: Snapshot = decode(Snapshot, json.loads(text))
    except (ValueError, RecursionError) as problem:
        raise CannotRead(f"the snapshot is not JSON: {problem}") from None
    except Malformed as problem:
        raise CannotRead(f"not a snapshot: {problem}") from None
    return result


def snapshot_json(snapshot: Snapshot) -> str:
    """A machine as a document that `read_snapshot` reads."""
    return json.dumps(encode(snapshot), indent=1) + "\n"
