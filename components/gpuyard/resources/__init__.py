"""Pulumi components: they register planned objects and decide nothing themselves."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuyard.resources.clusters.autoscaler import ClusterAutoscaler, ClusterAutoscalerArgs
    from gpuyard.resources.clusters.eks import EksCluster, EksClusterArgs
    from gpuyard.resources.clusters.gke import GkeCluster, GkeClusterArgs
    from gpuyard.resources.clusters.karpenter import Karpenter, KarpenterArgs
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

_MODULES = {
    "ClusterAutoscaler": "clusters.autoscaler",
    "ClusterProvider": "provider",
    "EksCluster": "clusters.eks",
    "GkeCluster": "clusters.gke",
    "GpuNodePool": "pools",
    "GpuOperator": "gpu_operator.component",
    "IdleReclaim": "idle",
    "Karpenter": "clusters.karpenter",
    "Observability": "observability",
    "Platform": "platform",
    "PlatformRejected": "errors",
    "Queueing": "queueing",
    "Storage": "storage",
    "Team": "teams",
    "Validation": "validation.component",
    "await_registrations": "registrations",
    "provider_of": "provider",
    "register_object": "objects",
    "register_objects": "objects",
    "validate_platform": "validated_plan",
}
"""The module of each name; that of `TeamArgs` is that of `Team`."""

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


def __getattr__(name: str) -> object:
    """Load a component on first use, so that a program loads only what it uses."""
    import importlib

    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}"
        raise AttributeError(message)
    module = importlib.import_module(f"{__name__}.{_MODULES[name.removesuffix('Args')]}")
    return getattr(module, name)
