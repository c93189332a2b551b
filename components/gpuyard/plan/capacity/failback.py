"""Failback: running work moves to a preferred capacity option that has nodes again.

The autoscaler moves it, a node and its pods at a time: Karpenter to cheaper nodes, GKE to an
earlier rule of the pool's ComputeClass. Neither knows about gangs (docs/decisions/0069).
"""

from collections.abc import Iterator, Mapping

from gpuyard.plan.capacity.scaling import scales_by_karpenter
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import PoolPlan, ShapePlan
from gpuyard.provider import provider_of
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import Pool, Scaling
from gpuyard_core.catalogue.gke.classes import STAYS
from gpuyard_core.catalogue.kubernetes.karpenter import IMAGE_FAMILY, NOT_MOVED
from gpuyard_core.catalogue.machines import Capacity
from gpuyard_core.findings import Diagnostic, Fix, Path, error, warning

_DEARER: Mapping[Capacity, int] = {
    Capacity.RESERVED: 0,
    Capacity.BLOCK: 0,
    Capacity.SPOT: 1,
    Capacity.ON_DEMAND: 2,
}
"""As Karpenter compares prices: prepaid nodes cost nothing."""


def failback_target(spec: PlatformSpec, pool: Pool, place: int) -> tuple[str, ...]:
    """The options to which work on this option moves, best first; empty where it stays."""
    if not pool.failback:
        return ()
    before, option = pool.capacity[:place], pool.capacity[place]
    if provider_of(spec.cloud).compute_class(spec, pool):
        # each machine of an option has its own rule
        first = pool.machines[:1] if len(pool.machines) > 1 else ()
        return (*dict.fromkeys(each.mode.value for each in before), *first)
    if not _by_karpenter(spec, pool):
        return ()
    cheaper = [each.mode for each in before if _DEARER[each.mode] < _DEARER[option.mode]]
    return tuple(dict.fromkeys(mode.value for mode in cheaper))


def _by_karpenter(spec: PlatformSpec, pool: Pool) -> bool:
    sold = all(option.mode in _DEARER for option in pool.capacity)
    return sold and scales_by_karpenter(spec, pool)


def has_failback(pool: PoolPlan) -> bool:
    """Whether any work in the pool is moved."""
    return any(option.failback for option in pool.capacity_options)


def check_failback(draft: Draft) -> Iterator[Diagnostic]:
    """Check that an autoscaler moves work to a preferred option, and that no gang is affected."""
    for index, pool in enumerate(draft.spec.pools):
        planned = draft.pools.get(pool.name)
        if not pool.failback or planned is None:
            continue
        path: Path = ("pools", index, "failback")
        if has_failback(planned):
            yield from _gangs(draft, planned, path)
        else:
            yield _for_nothing(draft, pool, planned, path)


# ── no effect ─────────────────────────────────────────────────────────────────────────────────────
def _for_nothing(draft: Draft, pool: Pool, planned: PoolPlan, path: Path) -> Diagnostic:
    if draft.provider.compute_class(draft.spec, pool) or _by_karpenter(draft.spec, pool):
        why = (
            "the pool has one capacity option: there is no preferred one to return to"
            if len(pool.capacity) == 1
            else "Karpenter moves to cheaper nodes only, and no capacity option costs more than an earlier one"
        )
        return warning(
            "moves.ladder",
            path,
            f"{why}; the field has no effect",
            given=", then ".join(option.mode.value for option in pool.capacity),
            allowed="capacity options such as reserved, then spot, then on-demand",
            fix=_without(path),
        )
    why, fix = "its autoscaler does not move running pods", _without(path)
    if draft.provider.needs_autoscaler and planned.scaling is Scaling.AUTOSCALER:
        why = "Cluster Autoscaler adds nodes and removes empty ones, but moves no pods between node groups"
        if _may_be_karpenters(draft, pool, planned):
            at, karpenter = (*path[:-1], "scaling"), Scaling.KARPENTER.value
            fix = Fix(message="write scaling: karpenter", at=at, value=karpenter)
    return warning(
        "moves.scaling",
        path,
        f"{why}: pods on a less preferred capacity option stay there",
        given=f"scaling: {planned.scaling.value}",
        allowed="scaling: karpenter on aws; on gcp, a range of nodes without queued provisioning",
        fix=fix,
    )


def _may_be_karpenters(draft: Draft, pool: Pool, planned: PoolPlan) -> bool:
    """Whether failback would then work, and the rest of the pool would be valid."""
    spec, software = draft.spec, planned.node_software
    is_excluded = spec.cluster_exists or spec.queueing.clusters
    counted = planned.sharing.is_counted_as_whole_gpu and planned.machine.gpu_fraction == 1
    image = software is not None and software.variant.startswith(IMAGE_FAMILY)
    then = pool.model_copy(update={"scaling": Scaling.KARPENTER})
    moved = any(failback_target(spec, then, place) for place in range(len(pool.capacity)))
    alone = not (is_excluded or planned.dra or pool.provisioning or _gangs_of(draft, planned))
    return alone and counted and image and moved


def _without(path: Path) -> Fix:
    return Fix(message="remove `failback`", at=path)


# ── gangs ─────────────────────────────────────────────────────────────────────────────────────────
def _gangs_of(draft: Draft, pool: PoolPlan) -> list[ShapePlan]:
    return [shape for shape in draft.shapes if shape.pool == pool.name and shape.nodes > 1]


def _gangs(draft: Draft, pool: PoolPlan, path: Path) -> Iterator[Diagnostic]:
    """Moving one node stops the whole job: an error where a guarantee covers the job."""
    gangs = _gangs_of(draft, pool)
    if gang := next((each for each in gangs if each.guaranteed or not draft.spec.teams), None):
        yield error(
            "moves.gangs",
            path,
            f"shape {gang.name} needs {gang.nodes} nodes, which move one by one: each time a preferred"
            " capacity option has a node again, the whole job stops and restarts from its last checkpoint",
            given=", ".join(pool.capacity),
            allowed="failback in a separate pool, for single-node jobs and services",
            fix=_without(path),
        )
    elif why := _may_be_gangs(draft, pool, gangs):
        stays = f'{STAYS}: "false"' if pool.compute_class else f'{NOT_MOVED}: "true"'
        yield warning(
            "moves.jobs",
            path,
            f"{why}: a multi-node job stops and is requeued each time one of its nodes moves",
            given=", ".join(pool.capacity),
            allowed=f"single-node shapes only; pods that must not move have the annotation {stays}",
            fix=_without(path),
        )


def _may_be_gangs(draft: Draft, pool: PoolPlan, gangs: list[ShapePlan]) -> str:
    """Gangs that only borrow, and teams that could run gangs where no shape describes the jobs."""
    if gangs:
        return f"shape {gangs[0].name} needs {gangs[0].nodes} nodes, and may borrow them here"
    if any(shape.pool == pool.name for shape in draft.shapes):
        return ""
    node = {each.resource: each.per_node for each in pool.advertised}
    large = [
        draft.spec.teams[index].name
        for index, quotas in sorted(draft.quotas.items())
        for quota in quotas
        if quota.pool == pool.name and quota.nominal > node.get(quota.resource, quota.nominal)
    ]
    problem = "is guaranteed more than one node, and no shape describes the jobs in this pool"
    return f"{large[0]} {problem}" if large else ""
