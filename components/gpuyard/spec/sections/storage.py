"""Shared storage: training datasets and checkpoints."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from gpuyard_core.models.values import MemoryGib, Name, Positive, SpecModel, Switch, Text

MAX_DATASETS = 20


class DatasetKind(StrEnum):
    """Kind of storage.

    `efs`, `fsx-lustre` on aws; `filestore`, `managed-lustre` on gcp; `bucket` on both, mounted as files;
    `class` is an existing StorageClass.
    """

    EFS = "efs"
    FSX_LUSTRE = "fsx-lustre"
    FILESTORE = "filestore"
    MANAGED_LUSTRE = "managed-lustre"
    BUCKET = "bucket"
    CLASS = "class"


class StoreTier(StrEnum):
    """Tier of a file system.

    `persistent` and `scratch` of fsx-lustre; scratch loses data when one of its servers fails. `zonal`,
    `regional`, `basic-ssd` and `basic-hdd` of filestore.
    """

    PERSISTENT = "persistent"
    SCRATCH = "scratch"
    ZONAL = "zonal"
    REGIONAL = "regional"
    BASIC_SSD = "basic-ssd"
    BASIC_HDD = "basic-hdd"


Teams = Annotated[tuple[Name, ...], Field(max_length=1000)]


class Dataset(SpecModel):
    """Shared training data, which each team mounts through a PersistentVolumeClaim of this name."""

    name: Name
    """Name of the dataset and of the PersistentVolumeClaim in each team's namespace."""
    kind: DatasetKind
    """Kind of storage: efs, fsx-lustre, filestore, managed-lustre, bucket or class."""
    size_gib: MemoryGib | None = None
    """Size in GiB of storage that does not grow by itself. Default: the smallest size on offer; 100 for
    class."""
    tier: StoreTier | None = None
    """Tier: persistent or scratch of fsx-lustre; zonal, regional, basic-ssd or basic-hdd of filestore.
    Default: persistent, or zonal."""
    throughput: Positive | None = None
    """Throughput in MB/s per TiB for Lustre, in total MiB/s for efs. Default: 125 for fsx-lustre, 1000
    for managed-lustre; efs scales by itself."""
    zone: Text | None = None
    """Zone of a zonal file system. Default: the zone of the pools, if all are in one."""
    bucket: Text | None = None
    """Existing bucket: the dataset itself with kind bucket, or the import source of fsx-lustre.
    Default: a new bucket with kind bucket, otherwise none."""
    file_system: Text | None = None
    """Existing file system with kind efs: its id, followed by `::` and the id of an access point if it is
    mounted through one. Default: gpuyard creates one."""
    cache_gib: MemoryGib | None = None
    """Cache size per pod on the node's disks in GiB, with kind bucket. Default: no cache."""
    read_mb_per_s: Positive | None = None
    """Minimum read throughput of one node in MB/s, measured by validation with profile full. Default:
    half of the provisioned throughput, for existing buckets and file systems filled from one; others
    are not measured."""
    class_name: Text | None = None
    """Name of the StorageClass, with kind class. Default: none."""
    teams: Teams = ()
    """Teams that can mount it. Default: all."""
    writers: Teams = ()
    """Teams that can also write it. Default: none; with kind class each team writes its own volume."""


class Checkpoints(SpecModel):
    """The bucket for training checkpoints, which outlive nodes."""

    bucket: Text | None = None
    """Name of an existing bucket. Default: gpuyard creates one."""
    retention_days: Positive = 30
    """Days for which a deleted or overwritten checkpoint can be restored. Default: 30."""
    teams: Teams = ()
    """Teams that get a prefix of their own in the bucket. Default: all."""


class Storage(SpecModel):
    """Shared storage of the platform."""

    datasets: Annotated[tuple[Dataset, ...], Field(max_length=MAX_DATASETS)] = ()
    """Datasets that teams share: [{name: corpus, kind: efs}]. Default: none."""
    checkpoints: Checkpoints | None = None
    """Bucket for checkpoints. Default: none."""
    protect: Switch = True
    """Deletion protection of all storage in this section; turn it off and deploy before a destroy.
    Default: on."""
