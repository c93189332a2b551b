"""What a shape's pods request besides GPUs, and teams whose own limits are too low for it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import CpuAndMemory, ShapePlan
from gpuyard.spec.platform import PlatformSpec, Shape
from gpuyard_core.findings import Diagnostic, Fix, error, warning

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


def check_own_limits(draft: Draft) -> list[Diagnostic]:
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
    return [
        _too_small(
            "team.limits",
            draft.spec,
            positions[name],
            (blocked[name], need),
            no_other=name in alone,
        )
        for name, need in lacking.items()
    ]


def _too_small(
    kind: str,
    spec: PlatformSpec,
    index: int,
    lacks: tuple[Sequence[str], Mapping[str, int]],
    *,
    no_other: bool,
) -> Diagnostic:
    shapes, need = lacks
    team, path = spec.teams[index], ("teams", index, "limits")
    limits = team.limits.model_dump(exclude_none=True)
    needed = ", ".join(f"{word}: {amount}" for word, amount in need.items())
    value = ", ".join(f"{word}: {limits[word]}" for word in need)
    words = "shape" if len(shapes) == 1 else "shapes"
    rest = ", and no other team can start it" if no_other else ""
    return (error if no_other else warning)(
        kind,
        path,
        f"{team.name} has the GPUs for {words} {', '.join(shapes)}, but its limits are too low for the pods'"
        f" other resources: Kubernetes would never create all pods{rest}",
        given=value,
        allowed=f"at least {needed}",
        fix=Fix(message=f"write {needed}", at=path, value={**limits, **need}),
    )
