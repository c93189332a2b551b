"""Training runtimes and inference services that a platform offers."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from gpuyard.spec.sections.services import Service
from gpuyard_core.models.values import (
    Cidr,
    DriverName,
    ImagePrefix,
    Name,
    NamedModel,
    SpecModel,
    Switch,
    Text,
)


class Framework(StrEnum):
    """Runtimes for distributed training."""

    TORCH = "torch"
    DEEPSPEED = "deepspeed"
    JAX = "jax"
    MPI = "mpi"


class TrainingRuntime(NamedModel):
    """Training runtimes of one framework: one of Kubeflow Trainer for each pool."""

    framework: Framework
    """Framework: torch, deepspeed, jax or mpi."""
    pools: Annotated[tuple[Name, ...], Field(max_length=1000)] = ()
    """Pools that get a runtime. Default: every pool with whole GPUs."""
    image: Text | None = None
    """Image of jobs that name none. Default: the image of Kubeflow Trainer's own runtime."""


class Workloads(SpecModel):
    """Training runtimes and inference services."""

    training: Annotated[tuple[TrainingRuntime, ...], Field(max_length=4)] = ()
    """Training runtimes to offer, by framework: torch, deepspeed, jax, mpi. Default: none."""
    services: Annotated[tuple[Service, ...], Field(max_length=1000)] = ()
    """Inference services. Default: none."""


class Enforce(StrEnum):
    """What happens to a pod that violates an admission requirement.

    `deny` rejects it, `warn` admits it with a warning to the client, `audit` admits it and writes an audit event.
    """

    DENY = "deny"
    WARN = "warn"
    AUDIT = "audit"


class Admission(SpecModel):
    """Admission requirements for the pods of all teams; a team may narrow them."""

    allowed_images: Annotated[tuple[ImagePrefix, ...], Field(max_length=100)] = ()
    """Registries or repositories that images may come from. Default: any."""
    egress_cidrs: Annotated[tuple[Cidr, ...], Field(max_length=100)] = ()
    """Networks outside the cluster that pods may reach. Default: only those that the cluster itself
    needs."""
    enforce: Enforce = Enforce.DENY
    """Action on a violation: deny, warn or audit. Default: deny."""
    priority_classes: Annotated[tuple[Name, ...], Field(max_length=100)] = ()
    """PriorityClasses of the cluster that pods may use, a global default included. Default: none."""
    csi_drivers: Annotated[tuple[DriverName, ...], Field(max_length=20)] = (
        "secrets-store.csi.k8s.io",
        "gcsfuse.csi.storage.gke.io",
    )
    """CSI drivers whose inline volumes pods may mount; allow none that mounts an address chosen by the pod.
    Default: Secrets Store and GCS FUSE, which check the permissions of the service account."""
    max_grace_period_seconds: Annotated[int, Field(strict=True, ge=30, le=3600)] = 300
    """Maximum termination grace period of pods with GPUs, in seconds; queues stop counting a pod when
    it starts. Default: 300, or `queueing.interruption.checkpoint_seconds` if that is longer."""
    guaranteed: Switch = True
    """Whether training pods must have equal CPU and memory requests and limits (QoS class Guaranteed).
    Default: on."""
    set_classes: Switch | None = None
    """Whether the API server labels workloads with GPUs with their class, if `gpuyard classify` finds clear
    evidence and they have no such label. Default: on from Kubernetes 1.36."""
