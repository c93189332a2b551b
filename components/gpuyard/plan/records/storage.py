"""Storage in a plan: the created stores, and what each team has of them."""

from dataclasses import dataclass

from gpuyard.spec.sections import DatasetKind, StoreTier

A_CLAIM_GIB = 1
"""The request of a claim of shared data, in GiB: the data are not counted again for each claim."""

KEEP_DAYS = 7
"""Days for which deleted or overwritten data of a dataset's bucket can be restored."""
BACKUP_DAYS = 7
"""Days for which a daily backup of a Lustre file system of gpuyard is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorePlan:
    """One store that the stack creates."""

    name: str
    kind: str
    """The kind with its tier: efs, fsx-lustre persistent, bucket."""
    size_gib: int | None
    """The purchased size; None if it grows with its content and is billed by use."""
    zone: str | None
    protect: bool
    """Whether Pulumi rejects its deletion."""
    retention: str
    """How long lost data can be restored."""
    usd_per_month: float | None
    """None without a price: billed by use, or no price is known."""
    basis: str
    """The source of the price, or why there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetPlan:
    """One store of data."""

    name: str
    kind: DatasetKind
    size_gib: int | None
    """None if it grows with its content."""
    tier: StoreTier | None
    throughput: int | None
    """MB/s for each TiB of Lustre, MiB/s in total for EFS; None if it depends on the size or on use."""
    zone: str | None
    """Its zone, if it is in one zone."""
    bucket: str | None
    """An existing bucket: the store itself, or the source of its data."""
    file_system: str | None
    """An existing file system of EFS; None if gpuyard creates one."""
    cache_gib: int | None
    read_mb_per_s: int | None
    """The minimum read speed of one node, from the stack file; None without a value."""
    class_name: str | None
    teams: tuple[str, ...]
    """Stable names of the teams that have it."""
    writers: tuple[str, ...]

    @property
    def claim_gib(self) -> int:
        """The request of each team's claim, in GiB."""
        return (self.size_gib or A_CLAIM_GIB) if self.kind is DatasetKind.CLASS else A_CLAIM_GIB


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointsPlan:
    """The bucket for checkpoints."""

    bucket: str | None
    """An existing bucket; None if gpuyard creates one."""
    retention_days: int
    teams: tuple[str, ...]
    """Stable names of the teams with a folder in it, which are the names of the folders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoragePlan:
    """All storage of a platform."""

    datasets: tuple[DatasetPlan, ...] = ()
    checkpoints: CheckpointsPlan | None = None
    protect: bool = True
    """Whether Pulumi rejects the deletion of created stores."""
    stores: tuple[StorePlan, ...] = ()
    """The stores that the stack creates; existing buckets and storage classes are not among them."""

    @property
    def kinds(self) -> frozenset[DatasetKind]:
        """The kinds of datasets, which decide the drivers to install."""
        return frozenset(each.kind for each in self.datasets)

    def datasets_of_team(self, team: str) -> tuple[DatasetPlan, ...]:
        """The datasets that a team claims in each of its namespaces."""
        return tuple(each for each in self.datasets if team in each.teams)

    def buckets(self, team: str) -> tuple[DatasetPlan, ...]:
        """The team's datasets in buckets, which its pods access directly."""
        return tuple(
            each for each in self.datasets_of_team(team) if each.kind is DatasetKind.BUCKET
        )

    def keeps_checkpoints(self, team: str) -> bool:
        """Whether the team has a folder for checkpoints."""
        return self.checkpoints is not None and team in self.checkpoints.teams


NO_STORAGE = StoragePlan()
