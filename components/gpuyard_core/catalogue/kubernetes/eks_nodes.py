"""Nodes of EKS: image releases, disk devices and node repair."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard_core.catalogue.sources import Source

_LOOKED_UP = date(2026, 11, 23)
RELEASES_SOURCE = Source(
    "1.30 to 1.32: awslabs/amazon-eks-ami CHANGELOG at 81fec2e, release v20260714. 1.33 to 1.36: v20260930, whose release"
    " versions public runs of 2026-10 name; the same for all AL2023 images of both architectures",
    date(2026, 11, 28),
    verified=False,
    as_of=date(2026, 9, 30),
)
AL2023_RELEASES: Mapping[str, str] = {
    "1.30": "1.30.14-20260714",
    "1.31": "1.31.14-20260714",
    "1.32": "1.32.13-20260714",
    "1.33": "1.33.13-20260930",
    "1.34": "1.34.11-20260930",
    "1.35": "1.35.8-20260930",
    "1.36": "1.36.4-20260930",
}
"""Releases by Kubernetes minor. Without a pinned release, a new image could change the driver at any time."""

CUSTOM = "CUSTOM"
"""The image type of a node group whose launch template has the image."""

DISKS_SOURCE = Source(
    "karpenter-provider-aws pkg/providers/amifamily: al2023.go and bottlerocket.go, whose system is on one disk and"
    " whose images and pods are on another; /dev/sda1 for Ubuntu has no source",
    _LOOKED_UP,
    verified=False,
    as_of=_LOOKED_UP,
)
SYSTEM_DISKS: Mapping[str, str] = {"BOTTLEROCKET": "/dev/xvda"}
"""Disks with only the system, which need no size, by prefix of the image type."""
DATA_DISKS: Mapping[str, str] = {
    "AL2023": "/dev/xvda",
    "BOTTLEROCKET": "/dev/xvdb",
    CUSTOM: "/dev/sda1",
}
"""Disks with images and files of pods, by prefix of the image type."""

EVICTION_SOURCE = Source(
    "awslabs/amazon-eks-ami nodeadm/internal/kubelet/config.go at 81fec2e: evictionHard, and 1Gi of the disk reserved",
    _LOOKED_UP,
    as_of=date(2026, 7, 23),
)
DISK_EVICTION: Mapping[str, str] = {"nodefs.available": "10%", "nodefs.inodesFree": "5%"}
"""Free disk thresholds below which the kubelet evicts pods."""
DISK_RESERVED = "1Gi"

UBUNTU_SOURCE = Source(
    "Canonical's documentation of its images on AWS, find-ubuntu-images: the SSM parameter of EKS images; that their"
    " bootstrap.sh passes its flags to the kubelet has no source",
    _LOOKED_UP,
    verified=False,
    as_of=_LOOKED_UP,
)
UBUNTU_PARAMETER = (
    "/aws/service/canonical/ubuntu/eks/24.04/{minor}/stable/current/{arch}/hvm/ebs-gp3/ami-id"
)

REPAIR_SOURCE = Source(
    "aws/eks-node-monitoring-agent pkg/reasons/reasons.go at 019c981: reasons of AcceleratedHardwareReady; EKS user"
    " guide, node repair: after 10 minutes, replaced or rebooted",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
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
"""A GPU that has fallen off the bus needs another machine; memory rows are remapped at boot."""

GRAVITON_SOURCE = Source(
    "EC2 instance type naming: after the generation, g stands for Graviton",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
_GRAVITON = re.compile(r"[a-z]+\d+[a-z]*g[a-z-]*\d*\..+")


def arch_of(machine: str) -> str:
    """The architecture of an EC2 machine without GPUs that is not in the catalogue, from its name."""
    return "arm64" if _GRAVITON.fullmatch(machine) else "amd64"


UPDATE_SOURCE = Source(
    "EKS user guide, what happens during a node update: it fails if pods do not leave within 15 minutes, unless it is"
    " forced; updateConfig.maxUnavailable 1 to 100; strategy DEFAULT adds nodes first, MINIMAL removes them first",
    date(2026, 11, 25),
    as_of=date(2026, 11, 25),
)
DRAIN_MINUTES = 15
"""How long a node of a node group waits for its pods; not configurable."""
MOST_UNAVAILABLE = 100
GROUP_OF_NODE = "eks.amazonaws.com/nodegroup"
"""The label with the node group of a node."""
