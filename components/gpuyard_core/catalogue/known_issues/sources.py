"""Sources of the known issues."""

from datetime import date

from gpuyard_core.catalogue.sources import Source

_READ = date(2026, 11, 25)
XID_CATALOGUE = Source(
    "NVIDIA's XID catalogue (docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html), by gpud's copy of it",
    _READ,
    as_of=date(2025, 10, 29),
)
XID_REMAPS = Source(
    "NVIDIA's XID catalogue; gpud (xid/component.go) and the EKS node agent differ: memory.remapped_rows decides",
    _READ,
    as_of=date(2025, 10, 29),
)
NVML_HEADER = Source(
    "NVML: field 230 and the clock event reasons of its header; messages of nvidia-smi",
    _READ,
    as_of=_READ,
)
CUDA_ERRORS = Source(
    "CUDA's error codes (cudaError, CUresult) as its headers describe them",
    _READ,
    as_of=_READ,
)
LOST_DEVICES = Source(
    "NVIDIA: containers lose their GPUs when systemd reloads (nvidia-docker issue 1730)",
    _READ,
    as_of=_READ,
)
RUNTIME_CLASS = Source(
    "messages of containerd and kubelet; not reproduced",
    _READ,
    verified=False,
    as_of=_READ,
)
