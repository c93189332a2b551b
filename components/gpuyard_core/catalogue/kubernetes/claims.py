"""Dynamic resource allocation: device classes of GPUs, and the first Kubernetes minor that serves claims."""

from gpuyard_core.catalogue.sources import find_source

GPU_CLASS = "gpu.nvidia.com"
MIG_CLASS = "mig.nvidia.com"
GPU_CLASSES = (GPU_CLASS, MIG_CLASS, "vfio.gpu.nvidia.com")
"""Classes of GPUs, MIG devices, and GPUs for virtual machines; queues count the first only."""
CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"
"""Claimed by the pods of a ComputeDomain: NVLink between nodes."""
DAEMON_CLASS = "compute-domain-daemon.nvidia.com"
"""Claimed by the daemons that the driver starts on each node of a ComputeDomain; never by jobs."""
CLASSES_SOURCE = find_source("claims.classes")
API_VERSION = "resource.k8s.io/v1"
SERVED_SINCE = "1.34"
"""The first minor that serves resource.k8s.io/v1."""
FIRST_DRIVER = "580"
"""The first branch of NVIDIA's driver that the DRA driver works with."""
SERVED_SOURCE = find_source("claims.served")
QUOTA_KEY = "{}.deviceclass.resource.k8s.io/devices"
"""The key of a class's devices in a ResourceQuota."""
QUOTA_SOURCE = find_source("claims.quota")
