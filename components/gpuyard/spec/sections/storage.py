"""Storage beside the nodes: data to train on, and checkpoints."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from gpuyard.spec.base import SpecModel
from gpuyard.spec.values import MemoryGib, Name, Positive, Switch, Text

MAX_DATASETS = 20


class DatasetKind(StrEnum):
    """What kind of store.

    `efs`, `fsx-lustre` on aws; `filestore`, `managed-lustre` on gcp; `bucket` on both, mounted as files;
    `class` is a storage class you have.
    """

    EFS = "efs"
    FSX_LUSTRE = "fsx-lustre"
    FILESTORE = "filestore"
    MANAGED_LUSTRE = "managed-lustre"
    BUCKET = "bucket"
    CLASS = "class"


class StoreTier(StrEnum):
    """How a file system is kept.

    `persistent` and `scratch` of fsx-lustre: scratch is lost with any of its servers. `zonal`, `regional`,
    `basic-ssd` and `basic-hdd` of filestore.
    """

    PERSISTENT = "persistent"
    SCRATCH = "scratch"
    ZONAL = "zonal"
    REGIONAL = "regional"
    BASIC_SSD = "basic-ssd"
    BASIC_HDD = "basic-hdd"


Teams = Annotated[tuple[Name, ...], Field(max_length=1000)]


class Dataset(SpecModel):
    """Where training data lives: many pods read it at once, each team by a claim of this name."""

    name: Name
    """Its name, and that of the claim in each team's namespace."""
    kind: DatasetKind
    """efs, fsx-lustre, filestore, managed-lustre, bucket or class."""
    size_gib: MemoryGib | None = None
    """Size in GiB, where it does not grow by itself. Default: the smallest that is sold; 100 of a class."""
    tier: StoreTier | None = None
    """persistent, scratch; zonal, regional, basic-ssd, basic-hdd. Default: persistent, or zonal."""
    throughput: Positive | None = None
    """MB/s for each TiB of Lustre; MiB/s of all of efs. Default: 125 and 1000; efs scales by itself."""
    zone: Text | None = None
    """Zone of a file system that lies in one. Default: that of the pools, where they are all in one."""
    bucket: Text | None = None
    """A bucket that exists: that of kind bucket, or what fills fsx-lustre. Default: one is made, or none."""
    cache_gib: MemoryGib | None = None
    """Of kind bucket: what a pod keeps of it on its node's disks. Default: nothing."""
    read_mb_per_s: Positive | None = None
    """MB/s that one node reads of it at least, as the check with the profile full tries. Default: half of
    what is sold, of buckets that exist and what is filled from one; others are not tried."""
    class_name: Text | None = None
    """The storage class, with kind: class."""
    teams: Teams = ()
    """Teams that have it. Default: all."""
    writers: Teams = ()
    """Those of them that write it, too. Default: none; a class is each team's own to write."""


class Checkpoints(SpecModel):
    """Where training keeps its checkpoints: a bucket, so that a lost node loses nothing."""

    bucket: Text | None = None
    """Name of a bucket that exists. Default: one is made."""
    retention_days: Positive = 30
    """Days for which a checkpoint that was deleted or written over can be had back. Default 30."""
    teams: Teams = ()
    """Teams that have a place in it, each its own. Default: all."""


class Storage(SpecModel):
    """Storage beside the nodes."""

    datasets: Annotated[tuple[Dataset, ...], Field(max_length=MAX_DATASETS)] = ()
    """Data that teams share: [{name: corpus, kind: efs}]. Default: none."""
    checkpoints: Checkpoints | None = None
    """Bucket for checkpoints. Default: none."""
    protect: Switch = True
    """Nothing that is made here is deleted. Default on; take it off, and deploy, before a destroy."""
