"""Quota of cut GPUs in compute slices: one guarantee that every profile draws on.

Kueue makes slices of what pods ask for before it compares them with a quota (`resources.transformations`),
and nodes know nothing of it: they hold so many slices of each profile and no more. So where the profiles of
a pool differ, queues admit pods that no slice holds; and a queue with two pools of different profiles sends
a pod to the pool with free quota, whether or not its profile exists there.
"""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from gpuyard.catalogue.machines import Machine
from gpuyard.catalogue.sharing import SharingMethod
from gpuyard.findings import Finding, Fix, Path, error, format_list, warning
from gpuyard.names import MIG_SLICES, SLICES_UNIT
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import Advertised, GpuLayout, PoolPlan, Quota
from gpuyard.plan.sharing.gke_sharing import partition_of
from gpuyard.plan.sharing.sharing import SharedGpus
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.queueing import MigQuota
from gpuyard.spec.teams import Team

Counts = Mapping[str, int]


def compute_slices(spec: PlatformSpec, shared: SharedGpus, machine: Machine) -> Advertised | None:
    """What queues count of a node with these layouts; None where they count what it advertises.

    Shares of a slice (`mig` with `time_slicing`) are counted as shares: a part of a slice is no whole number.
    Slices that GKE makes have the name of GPUs, which says no profile.
    """
    if spec.queueing.mig_quota is not MigQuota.SLICES or shared.method is not SharingMethod.MIG:
        return None
    if shared.is_gke_managed:
        return None
    gpus = [(len(layout.gpus), _of_layout(layout, machine)) for layout in shared.layouts]
    in_all = sum(n * slices for n, slices in gpus)
    # used slices pay for the whole GPU, as those of a profile do
    return Advertised(MIG_SLICES, in_all, SLICES_UNIT, Fraction(sum(n for n, _ in gpus), in_all))


def _of_layout(layout: GpuLayout, machine: Machine) -> int:
    return sum(slices_of(name, machine) * count for name, count in layout.counts.items())


def slices_of(profile: str, machine: Machine) -> int:
    """Compute slices of a profile; 0 for what is none."""
    product = machine.gpu.mig if machine.gpu else None
    result = product.profile(profile) if product else None
    return result.slices if result else 0


def slices_of_one_gpu(pool: PoolPlan) -> int | None:
    """How many a GPU of the pool is cut into, None when its GPUs differ."""
    sizes = {_of_layout(layout, pool.machine) for layout in pool.layouts}
    return sizes.pop() if len(sizes) == 1 else None


def profiles(pool: PoolPlan) -> dict[str, int]:
    """Compute slices by the resource of each profile; nothing where they are not counted."""
    if pool.compute_slices is None:
        return {}
    results = {a.resource: slices_of(a.unit, pool.machine) for a in pool.advertised}
    return {resource: slices for resource, slices in results.items() if slices}


def all_profiles(pools: Iterable[PoolPlan]) -> dict[str, int]:
    """The same of all pools. A profile has its number in its name: no two pools disagree."""
    results = {resource: n for pool in pools for resource, n in profiles(pool).items()}
    return dict(sorted(results.items(), key=lambda each: each[::-1]))


def in_quota(pool: PoolPlan, resource: str) -> tuple[str, int]:
    """What one of a resource takes of a quota, and how many of that."""
    slices = profiles(pool).get(resource)
    return (MIG_SLICES, slices) if slices else (resource, 1)


def at_most(pool: PoolPlan, quota: Quota) -> Iterator[tuple[str, int]]:
    """What the pods of a team can hold at most with a quota, as nodes call it: Kueue's names bind no pod."""
    amount = quota.nominal + quota.borrow
    if quota.resource != MIG_SLICES:
        yield quota.resource, amount
        return
    known = profiles(pool)
    for offer in pool.advertised:
        if slices := known.get(offer.resource):
            yield offer.resource, min(amount // slices, offer.per_node * pool.nodes.high)


def by_slices(shares: Counts, pool: PoolPlan) -> dict[str, int]:
    """Amounts of a team in which slices of the pool's profiles became compute slices."""
    results: dict[str, int] = {}
    for key, count in shares.items():
        name, _, unit = key.partition("/")
        each = slices_of(unit, pool.machine) if name == pool.name else 0
        to = f"{name}/{SLICES_UNIT}" if each else key
        results[to] = results.get(to, 0) + count * (each or 1)
    return results


def check_slices(draft: Draft) -> list[Finding]:
    """What a number of slices does not say: which profile there is room for, and in which pool."""
    spec, pools, quotas = draft.spec, draft.valid_pools, draft.quotas
    if spec.queueing.mig_quota is not MigQuota.SLICES:
        return []
    if not any(pool.compute_slices for pool in pools.values()):
        return [_nothing_to_count(spec, pools)] if len(pools) == len(spec.pools) else []
    findings: list[Finding] = []
    for index, one in enumerate(spec.pools):
        if (pool := pools.get(one.name)) and (more := _beyond(pool)):
            findings.append(_admits_too_much(pool, more, ("pools", index, "sharing", "mig")))
    for index, team in enumerate(spec.teams):
        findings += _check_flavors(team, index, pools, quotas[index])
    return findings


def _nothing_to_count(spec: PlatformSpec, pools: Mapping[str, PoolPlan]) -> Finding:
    why = "no pool cuts its GPUs"
    if by_gke := [p.name for p in pools.values() if partition_of(p)]:
        why = f"GKE cuts those of {format_list(by_gke)}, and its slices have the name of GPUs"
    if shared := [p.name for p in spec.pools if p.sharing.mig and p.sharing.time_slicing]:
        why = f"the slices of {format_list(shared)} are shared by time, and shares are counted as such"
    return warning(
        "slices.nothing",
        ("queueing", "mig_quota"),
        f"there are no slices to count: {why}",
        value=MigQuota.SLICES.value,
        fix=Fix(message="remove it", at=("queueing", "mig_quota")),
    )


def _beyond(pool: PoolPlan) -> dict[str, tuple[int, int]]:
    """By profile, how many the quota of the whole pool admits, and how many there are, where that is less."""
    if pool.compute_slices is None:
        return {}
    in_all = pool.compute_slices.per_node * pool.nodes.high
    known = profiles(pool)
    results = {
        a.unit: (in_all // known[a.resource], a.per_node * pool.nodes.high)
        for a in pool.advertised
        if a.resource in known
    }
    return {
        unit: (admits, existing)
        for unit, (admits, existing) in results.items()
        if admits > existing
    }


def _admits_too_much(pool: PoolPlan, more: Mapping[str, tuple[int, int]], path: Path) -> Finding:
    shown = [
        f"{admits:,} {unit} where {existing:,} exist" for unit, (admits, existing) in more.items()
    ]
    return warning(
        "slices.no_profile",
        path,
        f"queues count the slices of {pool.name} whatever their profile, but its nodes are cut once:"
        f" its quota admits {format_list(shown)}. Pods beyond that hold quota and find no node",
        value=", ".join(f"{a.per_node} × {a.unit}" for a in pool.advertised if a.unit) + " a node",
        allowed="one profile in a pool, or mig_quota: profiles",
        fix=Fix(
            message=f"cut {pool.name} into slices of one profile, or write mig_quota: profiles"
        ),
    )


def _check_flavors(
    team: Team,
    index: int,
    pools: Mapping[str, PoolPlan],
    quotas: Iterable[Quota],
) -> list[Finding]:
    """Refuse a queue whose pools have different profiles: it looks at quota alone."""
    pool_names = dict.fromkeys(q.pool for q in quotas if q.resource == MIG_SLICES)
    kinds = {name: frozenset(profiles(pools[name])) for name in pool_names}
    odd = [name for name, kind in kinds.items() if kind != kinds[next(iter(pool_names))]]
    if not odd:
        return []
    shown = [f"{name} has {', '.join(_units(pools[name]))}" for name in kinds]
    return [
        error(
            "slices.flavor",
            ("teams", index),
            f"the queue of {team.name} counts slices of pools that are cut differently ({'; '.join(shown)}):"
            " it sends a pod where quota is free, also where no node has its profile, and there it waits",
            value=format_list(pool_names),
            allowed="slices of pools with the same profiles, or mig_quota: profiles",
            fix=_one_kind(team, index, next(iter(pool_names)), odd),
        )
    ]


def _units(pool: PoolPlan) -> list[str]:
    return [a.unit for a in pool.advertised if a.resource in profiles(pool)]


def _one_kind(team: Team, index: int, first: str, odd: list[str]) -> Fix:
    """Not to borrow from the pools unlike the first, where only that makes them part of the queue."""
    if any(key.partition("/")[0] in odd for key in (*team.guarantee, *(team.lend or {}))):
        return Fix(
            message=f"give {team.name} slices of {first} or of {', '.join(odd)}, not of both"
        )
    retained = {key: n for key, n in team.borrow.items() if key.partition("/")[0] not in odd}
    message = f"do not borrow from {', '.join(odd)}"
    return Fix(message=message, at=("teams", index, "borrow"), value=retained)
