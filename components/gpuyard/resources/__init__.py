"""Pulumi components: names, parents, providers and late values, no decisions."""

from gpuyard.resources.errors import PlatformRefused
from gpuyard.resources.idle import IdleReclaim
from gpuyard.resources.objects import register_object, register_objects
from gpuyard.resources.platform import Platform
from gpuyard.resources.pools import GpuNodePool
from gpuyard.resources.proofs import prove
from gpuyard.resources.provider import ClusterProvider, provider_of
from gpuyard.resources.queueing import Queueing
from gpuyard.resources.registrations import settle_registrations
from gpuyard.resources.teams import Team

__all__ = [
    "ClusterProvider",
    "GpuNodePool",
    "IdleReclaim",
    "Platform",
    "PlatformRefused",
    "Queueing",
    "Team",
    "prove",
    "provider_of",
    "register_object",
    "register_objects",
    "settle_registrations",
]
