"""Storage that all teams share: data to train on, and checkpoints."""

from enum import StrEnum

from gpuyard.spec.base import SpecModel
from gpuyard.spec.values import MemoryGib, Positive, Text


class DatasetKind(StrEnum):
    """What kind of shared file system.

    `efs`, `fsx-lustre` on aws; `filestore`, `managed-lustre` on gcp; `class` is a storage class you have.
    """

    EFS = "efs"
    FSX_LUSTRE = "fsx-lustre"
    FILESTORE = "filestore"
    MANAGED_LUSTRE = "managed-lustre"
    CLASS = "class"


class Datasets(SpecModel):
    """Where training data lives: many pods read and write it at once."""

    kind: DatasetKind
    """efs, fsx-lustre, filestore, managed-lustre or class."""
    class_name: Text | None = None
    """The storage class, with kind: class."""
    size_gib: MemoryGib = 1200
    """Size in GiB. Default 1200, the smallest FSx for Lustre; what efs stores is billed, not its size."""


class Checkpoints(SpecModel):
    """Where training keeps its checkpoints: a bucket, so that a lost node loses nothing."""

    bucket: Text | None = None
    """Name of a bucket that exists. Default: one is made, and protected."""
    keep_days: Positive = 30
    """Days after which a checkpoint may be deleted. Default 30."""


class Storage(SpecModel):
    """Storage that all teams share."""

    datasets: Datasets | None = None
    """Shared file system for data. Default: none."""
    checkpoints: Checkpoints | None = None
    """Bucket for checkpoints. Default: none."""
