"""Quota of MIG pools in compute slices: one guarantee that all profiles use.

Kueue converts requests of profiles to compute slices before it compares them with a quota
(`resources.transformations`), but nodes have a fixed number of slices of each profile. So if the profiles of
a pool differ, queues admit pods for which no slice exists; and a queue with two pools of different profiles
sends a pod to the pool with free quota, whether its profile exists there or not.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import AdvertisedResource, GpuLayout, PoolPlan, Quota
from gpuyard.plan.sharing.gke_sharing import partition_of
from gpuyard.plan.sharing.sharing import SharedGpus
from gpuyard.spec.platform import PerPod, PlatformSpec, TimeSliceLatency
from gpuyard.spec.queueing import MigQuota
from gpuyard.spec.teams import Team
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.catalogue.sharing import SharingMethod
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, warning
from gpuyard_core.names import MIG_SLICES, SHARED_UNIT, SLICES_UNIT

Counts = Mapping[str, int]


def compute_slices(
    spec: PlatformSpec, shared: SharedGpus, machine: Machine
) -> AdvertisedResource | None:
    """The compute slices of a node with these layouts; None if queues count its advertised resources.

    Shares of a slice (`mig` with `time_slicing`) are counted as shares: a part of a slice is not an integer.
    Slices of GKE have the resource name of GPUs, which contains no profile.
    """
    if spec.queueing.mig_quota is not MigQuota.SLICES or shared.method is not SharingMethod.MIG:
        return None
    if shared.is_gke_managed:
        return None
    gpus = [(len(layout.gpus), _of_layout(layout, machine)) for layout in shared.layouts]
    in_all = sum(n * slices for n, slices in gpus)
    # used slices pay for the whole GPU, as those of a profile do
    return AdvertisedResource(
        MIG_SLICES, in_all, SLICES_UNIT, Fraction(sum(n for n, _ in gpus), in_all)
    )


def _of_layout(layout: GpuLayout, machine: Machine) -> int:
    return sum(
        compute_slices_of_profile(name, machine) * count for name, count in layout.counts.items()
    )


def compute_slices_of_profile(profile: str, machine: Machine) -> int:
    """Compute slices of a profile; 0 if it is not a profile."""
    product = machine.gpu.mig if machine.gpu else None
    result = product.profile(profile) if product else None
    return result.slices if result else 0


def slices_of_one_gpu(pool: PoolPlan) -> int | None:
    """The number of compute slices of each GPU of the pool; None if its GPUs differ."""
    sizes = {_of_layout(layout, pool.machine) for layout in pool.layouts}
    return sizes.pop() if len(sizes) == 1 else None


def compute_slices_by_resource(pool: PoolPlan) -> dict[str, int]:
    """Compute slices by the resource of each profile; empty if queues do not count them."""
    if pool.compute_slices is None:
        return {}
    results = {a.resource: compute_slices_of_profile(a.unit, pool.machine) for a in pool.advertised}
    return {resource: slices for resource, slices in results.items() if slices}


def all_profiles(pools: Iterable[PoolPlan]) -> dict[str, int]:
    """The same for all pools. A profile's name contains its number, so pools cannot disagree."""
    results = {
        resource: n for pool in pools for resource, n in compute_slices_by_resource(pool).items()
    }
    return dict(sorted(results.items(), key=lambda each: each[::-1]))


def quota_resource_and_amount(pool: PoolPlan, resource: str) -> tuple[str, int]:
    """The quota resource that one unit of a resource uses, and how much of it."""
    slices = compute_slices_by_resource(pool).get(resource)
    return (MIG_SLICES, slices) if slices else (resource, 1)


def max_amounts_in_quota(pool: PoolPlan, quota: Quota) -> Iterator[tuple[str, int]]:
    """The maximum that a team's pods can use with a quota, in resources of nodes instead of compute slices."""
    amount = quota.nominal + quota.borrow
    if quota.resource != MIG_SLICES:
        yield quota.resource, amount
        return
    known = compute_slices_by_resource(pool)
    for offer in pool.advertised:
        if slices := known.get(offer.resource):
            yield offer.resource, min(amount // slices, offer.per_node * pool.nodes.high)


def convert_to_compute_slices(shares: Counts, pool: PoolPlan) -> dict[str, int]:
    """A team's amounts with the slices of the pool's profiles converted to compute slices."""
    results: dict[str, int] = {}
    for key, count in shares.items():
        name, _, unit = key.partition("/")
        each = compute_slices_of_profile(unit, pool.machine) if name == pool.name else 0
        to = f"{name}/{SLICES_UNIT}" if each else key
        results[to] = results.get(to, 0) + count * (each or 1)
    return results


def check_slices(draft: Draft) -> Iterator[Diagnostic]:
    """A quota of compute slices does not tell which profile is free, or in which pool."""
    spec, pools, quotas = draft.spec, draft.valid_pools, draft.quotas
    if spec.queueing.mig_quota is not MigQuota.SLICES:
        return
    if not any(pool.compute_slices for pool in pools.values()):
        if len(pools) == len(spec.pools):
            yield _nothing_to_count(spec, pools)
        return
    for index, one in enumerate(spec.pools):
        if (pool := pools.get(one.name)) and pool.compute_slices:
            yield from _admits_too_much(
                pool, pool.compute_slices, ("pools", index, "sharing", "mig")
            )
    for index, team in enumerate(spec.teams):
        yield from _check_flavors(team, index, pools, quotas[index])


def _admits_too_much(
    pool: PoolPlan, slices: AdvertisedResource, path: Path
) -> Iterator[Diagnostic]:
    """Profiles of which the quota of the whole pool admits more than exist."""
    known, nodes = compute_slices_by_resource(pool), pool.nodes.high
    counts = {
        a.unit: (slices.per_node * nodes // known[a.resource], a.per_node * nodes)
        for a in pool.advertised
        if a.resource in known
    }
    shown = [
        f"{admits:,} {unit} where {existing:,} exist"
        for unit, (admits, existing) in counts.items()
        if admits > existing
    ]
    if shown:
        yield warning(
            "slices.no_profile",
            path,
            f"queues count slices of {pool.name} of any profile, but its nodes have a fixed MIG layout:"
            f" its quota admits {format_list(shown)}. Pods beyond that use quota but find no node",
            given=", ".join(f"{a.per_node} × {a.unit}" for a in pool.advertised if a.unit)
            + " a node",
            allowed="one MIG profile in the pool, or mig_quota: profiles",
            fix=Fix(
                message=f"partition {pool.name} into slices of one profile, or write mig_quota: profiles"
            ),
        )


def _nothing_to_count(spec: PlatformSpec, pools: Mapping[str, PoolPlan]) -> Diagnostic:
    why = "no pool uses MIG"
    if by_gke := [p.name for p in pools.values() if partition_of(p)]:
        why = f"GKE partitions the GPUs of {format_list(by_gke)}, and advertises slices as GPUs"
    if shared := [p.name for p in spec.pools if p.sharing.mig and p.sharing.time_slicing]:
        why = f"the slices of {format_list(shared)} are time-sliced, and queues count the shares"
    return warning(
        "slices.nothing",
        ("queueing", "mig_quota"),
        f"there are no slices to count: {why}",
        given=MigQuota.SLICES.value,
        fix=Fix.remove(("queueing", "mig_quota")),
    )


def _check_flavors(
    team: Team, index: int, pools: Mapping[str, PoolPlan], quotas: Iterable[Quota]
) -> Iterator[Diagnostic]:
    """Reject a queue whose pools have different profiles, because it compares quota only."""
    names = dict.fromkeys(q.pool for q in quotas if q.resource == MIG_SLICES)
    kinds = {name: compute_slices_by_resource(pools[name]).keys() for name in names}
    odd = [name for name, kind in kinds.items() if kind != kinds[next(iter(names))]]
    if not odd:
        return
    units = {
        name: ", ".join(a.unit for a in pools[name].advertised if a.resource in kind)
        for name, kind in kinds.items()
    }
    shown = "; ".join(f"{name} has {profiles}" for name, profiles in units.items())
    yield error(
        "slices.flavor",
        ("teams", index),
        f"the queue of {team.name} counts slices of pools with different profiles ({shown}):"
        " it may admit a pod to a pool without the pod's profile, where the pod waits",
        given=format_list(names),
        allowed="slices of pools with the same profiles, or mig_quota: profiles",
        fix=_one_kind(team, index, next(iter(names)), odd),
    )


def _one_kind(team: Team, index: int, first: str, odd: list[str]) -> Fix:
    """Do not borrow from pools that differ from the first, if the team has no other quota of them."""
    if any(key.partition("/")[0] in odd for key in (*team.guarantee, *(team.lend or {}))):
        return Fix(
            message=f"give {team.name} slices of {first} or of {', '.join(odd)}, not of both"
        )
    retained = {key: n for key, n in team.borrow.items() if key.partition("/")[0] not in odd}
    message = f"do not borrow from {', '.join(odd)}"
    return Fix(message=message, at=("teams", index, "borrow"), value=retained)


_SHARED_SLICE = f".{SHARED_UNIT}"


@dataclass(frozen=True, slots=True)
class GpuFraction:
    """One advertised part of a GPU, with its memory and compute."""

    offer: AdvertisedResource
    memory_gib: float
    """For a time-sliced GPU an even share, which is not enforced."""
    compute_percent: float
    is_time_sliced: bool

    @property
    def size(self) -> tuple[float, float]:
        """The sort key: memory, then compute."""
        return self.memory_gib, self.compute_percent

    def __str__(self) -> str:
        return f"{self.memory_gib:g} GiB and {self.compute_percent:.0f} % of a GPU"


def gpu_fractions(pool: PoolPlan) -> list[GpuFraction]:
    """The parts of GPUs that nodes of a pool advertise, the smallest first."""
    return sorted((_piece(offer, pool) for offer in pool.advertised), key=lambda p: p.size)


def _piece(offer: AdvertisedResource, pool: PoolPlan) -> GpuFraction:
    gpu = pool.machine.gpu
    product = gpu.mig if gpu else None
    name, turns = offer.unit.removesuffix(_SHARED_SLICE), pool.sharing.is_time_sliced
    replicas = pool.replicas if offer.unit.endswith(SHARED_UNIT) else 1
    profile = product.profile(name) if product else None
    if profile is None or product is None:
        share = float(offer.gpu_share)
        return GpuFraction(
            offer, (gpu.memory_gib if gpu else 0) * share, 100 * share, turns and replicas > 1
        )
    return GpuFraction(
        offer,
        _memory(name) / replicas,
        100 * profile.slices / product.slices / replicas,
        turns and replicas > 1,
    )


def _memory(profile: str) -> int:
    """Memory of a profile in GiB, from its name: 3g.20gb has 20."""
    return int(profile.partition(".")[2].partition("gb")[0])


def fits_fraction(pod: PerPod, piece: GpuFraction) -> bool:
    """Whether this part of a GPU meets the needs of a pod."""
    return (
        (pod.gpu_memory_gib or 0) <= piece.memory_gib
        and (pod.compute_percent or 0) <= piece.compute_percent
        and not (pod.latency is TimeSliceLatency.STRICT and piece.is_time_sliced)
    )


def smallest_fraction(pod: PerPod, pool: PoolPlan) -> GpuFraction | None:
    """The smallest part of a GPU in the pool that meets the needs of the pod."""
    return next((piece for piece in gpu_fractions(pool) if fits_fraction(pod, piece)), None)


def larger_slice(pod: PerPod, pool: PoolPlan) -> str | None:
    """The smallest profile that meets the needs of the pod, if the pool's slices are too small."""
    product = pool.machine.gpu.mig if pool.machine.gpu else None
    if product is None or pool.sharing is not SharingMethod.MIG or smallest_fraction(pod, pool):
        return None
    memory, percent = pod.gpu_memory_gib or 0, pod.compute_percent or 0
    fits = [
        profile
        for profile in product.profiles
        if not profile.variant
        and _memory(profile.name) >= memory
        and 100 * profile.slices / product.slices >= percent
    ]
    return min(fits, key=lambda each: (_memory(each.name), each.slices)).name if fits else None


def format_needs(pod: PerPod) -> str:
    """`24 GiB and 50 % of a GPU, strict`."""
    memory = f"{pod.gpu_memory_gib} GiB" if pod.gpu_memory_gib else ""
    compute = f"{pod.compute_percent:g} % of a GPU" if pod.compute_percent else "of a GPU"
    both = (
        f"{memory} and {compute}"
        if memory and pod.compute_percent
        else f"{memory} {compute}".strip()
    )
    return both + (", with strict latency" if pod.latency is TimeSliceLatency.STRICT else "")
