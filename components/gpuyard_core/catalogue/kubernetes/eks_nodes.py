"""Nodes of EKS: image releases, disk devices and node repair."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard_core.catalogue.lists import find_pairs
from gpuyard_core.catalogue.sources import find_source

RELEASES_SOURCE = find_source("eks-nodes.releases")
AL2023_RELEASES: Mapping[str, str] = find_pairs("node-images")
"""Releases by Kubernetes minor. Without a pinned release, a new image could change the driver at any time."""

CUSTOM = "CUSTOM"
"""The image type of a node group whose launch template has the image."""

SYSTEM_DISKS: Mapping[str, str] = {"BOTTLEROCKET": "/dev/xvda"}
"""Disks with only the system, which need no size, by prefix of the image type."""
DATA_DISKS: Mapping[str, str] = {
    "AL2023": "/dev/xvda",
    "BOTTLEROCKET": "/dev/xvdb",
    CUSTOM: "/dev/sda1",
}
"""Disks with images and files of pods, by prefix of the image type (eks-nodes.disks)."""

DISK_EVICTION: Mapping[str, str] = {"nodefs.available": "10%", "nodefs.inodesFree": "5%"}
"""Free disk thresholds below which the kubelet evicts pods (eks-nodes.eviction)."""
DISK_RESERVED = "1Gi"

UBUNTU_PARAMETER = (  # eks-nodes.ubuntu
    "/aws/service/canonical/ubuntu/eks/24.04/{minor}/stable/current/{arch}/hvm/ebs-gp3/ami-id"
)

GPU_CONDITION = "AcceleratedHardwareReady"


@dataclass(frozen=True, slots=True)
class Repair:
    """The repair of a node for one reason."""

    reason: str
    action: str
    """Replace or Reboot."""
    minutes: int
    """How long the reason must last."""


GPU_REPAIRS = (
    Repair("NvidiaXID79Error", "Replace", 10),
    Repair("NvidiaDeviceCountMismatch", "Replace", 10),
    Repair("NvidiaDoubleBitError", "Reboot", 10),
    Repair("FabricManagerNotRunning", "Reboot", 10),
)
"""A GPU that has fallen off the bus needs another machine; memory rows are remapped at boot (eks-nodes.repair)."""

_GRAVITON = re.compile(r"[a-z]+\d+[a-z]*g[a-z-]*\d*\..+")  # eks-nodes.graviton


def arch_of(machine: str) -> str:
    """The architecture of an EC2 machine without GPUs that is not in the catalogue, from its name."""
    return "arm64" if _GRAVITON.fullmatch(machine) else "amd64"


DRAIN_MINUTES = 15
"""How long a node of a node group waits for its pods; not configurable (eks-nodes.update)."""
MOST_UNAVAILABLE = 100
GROUP_OF_NODE = "eks.amazonaws.com/nodegroup"
"""The label with the node group of a node."""
