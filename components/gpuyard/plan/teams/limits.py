"""Limits of a team beside GPUs: CPU, memory, storage, pods.

Queues count GPUs only (docs/decisions/0008). The rest is bounded by the namespace's own quota: what the
nodes hold that the team's GPUs fill, and a little for pods without GPUs, unless the stack file says less.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil

from gpuyard.findings import Finding, Fix, refuse, warn
from gpuyard.plan.quotas.entries import per_node
from gpuyard.plan.records import HostAmount, LimitsPlan, PoolPlan, Quota, ShapePlan
from gpuyard.spec.platform import PlatformSpec, Shape
from gpuyard.spec.teams import Team

ASIDE = HostAmount(cpu=8, memory_gib=32)
"""For pods without GPUs: a launcher, a notebook, a dashboard. Without it a team whose GPUs are all in use
could not start any of them."""
UNSAID = HostAmount(cpu=1, memory_gib=2)
"""What a container gets that names nothing, because where CPU is counted every pod must name some: a core
to feed a GPU, and memory that many sidecars together still find on the smallest GPU node (16 GiB)."""

TeamLimits = Mapping[int, LimitsPlan]
"""By team index."""
TeamQuotas = Mapping[int, Sequence[Quota]]


def plan_limits(
    spec: PlatformSpec,
    pools: Mapping[str, PoolPlan],
    quotas: TeamQuotas,
    shapes: Sequence[ShapePlan],
) -> TeamLimits:
    """Of every team: what the stack file says, else enough for its GPUs and for each of its shapes."""
    largest = HostAmount(
        max((p.machine.vcpus for p in pools.values()), default=0),
        max((p.machine.memory_gib for p in pools.values()), default=0),
    )
    wanted: dict[str, list[HostAmount]] = {team.name: [] for team in spec.teams}
    for shape, plan in _placed(spec, shapes):
        for name in plan.teams:
            wanted[name].append(_need(shape).amount)
    return {
        index: _limits(team, pools, quotas.get(index, ()), wanted[team.name], largest)
        for index, team in enumerate(spec.teams)
    }


def _limits(
    team: Team,
    pools: Mapping[str, PoolPlan],
    quotas: Sequence[Quota],
    shapes: Sequence[HostAmount],
    largest: HostAmount,
) -> LimitsPlan:
    filled = _filled(pools, quotas)
    said = team.limits
    cpu = said.cpu or ASIDE.cpu + max([filled.cpu, *(s.cpu for s in shapes)])
    memory = said.memory_gib or ASIDE.memory_gib + max(
        [filled.memory_gib, *(s.memory_gib for s in shapes)]
    )
    most = HostAmount(min(cpu, largest.cpu or cpu), min(memory, largest.memory_gib or memory))
    return LimitsPlan(
        cpu=cpu,
        memory_gib=memory,
        storage_gib=said.storage_gib,
        claims=said.claims,
        pods=said.pods,
        container=most,
        unsaid=HostAmount(min(UNSAID.cpu, most.cpu), min(UNSAID.memory_gib, most.memory_gib)),
        said=tuple(sorted(said.model_dump(exclude_none=True))),
    )


def _filled(pools: Mapping[str, PoolPlan], quotas: Sequence[Quota]) -> HostAmount:
    """The room of whole nodes: as many of each pool as its scarcest resource needs."""
    nodes: dict[str, int] = {}
    for quota in quotas:
        each = per_node(pools[quota.pool], quota.resource)
        need = ceil((quota.nominal + quota.borrow) / each)
        nodes[quota.pool] = max(need, nodes.get(quota.pool, 0))
    return HostAmount(
        sum(count * pools[name].room.cpu for name, count in nodes.items()),
        sum(count * pools[name].room.memory_gib for name, count in nodes.items()),
    )


@dataclass(frozen=True, slots=True)
class _Need:
    """What a shape takes beside GPUs, at least."""

    pods: int
    each: HostAmount

    @property
    def amount(self) -> HostAmount:
        return HostAmount(self.pods * self.each.cpu, self.pods * self.each.memory_gib)

    def by_word(self) -> dict[str, int]:
        """In the words of the stack file."""
        return {"cpu": self.amount.cpu, "memory_gib": self.amount.memory_gib, "pods": self.pods}


def _need(shape: Shape) -> _Need:
    """A shape of whole GPUs says nothing of CPU; each of its pods has at least what it need not say."""
    pod = shape.per_pod
    return _Need(shape.nodes, HostAmount(pod.cpu, pod.memory_gib) if pod else UNSAID)


def _placed(spec: PlatformSpec, shapes: Sequence[ShapePlan]) -> Iterator[tuple[Shape, ShapePlan]]:
    by_name = {shape.name: shape for shape in spec.shapes}
    return ((by_name[plan.name], plan) for plan in shapes)


@dataclass(frozen=True, slots=True)
class _Lacking:
    """Shapes that the limits of a team keep it from, and the limits that would do for all of them."""

    shapes: list[str] = field(default_factory=list[str])
    need: dict[str, int] = field(default_factory=dict[str, int])
    """By the word of the stack file."""


def fit_limits(
    spec: PlatformSpec, shapes: Sequence[ShapePlan]
) -> tuple[list[ShapePlan], list[Finding]]:
    """Take from each shape the teams whose own limits are too small for it, and say so."""
    said = {team.name: team.limits.model_dump(exclude_none=True) for team in spec.teams}
    lacking: dict[str, _Lacking] = {}
    alone: set[str] = set()
    fitted: list[ShapePlan] = []
    for shape, plan in _placed(spec, shapes):
        need = _need(shape).by_word()
        short = [t for t in plan.teams if any(n > said[t].get(w, n) for w, n in need.items())]
        for name in short:
            mine = lacking.setdefault(name, _Lacking())
            mine.shapes.append(plan.name)
            for word, amount in need.items():
                if amount > said[name].get(word, amount):
                    mine.need[word] = max(amount, mine.need.get(word, 0))
        if short and len(short) == len(plan.teams):
            alone.add(short[0])
        fitted.append(_without(plan, short) if short else plan)
    positions = {team.name: index for index, team in enumerate(spec.teams)}
    return fitted, [
        _too_small("team.limits", spec, positions[name], lacks, nobody=name in alone)
        for name, lacks in lacking.items()
    ]


def _without(plan: ShapePlan, short: Sequence[str]) -> ShapePlan:
    gone = frozenset(short)
    return replace(
        plan,
        teams=tuple(t for t in plan.teams if t not in gone),
        guaranteed=tuple(t for t in plan.guaranteed if t not in gone),
    )


def _too_small(
    kind: str,
    spec: PlatformSpec,
    index: int,
    lacks: _Lacking,
    *,
    nobody: bool,
) -> Finding:
    shapes, need = lacks.shapes, lacks.need
    team, path = spec.teams[index], ("teams", index, "limits")
    limits = team.limits.model_dump(exclude_none=True)
    wanted = ", ".join(f"{word}: {amount}" for word, amount in need.items())
    given = ", ".join(f"{word}: {limits[word]}" for word in need)
    words = "shape" if len(shapes) == 1 else "shapes"
    rest = " and no other team can start it" if nobody else ""
    return (refuse if nobody else warn)(
        kind,
        path,
        f"{team.name} has the GPUs for {words} {', '.join(shapes)}, but its limits do not hold what its pods"
        f" ask for beside them: Kubernetes would never make all of them{rest}",
        given=given,
        allowed=f"at least {wanted}",
        fix=Fix(says=f"write {wanted}", at=path, value={**limits, **need}),
    )
