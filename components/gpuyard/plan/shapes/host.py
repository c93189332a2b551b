"""What a shape's pods ask for beside GPUs, and teams whose own limits do not hold it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpuyard.findings import Finding, Fix, error, warning
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import HostAmount, ShapePlan
from gpuyard.spec.platform import PlatformSpec, Shape

UNSPECIFIED = HostAmount(cpu=1, memory_gib=2)
"""What a container gets that names nothing, because where CPU is counted every pod must name some: a core
to feed a GPU, and memory that many sidecars together still find on the smallest GPU node (16 GiB)."""


@dataclass(frozen=True, slots=True)
class HostNeed:
    """What a shape takes beside GPUs, at least."""

    pods: int
    each: HostAmount

    @property
    def amount(self) -> HostAmount:
        """CPU and memory of all its pods."""
        return HostAmount(self.pods * self.each.cpu, self.pods * self.each.memory_gib)

    def by_word(self) -> dict[str, int]:
        """In the words of the stack file."""
        return {"cpu": self.amount.cpu, "memory_gib": self.amount.memory_gib, "pods": self.pods}


def host_need(shape: Shape) -> HostNeed:
    """A shape of whole GPUs says nothing of CPU; each of its pods has at least what it need not say."""
    pod = shape.per_pod
    return HostNeed(shape.nodes, HostAmount(pod.cpu, pod.memory_gib) if pod else UNSPECIFIED)


def planned_shapes(draft: Draft) -> Iterator[tuple[Shape, ShapePlan]]:
    """Every shape that can start, as it was asked for and as it is planned."""
    by_name = {shape.name: shape for shape in draft.spec.shapes}
    return ((by_name[plan.name], plan) for plan in draft.shapes)


ConfiguredLimits = Mapping[str, Mapping[str, int]]
"""By team what the stack file itself says of its limits, in its words."""


def configured_limits(spec: PlatformSpec) -> ConfiguredLimits:
    """The limits that are written, not those that follow from quotas."""
    return {team.name: team.limits.model_dump(exclude_none=True) for team in spec.teams}


def _lacking(need: Mapping[str, int], limits: Mapping[str, int]) -> dict[str, int]:
    """What is needed of each word in which a team's limits are too small."""
    return {word: amount for word, amount in need.items() if amount > limits.get(word, amount)}


def within_limits(
    shape: Shape, plan: ShapePlan, limits_by_team: ConfiguredLimits
) -> tuple[ShapePlan, tuple[str, ...]]:
    """A shape with the teams whose limits hold it, and those whose limits do not."""
    need = host_need(shape).by_word()
    short = tuple(name for name in plan.teams if _lacking(need, limits_by_team[name]))
    if not short:
        return plan, ()
    removed = frozenset(short)
    teams = tuple(t for t in plan.teams if t not in removed)
    return replace(
        plan, teams=teams, guaranteed=tuple(t for t in plan.guaranteed if t not in removed)
    ), short


def check_own_limits(draft: Draft) -> list[Finding]:
    """Teams whose own limits keep them from a shape; refused where nobody else can start it."""
    limits_by_team = configured_limits(draft.spec)
    lacking: dict[str, dict[str, int]] = {}
    kept_from: dict[str, list[str]] = {}
    alone: set[str] = set()
    for shape, plan in planned_shapes(draft):
        need, short = host_need(shape).by_word(), draft.blocked_teams.get(plan.name, ())
        for name in short:
            kept_from.setdefault(name, []).append(plan.name)
            mine = lacking.setdefault(name, {})
            for word, amount in _lacking(need, limits_by_team[name]).items():
                mine[word] = max(amount, mine.get(word, 0))
        if short and not plan.teams:
            alone.add(short[0])
    positions = {team.name: index for index, team in enumerate(draft.spec.teams)}
    return [
        _too_small(
            "team.limits",
            draft.spec,
            positions[name],
            (kept_from[name], need),
            nobody=name in alone,
        )
        for name, need in lacking.items()
    ]


def _too_small(
    kind: str,
    spec: PlatformSpec,
    index: int,
    lacks: tuple[Sequence[str], Mapping[str, int]],
    *,
    nobody: bool,
) -> Finding:
    shapes, need = lacks
    team, path = spec.teams[index], ("teams", index, "limits")
    limits = team.limits.model_dump(exclude_none=True)
    needed = ", ".join(f"{word}: {amount}" for word, amount in need.items())
    value = ", ".join(f"{word}: {limits[word]}" for word in need)
    words = "shape" if len(shapes) == 1 else "shapes"
    rest = " and no other team can start it" if nobody else ""
    return (error if nobody else warning)(
        kind,
        path,
        f"{team.name} has the GPUs for {words} {', '.join(shapes)}, but its limits do not hold what its pods"
        f" ask for beside them: Kubernetes would never make all of them{rest}",
        value=value,
        allowed=f"at least {needed}",
        fix=Fix(message=f"write {needed}", at=path, value={**limits, **need}),
    )
