"""Admission: what every team's pods are held to."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from gpuyard.spec.base import SpecModel
from gpuyard.spec.values import Cidr, DriverName, ImagePrefix, Name, Switch


class Enforce(StrEnum):
    """What becomes of a pod that admission finds fault with.

    `deny` refuses it, `warn` lets it pass and tells its owner, `audit` only writes it down.
    """

    DENY = "deny"
    WARN = "warn"
    AUDIT = "audit"


class Admission(SpecModel):
    """What every team's pods are held to; a team may narrow it for itself."""

    allowed_images: Annotated[tuple[ImagePrefix, ...], Field(max_length=100)] = ()
    """Registries or repositories that images may come from. Default: any."""
    egress_cidrs: Annotated[tuple[Cidr, ...], Field(max_length=100)] = ()
    """Networks that pods may reach outside the cluster. Default: none but what the cluster itself needs."""
    enforce: Enforce = Enforce.DENY
    """deny, warn or audit. Default deny."""
    priority_classes: Annotated[tuple[Name, ...], Field(max_length=100)] = ()
    """PriorityClasses of the cluster that pods of teams may have; its default class is one. Default: none."""
    csi_drivers: Annotated[tuple[DriverName, ...], Field(max_length=20)] = (
        "secrets-store.csi.k8s.io",
        "gcsfuse.csi.storage.gke.io",
    )
    """CSI drivers whose volumes pods mount without a claim; none that mounts any address that a pod names.
    Default: those of the Secrets Store and of GCS FUSE, which give what a service account may have."""
    max_grace_period_seconds: Annotated[int, Field(strict=True, ge=30, le=3600)] = 300
    """Seconds that pods with GPUs may take to end; queues count them no more from the beginning of these on.
    Default 300; the `checkpoint_seconds` of `queueing.interruption` where that is longer."""
    guaranteed: Switch = True
    """Training pods must ask for as much CPU and memory as they are limited to. Default on."""
