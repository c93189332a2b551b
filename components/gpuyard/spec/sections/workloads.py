"""Training runtimes and inference services that a platform offers."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, model_serializer, model_validator

from gpuyard.spec.sections.services import Service
from gpuyard_core.models.base import SpecModel
from gpuyard_core.models.values import Name, Text


class Framework(StrEnum):
    """Runtimes for distributed training."""

    TORCH = "torch"
    DEEPSPEED = "deepspeed"
    JAX = "jax"
    MPI = "mpi"


class TrainingRuntime(SpecModel):
    """Training runtimes of one framework: one of Kubeflow Trainer for each pool."""

    framework: Framework
    """Framework: torch, deepspeed, jax or mpi."""
    pools: Annotated[tuple[Name, ...], Field(max_length=1000)] = ()
    """Pools that get a runtime. Default: every pool with whole GPUs."""
    image: Text | None = None
    """Image of jobs that name none. Default: the image of Kubeflow Trainer's own runtime."""

    @model_validator(mode="before")
    @classmethod
    def _from_shorthand(cls, value: Any) -> Any:
        return {"framework": value} if isinstance(value, str) else value

    @model_serializer
    def _to_shorthand(self) -> Any:
        fields: dict[str, Any] = {"pools": list(self.pools)} if self.pools else {}
        fields |= {"image": self.image} if self.image else {}
        return {"framework": self.framework.value, **fields} if fields else self.framework.value


class Workloads(SpecModel):
    """Training runtimes and inference services."""

    training: Annotated[tuple[TrainingRuntime, ...], Field(max_length=4)] = ()
    """Training runtimes to offer, by framework: torch, deepspeed, jax, mpi. Default: none."""
    services: Annotated[tuple[Service, ...], Field(max_length=1000)] = ()
    """Inference services. Default: none."""
