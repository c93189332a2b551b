"""Which datasets a node of each pool reads before a deployment ends, how fast, and which not, and why."""

from collections.abc import Iterable, Iterator

from gpuyard.catalogue.cluster.store_speeds import ASKED, NODE, StoreSpeed, sold_speed
from gpuyard.findings import Finding, Fix, Path, error, info
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import DatasetPlan, PoolCheck, PoolPlan, ReadThreshold
from gpuyard.spec.platform import Profile, ValidationSpec
from gpuyard.spec.sections import DatasetKind

USER_PROVIDED = "the stack file, read_mb_per_s"


def read_thresholds(
    draft: Draft, validation: ValidationSpec, checks: Iterable[PoolCheck]
) -> tuple[ReadThreshold, ...]:
    """Of all datasets that are read; a node of each pool reads them at the same time."""
    pools = _readers(draft, validation.profile, validation.image, checks)
    read = [each for each in draft.storage.datasets if pools and not _untried(each)]
    return tuple(_minimum(each, pools) for each in read)


def _untried(data: DatasetPlan) -> str:
    """What keeps a dataset from being read; empty where nothing does."""
    if data.kind is DatasetKind.CLASS:
        return "each namespace has a volume of its own, and that of the check has nothing in it"
    if data.read_mb_per_s is None and data.bucket is None:
        return "it is empty when it is made; write read_mb_per_s once it is filled"
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
    """What each of so many nodes reads at most: what is sold, and what a node's own network carries."""
    sold = sold_speed(data.kind.value, data.tier, data.size_gib, data.throughput)
    speeds = [] if sold is None else [StoreSpeed(sold.mb_per_s / max(1, len(pools)), sold.source)]
    speeds += [
        StoreSpeed(gbps * 1000 / 8, pool.machine.source)
        for pool in pools
        if (gbps := pool.machine.network_gbps)
    ]
    return min([*speeds, NODE], key=lambda each: each.mb_per_s)


def check_store_reads(draft: Draft) -> list[Finding]:
    """A floor that can be reached, and that somebody tries."""
    return [
        finding
        for index, data in enumerate(draft.storage.datasets)
        for finding in _of_one(draft, ("storage", "datasets", index), data)
    ]


def _of_one(draft: Draft, at: Path, data: DatasetPlan) -> Iterator[Finding]:
    plan, requested = draft.validation, data.read_mb_per_s
    pools = _readers(draft, Profile(plan.profile), plan.image, plan.pools) if plan else []
    if requested is not None and requested > (most := max_read_speed(data, pools)).mb_per_s:
        yield _too_fast((*at, "read_mb_per_s"), data, requested, most, len(pools))
    elif requested is not None and not pools:
        why = "no check with the profile full or soak runs on a node"
        yield _skipped((*at, "read_mb_per_s"), data, why)
    elif pools and (why := _untried(data)):
        yield _skipped(at, data, why)


def _readers(
    draft: Draft, profile: Profile, image: str | None, checks: Iterable[PoolCheck]
) -> list[PoolPlan]:
    """The pools of which a node reads what there is to read."""
    reads = image and profile is not Profile.QUICK
    return [draft.valid_pools[each.pool] for each in checks if reads and each.runs]


def _skipped(at: Path, data: DatasetPlan, why: str) -> Finding:
    return info("validation.deferred", at, f"how fast {data.name} is read is not tried: {why}")


def _too_fast(
    at: Path, data: DatasetPlan, requested: int, most: StoreSpeed, readers: int
) -> Finding:
    least = max(1, int(most.mb_per_s * ASKED))
    readers_said = f", {readers} of which read at once" if readers > 1 else ""
    return error(
        "storage.read",
        at,
        f"no node can read {data.name} as fast as that{readers_said}",
        value=f"{requested} MB/s",
        allowed=f"at most {int(most.mb_per_s)} MB/s ({most.source.title})",
        fix=Fix(message=f"write {least}", at=at, value=least),
    )
