"""Dynamic resource allocation: device classes of GPUs, and the first Kubernetes minor that serves claims."""

from datetime import date

from gpuyard_core.catalogue.sources import Source

_LOOKED_UP = date(2026, 11, 21)
GPU_CLASS = "gpu.nvidia.com"
MIG_CLASS = "mig.nvidia.com"
GPU_CLASSES = (GPU_CLASS, MIG_CLASS, "vfio.gpu.nvidia.com")
"""Classes of GPUs, MIG devices, and GPUs for virtual machines; queues count the first only."""
CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"
"""Claimed by the pods of a ComputeDomain: NVLink between nodes."""
DAEMON_CLASS = "compute-domain-daemon.nvidia.com"
"""Claimed by the daemons that the driver starts on each node of a ComputeDomain; never by jobs."""
CLASSES_SOURCE = Source(
    "device classes of the NVIDIA DRA driver v0.5.0",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
API_VERSION = "resource.k8s.io/v1"
SERVED_SINCE = "1.34"
"""The first minor that serves resource.k8s.io/v1."""
FIRST_DRIVER = "580"
"""The first branch of NVIDIA's driver that the DRA driver works with."""
SERVED_SOURCE = Source(
    "GPU Operator v26.7.0: GPUCluster needs Kubernetes 1.34.2 and driver 580",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
QUOTA_KEY = "{}.deviceclass.resource.k8s.io/devices"
"""The key of a class's devices in a ResourceQuota."""
QUOTA_SOURCE = Source(
    "Kubernetes, resource quotas: CLASS.deviceclass.resource.k8s.io/devices counts the devices of claims",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
