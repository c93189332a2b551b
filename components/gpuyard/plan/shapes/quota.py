"""Whether a team can get what a shape needs at once: it must fit not only a pool, but also a quota.

A gang's pods get one flavor, so its whole demand must fit one team's quota in one pool.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import AdvertisedResource, PoolPlan, Quota, ShapePlan
from gpuyard.plan.shapes.shapes import candidate_pools, shape_plan
from gpuyard.plan.sharing.compute_slices import quota_resource_and_amount
from gpuyard.spec.platform import PlatformSpec, Shape
from gpuyard.spec.queueing import Preemption
from gpuyard_core.findings import Diagnostic, Fix, error, info


@dataclass(frozen=True, slots=True)
class _Chance:
    """What one team can get of a resource in a pool, and what the shape needs there."""

    team: int
    pool: PoolPlan
    offer: AdvertisedResource
    quota: Quota
    per_node: int
    need: int

    @property
    def missing(self) -> int:
        return self.need - self.quota.nominal - self.quota.borrow


QuotaHolders = Mapping[tuple[str, str], Sequence[tuple[int, Quota]]]
"""Teams with their quota, by pool and resource: a thousand teams are searched only once."""


def place_shape_with_quota(
    draft: Draft, index: int, plan: ShapePlan, holders: QuotaHolders
) -> tuple[ShapePlan | None, list[Diagnostic]]:
    """A shape in the first pool where teams can start it, with these teams; else None.

    Without teams there are no queues, and nothing to check.
    """
    spec = draft.spec
    if not spec.teams:
        return plan, []
    chances: list[_Chance] = []
    for here in _chances(spec.shapes[index], draft.pools, holders):
        chances += here
        if able := [c for c in here if c.missing <= 0]:
            placed = _placed(spec, spec.shapes[index], able)
            return placed, [] if placed.guaranteed else [_only_borrowed(spec, index, placed)]
    return None, [_no_quota(draft, index, plan, chances)] if draft.are_quotas_resolved else []


def quota_holders(quotas: Mapping[int, Sequence[Quota]]) -> QuotaHolders:
    """Teams with any quota, by pool and resource."""
    holders: dict[tuple[str, str], list[tuple[int, Quota]]] = defaultdict(list)
    for team, mine in quotas.items():
        for quota in mine:
            holders[quota.pool, quota.resource].append((team, quota))
    return holders


def _chances(
    shape: Shape, pools: Mapping[str, PoolPlan | None], holders: QuotaHolders
) -> Iterator[list[_Chance]]:
    """Pool by pool, the best first: what every team could get."""
    allowed_pools = [p for name, p in pools.items() if p is not None and shape.pool in {None, name}]
    per_node = shape.gpus_per_node or 1
    for pool, offer in candidate_pools(shape, allowed_pools):
        resource, each = quota_resource_and_amount(pool, offer.resource)
        need = per_node * each
        yield [
            _Chance(team, pool, offer, quota, need, need * shape.nodes)
            for team, quota in holders.get((pool.name, resource), ())
        ]


def _placed(spec: PlatformSpec, shape: Shape, able: Sequence[_Chance]) -> ShapePlan:
    return replace(
        shape_plan(shape, able[0].pool, able[0].offer),
        teams=tuple(spec.teams[c.team].name for c in able),
        guaranteed=tuple(spec.teams[c.team].name for c in able if c.quota.nominal >= c.need),
    )


def _only_borrowed(spec: PlatformSpec, index: int, plan: ShapePlan) -> Diagnostic:
    need = plan.per_node * plan.nodes
    consequence = (
        "which its owner may reclaim"
        if spec.queueing.preemption is Preemption.RECLAIM
        else "so it waits until other teams leave capacity idle"
    )
    return info(
        "shape.borrows",
        ("shapes", index),
        f"no guarantee in {plan.pool} covers {need} {plan.resource}:"
        f" {', '.join(plan.teams)} can start it only with borrowed capacity, {consequence}",
        given=f"{need} {plan.resource}",
    )


def _no_quota(draft: Draft, index: int, plan: ShapePlan, chances: Sequence[_Chance]) -> Diagnostic:
    usable = [c for c in chances if c.quota.nominal or c.quota.borrow]
    best = min(usable, key=lambda c: c.missing, default=None)
    if best is None:
        need, resource, pool = plan.per_node * plan.nodes, plan.resource, plan.pool
        most, who = 0, "no team has a guarantee or may borrow"
    else:
        need, resource, pool = best.need, best.quota.resource, best.pool.name
        most = best.quota.nominal + best.quota.borrow
        who = (
            f"{draft.spec.teams[best.team].name} can have the most, {best.quota.nominal} guaranteed"
            f" and {best.quota.borrow} borrowed"
        )
    return error(
        "shape.no_quota",
        ("shapes", index),
        f"the shape needs {need} {resource} of {pool} at once, which no team can get: {who}",
        given=f"{need} {resource}",
        allowed=f"at most {most} {resource}",
        fix=_nearest(draft, index, best)
        or Fix(message=f"guarantee {need} {resource} of {pool} to a team, or let one borrow them"),
    )


def _nearest(draft: Draft, index: int, best: _Chance | None) -> Fix | None:
    """Let the team that lacks least borrow the rest, else reduce the gang to what it can get."""
    if best is None:
        return None
    team, key = draft.spec.teams[best.team], best.pool.stack_file_key(best.quota.resource)
    if best.missing <= draft.borrowable_beyond_limit(best.team, best.quota):
        more = team.borrow.get(key, 0) + best.missing
        return Fix(
            message=f"let {team.name} borrow {key}: {more}",
            at=("teams", best.team, "borrow"),
            value=dict(team.borrow) | {key: more},
        )
    nodes = (best.quota.nominal + best.quota.borrow) // best.per_node
    if not nodes:
        return None
    return Fix(message=f"write nodes: {nodes}", at=("shapes", index, "nodes"), value=nodes)
