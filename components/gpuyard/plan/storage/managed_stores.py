"""The stores that a stack creates: kind, zone, protection, retention and monthly price."""

from collections.abc import Iterator

from gpuyard.plan.records.storage import (
    BACKUP_DAYS,
    KEEP_DAYS,
    CheckpointsPlan,
    DatasetPlan,
    StorePlan,
)
from gpuyard.spec.sections import DatasetKind, StoreTier
from gpuyard_core.catalogue.cluster.stores import lustre_price

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
