"""Stage: the stores of data and checkpoints, and the teams that use them."""

from collections.abc import Iterator
from dataclasses import replace

from gpuyard.plan.cluster.ranges import cluster_zones
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import CheckpointsPlan, DatasetPlan, StoragePlan, StorePlan
from gpuyard.plan.records.storage import BACKUP_DAYS, KEEP_DAYS
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.sections import Dataset, DatasetKind, StoreTier
from gpuyard_core.catalogue.cluster.stores import (
    FILESTORE,
    FSX_LUSTRE,
    MANAGED_LUSTRE,
    StoreOffer,
    lustre_price,
)
from gpuyard_core.findings import Diagnostic, Path

_BY_USE = "billed by stored data"
_UNKNOWN = "no price known"
_NOT_KEPT = "nothing"


def managed_stores(
    region: str | None,
    datasets: tuple[DatasetPlan, ...],
    checkpoints: CheckpointsPlan | None,
    *,
    protect: bool,
) -> Iterator[StorePlan]:
    """One for each store that gpuyard creates on a cloud, in the order of the stack file."""
    for data in datasets:
        bucket = data.kind is DatasetKind.BUCKET
        if data.kind is DatasetKind.CLASS or data.file_system or (bucket and data.bucket):
            continue
        usd, basis = _price(data, region)
        yield StorePlan(
            name=data.name,
            kind=f"{data.kind} {data.tier}" if data.tier else str(data.kind),
            size_gib=data.size_gib,
            zone=data.zone,
            protect=protect,
            retention=_retention(data, protect=protect),
            usd_per_month=usd,
            basis=basis,
        )
    if checkpoints and checkpoints.bucket is None:
        yield StorePlan(
            name="checkpoints",
            kind=str(DatasetKind.BUCKET),
            size_gib=None,
            zone=None,
            protect=protect,
            retention=_versions(checkpoints.retention_days),
            usd_per_month=None,
            basis=_BY_USE,
        )


def _versions(days: int) -> str:
    return f"versions {days} days"


def _retention(data: DatasetPlan, *, protect: bool) -> str:
    """A Lustre that is filled from a bucket has its originals there, and no backup."""
    match data.kind:
        case DatasetKind.BUCKET:
            return _versions(KEEP_DAYS)
        case DatasetKind.EFS if protect:
            return "backups"
        case DatasetKind.FSX_LUSTRE if data.tier is StoreTier.PERSISTENT and data.bucket is None:
            return f"backups {BACKUP_DAYS} days"
        case _:
            return _NOT_KEPT


def _price(data: DatasetPlan, region: str | None) -> tuple[float | None, str]:
    if data.size_gib is None:
        return None, _BY_USE
    price = (
        lustre_price(str(data.tier), data.throughput, region)
        if data.kind is DatasetKind.FSX_LUSTRE
        else None
    )
    if price is None:
        return None, _UNKNOWN
    source = price.source
    return (
        price.usd_per_gib_month * data.size_gib,
        f"list price {source.formatted_date}{source.unverified_suffix}",
    )


A_CLASS_GIB = 100
_TIERS = {DatasetKind.FSX_LUSTRE: StoreTier.PERSISTENT, DatasetKind.FILESTORE: StoreTier.ZONAL}
"""The default tiers."""
_THROUGHPUTS = {DatasetKind.FSX_LUSTRE: 125, DatasetKind.MANAGED_LUSTRE: next(iter(MANAGED_LUSTRE))}


def datasets_of(draft: Draft) -> Iterator[tuple[Path, Dataset]]:
    """Every dataset of the stack file, with its path."""
    for index, data in enumerate(draft.spec.storage.datasets if draft.spec.storage else ()):
        yield ("storage", "datasets", index), data


def decide_storage(draft: Draft) -> tuple[Draft, list[Diagnostic]]:
    """The configured stores, with defaults filled in."""
    storage_spec = draft.spec.storage
    if storage_spec is None:
        return draft, []
    checkpoints = storage_spec.checkpoints
    checkpoints_plan = (
        CheckpointsPlan(
            bucket=checkpoints.bucket,
            retention_days=checkpoints.retention_days,
            teams=_first_names(draft.spec, checkpoints.teams or _all(draft.spec)),
        )
        if checkpoints
        else None
    )
    datasets = tuple(_dataset(draft.spec, data) for _, data in datasets_of(draft))
    region = draft.region.name if draft.region else None
    creates_stores = draft.provider.sells_machines
    stores = managed_stores(region, datasets, checkpoints_plan, protect=storage_spec.protect)
    storage = StoragePlan(
        datasets=datasets,
        checkpoints=checkpoints_plan,
        protect=storage_spec.protect,
        stores=tuple(stores) if creates_stores else (),
    )
    return replace(draft, storage=storage), []


def _dataset(spec: PlatformSpec, data: Dataset) -> DatasetPlan:
    offer = offer_of(data)
    return DatasetPlan(
        name=data.name,
        kind=data.kind,
        size_gib=data.size_gib or _size(data, offer),
        tier=tier_of(data),
        throughput=throughput_of(data),
        zone=zone_of(spec, data) if offer and offer.single_zone else None,
        bucket=data.bucket,
        file_system=data.file_system,
        cache_gib=data.cache_gib,
        read_mb_per_s=data.read_mb_per_s,
        class_name=data.class_name,
        teams=_first_names(spec, data.teams or _all(spec)),
        writers=_first_names(spec, data.writers),
    )


def _size(data: Dataset, offer: StoreOffer | None) -> int | None:
    if data.kind is DatasetKind.CLASS:
        return A_CLASS_GIB
    return offer.bands[0].low if offer else None


def _all(spec: PlatformSpec) -> tuple[str, ...]:
    return tuple(team.name for team in spec.teams)


def _first_names(spec: PlatformSpec, names: tuple[str, ...]) -> tuple[str, ...]:
    """The first names of teams, under which a team keeps its data through renames."""
    return tuple(team.stable_name for team in spec.teams if team.name in names)


def tier_of(data: Dataset) -> StoreTier | None:
    """The tier, or its default; None for kinds without tiers."""
    return data.tier or _TIERS.get(data.kind)


def throughput_of(data: Dataset) -> int | None:
    """The throughput, or its default; None where it follows from size or use."""
    if tier_of(data) is StoreTier.SCRATCH:
        return None
    return data.throughput or _THROUGHPUTS.get(data.kind)


def offer_of(data: Dataset) -> StoreOffer | None:
    """How it is sold; None for kinds without a size, and for combinations that no cloud sells."""
    match data.kind:
        case DatasetKind.FSX_LUSTRE:
            return FSX_LUSTRE.get(str(tier_of(data)))
        case DatasetKind.FILESTORE:
            return FILESTORE.get(str(tier_of(data)))
        case DatasetKind.MANAGED_LUSTRE:
            return MANAGED_LUSTRE.get(throughput_of(data) or 0)
        case _:
            return None


def zone_of(spec: PlatformSpec, data: Dataset) -> str | None:
    """The zone of the store: as configured, else the only one of all pools or the cluster."""
    named = cluster_zones(spec)
    pools = {pool.zones for pool in spec.pools}
    [*first] = next(iter(pools)) if len(pools) == 1 else ()
    only = first if len(first) == 1 else named if len(named) == 1 else [None]
    return data.zone or only[0]
