"""The fake kubelet: a machine's resources other than GPUs.

Nothing is reserved for the system, because nothing else runs on a fake node. Take reservations from the
cloud's own rules, not from here.
"""

from collections.abc import Mapping
from typing import Any, Final

from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.names import EFA

PODS: Final = 110
ROOT_DISK_GIB: Final = 100
"""Size of the root disk, a choice of the platform, not a fact of the machine."""

NO_DEVICES: Final = "Pod was rejected: no healthy devices present"
"""Message of a kubelet that restarts after the partitioning of its GPUs has changed."""


def failed_pod_status(why: str) -> dict[str, Any]:
    """The status of a pod that a device plugin rejects: it is not restarted; its owner creates another."""
    no = [
        {"type": kind, "status": "False", "reason": "PodFailed"}
        for kind in ("Ready", "ContainersReady")
    ]
    return {
        "phase": "Failed",
        "reason": "UnexpectedAdmissionError",
        "message": why,
        "conditions": no,
    }


def capacity(machine: Machine) -> Mapping[str, str]:
    """Capacity and allocatable of a machine, with its network adapters and without GPUs."""
    disk = f"{machine.nvme_gb}G" if machine.nvme_gb else f"{ROOT_DISK_GIB}Gi"
    return {
        "cpu": str(machine.vcpus),
        "memory": f"{machine.memory_gib}Gi",
        "pods": str(PODS),
        "ephemeral-storage": disk,
        **({EFA: str(machine.efa_interfaces)} if machine.efa_interfaces else {}),
    }


def labels(node_name: str, machine: Machine) -> Mapping[str, str]:
    """Labels every kubelet gives its own node."""
    return {
        "kubernetes.io/hostname": node_name,
        "kubernetes.io/arch": machine.arch,
        "kubernetes.io/os": "linux",
    }
