"""Training runtimes and inference services that a platform offers."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from gpuyard.spec.base import SpecModel
from gpuyard.spec.values import Name, NodeRange


class Framework(StrEnum):
    """Runtimes for distributed training."""

    TORCH = "torch"
    DEEPSPEED = "deepspeed"
    JAX = "jax"
    MPI = "mpi"


class ScaleOn(StrEnum):
    """What a service scales on.

    `gpu` is GPU activity, `queue` the length of its request queue, `schedule` the time of day.
    """

    GPU = "gpu"
    QUEUE = "queue"
    SCHEDULE = "schedule"


class Service(SpecModel):
    """An inference service with autoscaling."""

    name: Name
    """Name of the service."""
    team: Name
    """Team in whose namespace it runs."""
    shape: Name
    """Shape of `shapes` that one replica has."""
    replicas: NodeRange
    """Number of replicas, for example 1..8."""
    scale_on: ScaleOn = ScaleOn.GPU
    """Scaling metric: gpu, queue or schedule. Default: gpu."""


class Workloads(SpecModel):
    """Training runtimes and inference services."""

    training: Annotated[tuple[Framework, ...], Field(max_length=4)] = ()
    """Training runtimes to offer: torch, deepspeed, jax, mpi. Default: none."""
    services: Annotated[tuple[Service, ...], Field(max_length=1000)] = ()
    """Inference services. Default: none."""
