"""Pulumi components: they register planned objects and decide nothing themselves."""

from typing import TYPE_CHECKING

from gpuyard.resources.errors import PlatformRejected
from gpuyard.resources.gpu_operator.component import GpuOperator
from gpuyard.resources.idle import IdleReclaim
from gpuyard.resources.objects import register_object, register_objects
from gpuyard.resources.platform import Platform
from gpuyard.resources.pools import GpuNodePool
from gpuyard.resources.provider import ClusterProvider, provider_of
from gpuyard.resources.queueing import Queueing
from gpuyard.resources.registrations import await_registrations
from gpuyard.resources.teams import Team
from gpuyard.resources.validated_plan import validate_platform
from gpuyard.resources.validation.component import Validation

if TYPE_CHECKING:
    from gpuyard.resources.clusters.autoscaler import ClusterAutoscaler
    from gpuyard.resources.clusters.eks import EksCluster
    from gpuyard.resources.clusters.gke import GkeCluster
    from gpuyard.resources.clusters.karpenter import Karpenter

__all__ = [
    "ClusterAutoscaler",
    "ClusterProvider",
    "EksCluster",
    "GkeCluster",
    "GpuNodePool",
    "GpuOperator",
    "IdleReclaim",
    "Karpenter",
    "Platform",
    "PlatformRejected",
    "Queueing",
    "Team",
    "Validation",
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

    if name not in _CLUSTERS:
        message = f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}"
        raise AttributeError(message)
    return getattr(importlib.import_module(f"{__name__}.clusters.{_CLUSTERS[name]}"), name)
