"""Nodes of EKS: releases of their image, where it has its disks, and what is repaired how."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard.catalogue.sources import Source

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
"""By Kubernetes minor. An image that is not pinned brings another driver on the day it is published."""

CUSTOM = "CUSTOM"
"""The image type of a group whose launch template says the image."""

DISKS_SOURCE = Source(
    "karpenter-provider-aws pkg/providers/amifamily: al2023.go and bottlerocket.go, whose system is on one disk and"
    " whose images and pods are on another; that Ubuntu's is /dev/sda1 is of no source",
    _LOOKED_UP,
    verified=False,
    as_of=_LOOKED_UP,
)
SYSTEM_DISKS: Mapping[str, str] = {"BOTTLEROCKET": "/dev/xvda"}
"""Disks that hold nothing but the system, and need no size; by the beginning of an image type's name."""
DATA_DISKS: Mapping[str, str] = {
    "AL2023": "/dev/xvda",
    "BOTTLEROCKET": "/dev/xvdb",
    CUSTOM: "/dev/sda1",
}
"""Disks that hold images and pods' files, by the same."""

EVICTION_SOURCE = Source(
    "awslabs/amazon-eks-ami nodeadm/internal/kubelet/config.go at 81fec2e: evictionHard, and 1Gi of the disk kept",
    _LOOKED_UP,
    as_of=date(2026, 7, 23),
)
DISK_EVICTION: Mapping[str, str] = {"nodefs.available": "10%", "nodefs.inodesFree": "5%"}
"""Below so much free disk the kubelet puts pods out."""
DISK_RESERVED = "1Gi"

UBUNTU_SOURCE = Source(
    "Canonical's documentation of its images on AWS, find-ubuntu-images: the SSM parameter of EKS images; that their"
    " bootstrap.sh starts kubelet with the flags it is given is of no source",
    _LOOKED_UP,
    verified=False,
    as_of=_LOOKED_UP,
)
UBUNTU_PARAMETER = (
    "/aws/service/canonical/ubuntu/eks/24.04/{minor}/stable/current/{arch}/hvm/ebs-gp3/ami-id"
)

REPAIR_SOURCE = Source(
    "aws/eks-node-monitoring-agent pkg/reasons/reasons.go at 019c981: reasons of AcceleratedHardwareReady; EKS user"
    " guide, node repair: after 10 minutes, replaced or booted anew",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
GPU_CONDITION = "AcceleratedHardwareReady"


@dataclass(frozen=True, slots=True)
class Repair:
    """What becomes of a node for one reason."""

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
"""A GPU that has gone from the bus comes back with another machine only; memory rows are remapped at a start."""

GRAVITON_SOURCE = Source(
    "EC2 instance type naming: after the generation, g stands for Graviton",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
_GRAVITON = re.compile(r"[a-z]+\d+[a-z]*g[a-z-]*\d*\..+")


def arch_of(machine: str) -> str:
    """The architecture of an EC2 machine without GPUs that no catalogue has, from its name."""
    return "arm64" if _GRAVITON.fullmatch(machine) else "amd64"


UPDATE_SOURCE = Source(
    "EKS user guide, what happens during a node update: pods that are not out within 15 minutes end it, unless it is"
    " forced; updateConfig.maxUnavailable 1 to 100; strategy DEFAULT adds nodes first, MINIMAL takes them away first",
    date(2026, 11, 25),
    as_of=date(2026, 11, 25),
)
DRAIN_MINUTES = 15
"""How long a node of a group waits for its pods; no field says another time."""
MOST_UNAVAILABLE = 100
GROUP_OF_NODE = "eks.amazonaws.com/nodegroup"
"""The label that says which node group made a node."""
