"""Pulumi components: they register planned objects and decide nothing themselves."""

from typing import TYPE_CHECKING

from gpuyard.resources.errors import PlatformRejected
from gpuyard.resources.gpu_operator.component import GpuOperator, GpuOperatorArgs
from gpuyard.resources.idle import IdleReclaim, IdleReclaimArgs
from gpuyard.resources.objects import register_object, register_objects
from gpuyard.resources.observability import Observability, ObservabilityArgs
from gpuyard.resources.platform import Platform, PlatformArgs
from gpuyard.resources.pools import GpuNodePool, GpuNodePoolArgs
from gpuyard.resources.provider import ClusterProvider, provider_of
from gpuyard.resources.queueing import Queueing, QueueingArgs
from gpuyard.resources.registrations import await_registrations
from gpuyard.resources.storage import Storage, StorageArgs
from gpuyard.resources.teams import Team, TeamArgs
from gpuyard.resources.validated_plan import validate_platform
from gpuyard.resources.validation.component import Validation, ValidationArgs

if TYPE_CHECKING:
    from gpuyard.resources.clusters.autoscaler import ClusterAutoscaler, ClusterAutoscalerArgs
    from gpuyard.resources.clusters.eks import EksCluster, EksClusterArgs
    from gpuyard.resources.clusters.gke import GkeCluster, GkeClusterArgs
    from gpuyard.resources.clusters.karpenter import Karpenter, KarpenterArgs

__all__ = [
    "ClusterAutoscaler",
    "ClusterAutoscalerArgs",
    "ClusterProvider",
    "EksCluster",
    "EksClusterArgs",
    "GkeCluster",
    "GkeClusterArgs",
    "GpuNodePool",
    "GpuNodePoolArgs",
    "GpuOperator",
    "GpuOperatorArgs",
    "IdleReclaim",
    "IdleReclaimArgs",
    "Karpenter",
    "KarpenterArgs",
    "Observability",
    "ObservabilityArgs",
    "Platform",
    "PlatformArgs",
    "PlatformRejected",
    "Queueing",
    "QueueingArgs",
    "Storage",
    "StorageArgs",
    "Team",
    "TeamArgs",
    "Validation",
    "ValidationArgs",
    "await_registrations",
    "provider_of",
    "register_object",
    "register_objects",
    "validate_platform",
]

_CLUSTERS = {
    "ClusterAutoscaler": "autoscaler",
    "EksCluster": "eks",
    "GkeCluster": "gke",
    "Karpenter": "karpenter",
}


def __getattr__(name: str) -> object:
    """Load a cloud's components on first use, so that a program loads only its own cloud."""
    import importlib

    component = name.removesuffix("Args")
    if component not in _CLUSTERS:
        message = f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}"
        raise AttributeError(message)
    return getattr(importlib.import_module(f"{__name__}.clusters.{_CLUSTERS[component]}"), name)
