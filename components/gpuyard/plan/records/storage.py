"""Storage in a plan: what is made, and what each team has of it."""

from dataclasses import dataclass

from gpuyard.spec.sections import DatasetKind, StoreTier

A_CLAIM_GIB = 1
"""What a claim of shared data asks for: the data are counted once, not once for each claim of them."""

KEEP_DAYS = 7
"""For which data of a dataset's bucket that were deleted or written over can be had back."""
BACKUP_DAYS = 7
"""For which a daily backup of a Lustre of ours is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorePlan:
    """One store that the stack makes."""

    name: str
    kind: str
    """With its tier: efs, fsx-lustre persistent, bucket."""
    size_gib: int | None
    """What is bought; None where it grows with what is in it, and is paid so."""
    zone: str | None
    protect: bool
    """Whether the engine refuses to delete it."""
    retention: str
    """For how long what is lost can be had back."""
    usd_per_month: float | None
    """None where it is unpriced: paid by use, or no price is known."""
    basis: str
    """Where the price comes from, or why there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetPlan:
    """One store of data."""

    name: str
    kind: DatasetKind
    size_gib: int | None
    """None where it grows with what is in it."""
    tier: StoreTier | None
    throughput: int | None
    """MB/s for each TiB of Lustre, MiB/s of all of EFS; None where it follows from the size or from use."""
    zone: str | None
    """Where it lies, if in one zone."""
    bucket: str | None
    """One that exists: the store itself, or what it is filled from."""
    cache_gib: int | None
    read_mb_per_s: int | None
    """What the stack file wants one node to read at least; None where it says nothing."""
    class_name: str | None
    teams: tuple[str, ...]
    """Those that have it, by their first names."""
    writers: tuple[str, ...]

    @property
    def claim_gib(self) -> int:
        """What each team's claim asks for."""
        return (self.size_gib or A_CLAIM_GIB) if self.kind is DatasetKind.CLASS else A_CLAIM_GIB


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointsPlan:
    """The bucket for checkpoints."""

    bucket: str | None
    """One that exists; None where one is made."""
    retention_days: int
    teams: tuple[str, ...]
    """Those that have a place in it, by their first names, which are the places' names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoragePlan:
    """All storage of a platform."""

    datasets: tuple[DatasetPlan, ...] = ()
    checkpoints: CheckpointsPlan | None = None
    protect: bool = True
    """Whether the engine refuses to delete what is made."""
    stores: tuple[StorePlan, ...] = ()
    """What is made for them; a bucket that exists and a storage class are not."""

    @property
    def kinds(self) -> frozenset[DatasetKind]:
        """What drivers are needed for."""
        return frozenset(each.kind for each in self.datasets)

    def of(self, team: str) -> tuple[DatasetPlan, ...]:
        """What a team claims in each of its namespaces."""
        return tuple(each for each in self.datasets if team in each.teams)

    def buckets(self, team: str) -> tuple[DatasetPlan, ...]:
        """What of it lies in buckets that the team's pods ask themselves."""
        return tuple(each for each in self.of(team) if each.kind is DatasetKind.BUCKET)

    def keeps_checkpoints(self, team: str) -> bool:
        """Whether the team has a place for checkpoints."""
        return self.checkpoints is not None and team in self.checkpoints.teams


NO_STORAGE = StoragePlan()
