"""Which datasets a node of each pool reads before a deployment ends, how fast, and why not others."""

from collections.abc import Iterable, Iterator

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import DatasetPlan, PoolCheck, PoolPlan, ReadThreshold
from gpuyard.spec.platform import ValidationProfile, ValidationSpec
from gpuyard.spec.sections import DatasetKind
from gpuyard_core.catalogue.cluster.store_speeds import ASKED, NODE, StoreSpeed, sold_speed
from gpuyard_core.findings import Diagnostic, Fix, Path, error, info

USER_PROVIDED = "the stack file, read_mb_per_s"


def read_thresholds(
    draft: Draft, validation: ValidationSpec, checks: Iterable[PoolCheck]
) -> tuple[ReadThreshold, ...]:
    """The thresholds of all datasets that are read; one node of each pool reads them at the same time."""
    pools = _readers(draft, validation.profile, validation.image, checks)
    read = [each for each in draft.storage.datasets if pools and not _untried(each)]
    return tuple(_minimum(each, pools) for each in read)


def _untried(data: DatasetPlan) -> str:
    """Why a dataset is not read; empty if it is."""
    if data.kind is DatasetKind.CLASS:
        return "each namespace has its own volume, and the volume of the check is empty"
    if data.read_mb_per_s is None and data.bucket is None and data.file_system is None:
        return "it is created empty; write read_mb_per_s once it has data"
    return ""


def _minimum(data: DatasetPlan, pools: list[PoolPlan]) -> ReadThreshold:
    if data.read_mb_per_s is not None:
        return ReadThreshold(
            name=data.name, mb_per_s=float(data.read_mb_per_s), source=USER_PROVIDED
        )
    least = max_read_speed(data, pools)
    readers = f" for {len(pools)} nodes at once" if len(pools) > 1 else ""
    source = f"derived, not measured: {ASKED:g} of {least.mb_per_s:.0f} MB/s{readers}, {least.source.title}"
    return ReadThreshold(name=data.name, mb_per_s=round(ASKED * least.mb_per_s, 1), source=source)


def max_read_speed(data: DatasetPlan, pools: list[PoolPlan]) -> StoreSpeed:
    """The maximum read speed of each of these nodes: by the speed sold and by the node's own network."""
    sold = sold_speed(data.kind.value, data.tier, data.size_gib, data.throughput)
    speeds = [] if sold is None else [StoreSpeed(sold.mb_per_s / max(1, len(pools)), sold.source)]
    speeds += [
        StoreSpeed(gbps * 1000 / 8, pool.machine.source)
        for pool in pools
        if (gbps := pool.machine.network_gbps)
    ]
    return min([*speeds, NODE], key=lambda each: each.mb_per_s)


def check_store_reads(draft: Draft) -> list[Diagnostic]:
    """A required read speed must be reachable, and a check must measure it."""
    return [
        finding
        for index, data in enumerate(draft.storage.datasets)
        for finding in _of_one(draft, ("storage", "datasets", index), data)
    ]


def _of_one(draft: Draft, at: Path, data: DatasetPlan) -> Iterator[Diagnostic]:
    plan, requested = draft.validation, data.read_mb_per_s
    pools = _readers(draft, ValidationProfile(plan.profile), plan.image, plan.pools) if plan else []
    if requested is not None and requested > (most := max_read_speed(data, pools)).mb_per_s:
        yield _too_fast((*at, "read_mb_per_s"), data, requested, most, len(pools))
    elif requested is not None and not pools:
        why = "no check with profile full or soak runs on a node"
        yield _skipped((*at, "read_mb_per_s"), data, why)
    elif pools and (why := _untried(data)):
        yield _skipped(at, data, why)


def _readers(
    draft: Draft, profile: ValidationProfile, image: str | None, checks: Iterable[PoolCheck]
) -> list[PoolPlan]:
    """The pools of which one node reads the datasets."""
    reads = image and profile is not ValidationProfile.QUICK
    return [draft.valid_pools[each.pool] for each in checks if reads and each.checks_any_node]


def _skipped(at: Path, data: DatasetPlan, why: str) -> Diagnostic:
    return info(
        "validation.deferred",
        at,
        f"validation does not measure the read speed of {data.name}: {why}",
    )


def _too_fast(
    at: Path, data: DatasetPlan, requested: int, most: StoreSpeed, readers: int
) -> Diagnostic:
    least = max(1, int(most.mb_per_s * ASKED))
    at_once = f" while {readers} nodes read at once" if readers > 1 else ""
    return error(
        "storage.read",
        at,
        f"no node can read {data.name} at this speed{at_once}",
        given=f"{requested} MB/s",
        allowed=f"at most {int(most.mb_per_s)} MB/s ({most.source.title})",
        fix=Fix(message=f"write {least}", at=at, value=least),
    )
