"""Whether a team can have what a shape needs at once: pools that hold it are not enough, a quota must too.

A gang's pods get one flavor, so its whole demand must fit one team's quota in one pool.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpuyard.findings import Finding, Fix, error, info
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import Advertised, PoolPlan, Quota, ShapePlan
from gpuyard.plan.shapes.shapes import candidate_pools, shape_plan
from gpuyard.plan.sharing.compute_slices import in_quota
from gpuyard.spec.platform import PlatformSpec, Shape
from gpuyard.spec.queueing import Preemption


@dataclass(frozen=True, slots=True)
class _Chance:
    """What one team can have of a resource in a pool, beside what the shape needs there."""

    team: int
    pool: PoolPlan
    offer: Advertised
    quota: Quota
    per_node: int
    need: int

    @property
    def missing(self) -> int:
        return self.need - self.quota.nominal - self.quota.borrow


QuotaHolders = Mapping[tuple[str, str], Sequence[tuple[int, Quota]]]
"""Teams with their quota, by pool and resource: a thousand of them are looked through once."""


def with_quota(
    draft: Draft, index: int, plan: ShapePlan, holders: QuotaHolders
) -> tuple[ShapePlan | None, list[Finding]]:
    """A shape in the first pool in which a team can start it, with those who can; None where none can.

    Without teams there are no queues, and nothing to judge.
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
    """Who has any quota of what."""
    holders: dict[tuple[str, str], list[tuple[int, Quota]]] = defaultdict(list)
    for team, mine in quotas.items():
        for quota in mine:
            holders[quota.pool, quota.resource].append((team, quota))
    return holders


def _chances(
    shape: Shape, pools: Mapping[str, PoolPlan | None], holders: QuotaHolders
) -> Iterator[list[_Chance]]:
    """Pool by pool, the best first; in each what every team could have."""
    allowed_pools = [p for name, p in pools.items() if p is not None and shape.pool in {None, name}]
    per_node = shape.gpus_per_node or 1
    for pool, offer in candidate_pools(shape, allowed_pools):
        resource, each = in_quota(pool, offer.resource)
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


def _only_borrowed(spec: PlatformSpec, index: int, plan: ShapePlan) -> Finding:
    need = plan.per_node * plan.nodes
    consequence = (
        "which is taken back when it is claimed"
        if spec.queueing.preemption is Preemption.RECLAIM
        else "so it waits until others are idle"
    )
    return info(
        "shape.borrows",
        ("shapes", index),
        f"no guarantee in {plan.pool} holds {need} {plan.resource}:"
        f" {', '.join(plan.teams)} can start it only with borrowed capacity, {consequence}",
        value=f"{need} {plan.resource}",
    )


def _no_quota(draft: Draft, index: int, plan: ShapePlan, chances: Sequence[_Chance]) -> Finding:
    usable = [c for c in chances if c.quota.nominal or c.quota.borrow]
    best = min(usable, key=lambda c: c.missing, default=None)
    if best is None:
        need, resource, pool = plan.per_node * plan.nodes, plan.resource, plan.pool
        most, who = 0, "no team has any of it, guaranteed or to borrow"
    else:
        need, resource, pool = best.need, best.quota.resource, best.pool.name
        most = best.quota.nominal + best.quota.borrow
        who = (
            f"{draft.spec.teams[best.team].name} can have most, {best.quota.nominal} guaranteed"
            f" and {best.quota.borrow} borrowed"
        )
    return error(
        "shape.no_quota",
        ("shapes", index),
        f"needs {need} {resource} of {pool} at once, which no team can have: {who}",
        value=f"{need} {resource}",
        allowed=f"at most {most} {resource}",
        fix=_nearest(draft, index, best)
        or Fix(message=f"guarantee {need} {resource} of {pool} to a team, or let one borrow them"),
    )


def _nearest(draft: Draft, index: int, best: _Chance | None) -> Fix | None:
    """Let the team that lacks least borrow the rest, else make the gang as small as that team can have."""
    if best is None:
        return None
    team, key = draft.spec.teams[best.team], best.pool.key(best.quota.resource)
    if best.missing <= draft.room_to_borrow(best.team, best.quota):
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
