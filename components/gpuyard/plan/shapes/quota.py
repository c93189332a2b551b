"""Whether a team can get what a shape needs at once: it must fit not only a pool, but also a quota.

A gang's pods get one flavor, so its whole demand must fit one team's quota in one pool.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import AdvertisedResource, CpuAndMemory, PoolPlan, Quota, ShapePlan
from gpuyard.plan.shapes.shapes import candidate_pools, plan_shape_start, shape_plan
from gpuyard.plan.sharing.compute_slices import quota_resource_and_amount
from gpuyard.spec.platform import PlatformSpec, Shape
from gpuyard.spec.queueing import Preemption
from gpuyard_core.findings import Diagnostic, Fix, Severity, error, info

UNSPECIFIED = CpuAndMemory(cpu=1, memory_gib=2)
"""Default requests of a container, because where CPU is counted every pod must request some: a core
to feed a GPU, and memory that leaves capacity for many sidecars on the smallest GPU node (16
GiB)."""


@dataclass(frozen=True, slots=True)
class HostNeed:
    """What a shape takes besides GPUs, at least."""

    pods: int
    each: CpuAndMemory

    @property
    def amount(self) -> CpuAndMemory:
        """CPU and memory of all its pods."""
        return CpuAndMemory(self.pods * self.each.cpu, self.pods * self.each.memory_gib)

    def by_limit_name(self) -> dict[str, int]:
        """By field of the stack file."""
        return {"cpu": self.amount.cpu, "memory_gib": self.amount.memory_gib, "pods": self.pods}


def host_need(shape: Shape) -> HostNeed:
    """A shape of whole GPUs names no CPU; each of its pods has the default requests."""
    pod = shape.per_pod
    return HostNeed(shape.nodes, CpuAndMemory(pod.cpu, pod.memory_gib) if pod else UNSPECIFIED)


def planned_shapes(draft: Draft) -> Iterator[tuple[Shape, ShapePlan]]:
    """Every shape that can start, as configured and as planned."""
    by_name = {shape.name: shape for shape in draft.spec.shapes}
    return ((by_name[plan.name], plan) for plan in draft.shapes)


ConfiguredLimits = Mapping[str, Mapping[str, int]]
"""By team and field, the limits in the stack file."""


def configured_limits(spec: PlatformSpec) -> ConfiguredLimits:
    """The limits in the stack file, not those that follow from quotas."""
    return {team.name: team.limits.model_dump(exclude_none=True) for team in spec.teams}


def _lacking(need: Mapping[str, int], limits: Mapping[str, int]) -> dict[str, int]:
    """What is needed of each resource for which a team's limits are too low."""
    return {word: amount for word, amount in need.items() if amount > limits.get(word, amount)}


def keep_teams_within_limits(
    shape: Shape, plan: ShapePlan, limits_by_team: ConfiguredLimits
) -> tuple[ShapePlan, tuple[str, ...]]:
    """A shape with the teams whose limits suffice, and those whose limits do not."""
    need = host_need(shape).by_limit_name()
    short = tuple(name for name in plan.teams if _lacking(need, limits_by_team[name]))
    if not short:
        return plan, ()
    removed = frozenset(short)
    teams = tuple(t for t in plan.teams if t not in removed)
    return replace(
        plan, teams=teams, guaranteed=tuple(t for t in plan.guaranteed if t not in removed)
    ), short


def check_own_limits(draft: Draft) -> Iterator[Diagnostic]:
    """Teams whose own limits block a shape; an error where no other team can start it."""
    limits_by_team = configured_limits(draft.spec)
    lacking: dict[str, dict[str, int]] = {}
    blocked: dict[str, list[str]] = {}
    alone: set[str] = set()
    for shape, plan in planned_shapes(draft):
        need, short = host_need(shape).by_limit_name(), draft.blocked_teams.get(plan.name, ())
        for name in short:
            blocked.setdefault(name, []).append(plan.name)
            mine = lacking.setdefault(name, {})
            for word, amount in _lacking(need, limits_by_team[name]).items():
                mine[word] = max(amount, mine.get(word, 0))
        if short and not plan.teams:
            alone.add(short[0])
    positions = {team.name: index for index, team in enumerate(draft.spec.teams)}
    for name, need in lacking.items():
        path, limits, shapes = (
            ("teams", positions[name], "limits"),
            limits_by_team[name],
            blocked[name],
        )
        needed = ", ".join(f"{word}: {amount}" for word, amount in need.items())
        rest = ", and no other team can start it" if name in alone else ""
        yield Diagnostic(
            "team.limits",
            path,
            f"{name} has the GPUs for shape{'s' if shapes[1:] else ''} {', '.join(shapes)}, but its limits are too"
            f" low for the pods' other resources: Kubernetes would never create all pods{rest}",
            severity=Severity.ERROR if name in alone else Severity.WARNING,
            given=", ".join(f"{word}: {limits[word]}" for word in need),
            allowed=f"at least {needed}",
            fix=Fix(message=f"write {needed}", at=path, value={**limits, **need}),
        )


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
            placed = replace(
                shape_plan(spec.shapes[index], able[0].pool, able[0].offer),
                teams=tuple(spec.teams[c.team].name for c in able),
                guaranteed=tuple(
                    spec.teams[c.team].name for c in able if c.quota.nominal >= c.need
                ),
            )
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


def decide_shapes(draft: Draft) -> tuple[Draft, list[Diagnostic]]:
    """Where each shape starts, and for which teams; one that cannot is dropped with a finding."""
    spec = draft.spec
    positions = {pool.name: i for i, pool in reversed(list(enumerate(spec.pools)))}
    holders, limits = quota_holders(draft.quotas), configured_limits(spec)
    results: list[ShapePlan] = []
    blocked: dict[str, tuple[str, ...]] = {}
    findings: list[Diagnostic] = []
    for index, shape in enumerate(spec.shapes):
        first, problem = plan_shape_start(shape, draft.pools, positions, ("shapes", index))
        findings += [problem] if problem else []
        if first is None:
            continue
        placed, problems = place_shape_with_quota(draft, index, first, holders)
        findings += problems
        if placed is None:
            continue
        plan, short = keep_teams_within_limits(shape, placed, limits)
        results.append(plan)
        if short:
            blocked[shape.name] = short
    return replace(draft, shapes=tuple(results), blocked_teams=blocked), findings
