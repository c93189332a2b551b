"""How many GPUs one machine has, also for types that no stack file can name: old ones, Azure's and Oracle's.

Only the checks of other projects' files use it; plans use `gpuyard_core.catalogue.machines`.
"""

import re

from gpuyard_core.catalogue.lists import find_pairs
from gpuyard_core.catalogue.machines import MACHINES, find_machine

_OLD = {name: int(gpus) for name, gpus in find_pairs("old-gpu-machines").items()}
"""GPUs of EC2 types in families that are, or soon will be, closed to new accounts."""
OLD_FAMILIES = frozenset(name.partition(".")[0] for name in _OLD)
_AZURE = re.compile(r"^Standard_N([CDV])(\d+)[a-z]*_(\w+)$", re.IGNORECASE)
_CORES_A_GPU = {
    "C": {"v2": 6, "v3": 6, "t4_v3": 16, "a100_v4": 24, "h100_v5": 40},
    "D": {"v4": 12, "a100_v4": 12, "h100_v5": 12, "h200_v5": 12},
    "V": {"v3": 12, "a10_v5": 36},
}
"""By letter and generation of Azure's sizes (machine-gpus); a size with fewer cores has one GPU or a part of one."""
_ORACLE = re.compile(r"^(?:VM|BM)\.GPU[\w.-]*\.(\d+)$")


_OF_EC2 = OLD_FAMILIES.union(
    m.name.partition(".")[0] for m in MACHINES.values() if m.is_gpu_machine and m.cloud == "aws"
)
_OF_GCE = frozenset(
    m.name.partition("-")[0]
    for m in MACHINES.values()
    if m.is_gpu_machine and m.cloud == "gcp" and m.name == m.type_name
)
_NAMED = re.compile(
    rf"\b(?:{'|'.join(sorted(_OF_EC2))})\.(?:\d*x?large|metal)\b"
    rf"|\b(?:{'|'.join(sorted(_OF_GCE))})-[a-z]+-\d".encode()
)


def contains_gpu_machine_name(text: bytes) -> bool:
    """Whether a text contains a machine type of EC2 or Google Cloud with NVIDIA GPUs."""
    return _NAMED.search(text) is not None


def has_gpus(name: str) -> bool:
    """Whether a machine type of EC2 or Google Cloud has NVIDIA GPUs, including old types."""
    machine = find_machine(name)
    return machine.is_gpu_machine if machine is not None else name.lower() in _OLD


def gpus_of_machine(name: str) -> int | None:
    """Number of GPUs of a machine type; a fraction counts as one; None if unknown."""
    if (machine := find_machine(name)) is not None:
        return machine.gpus
    if (old := _OLD.get(name.lower())) is not None:
        return old
    if azure := _AZURE.match(name):
        cores = _CORES_A_GPU[azure[1].upper()].get(azure[3].lower())
        return None if cores is None else max(1, int(azure[2]) // cores)
    oracle = _ORACLE.match(name)
    return int(oracle[1]) if oracle else None
