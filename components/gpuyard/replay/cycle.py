"""One cycle of Kueue's scheduler: all queues' heads, the fairest first (Kueue v0.19, scheduler.go).

What each head needs is decided on the state before the cycle; it is admitted, or others are asked to give
way to it, on what those before it have left.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gpuyard.plan.records import TeamPlan
from gpuyard.replay.jobs import Arrival, Rank
from gpuyard.scheduler.desk import Desk, Running, take_all
from gpuyard.scheduler.flavors import Assignment, Mode, assign
from gpuyard.scheduler.quotas import Node, Quotas, Uses
from gpuyard.scheduler.rights import leavers
from gpuyard.spec.queueing import Preemption


@dataclass(frozen=True, slots=True)
class Head:
    """The first job of a queue, and what the queue would do with it."""

    team: TeamPlan
    job: Arrival
    found: Assignment
    place: int
    """Among all jobs, by when they were submitted."""
    far: int
    """How far away in the tree its quota comes from, before the cycle; 0 is its guarantee."""

    @property
    def rank(self) -> Rank:
        """Its turn, where nothing else decides."""
        return self.job.rank(self.place)


@dataclass(slots=True)
class Verdicts:
    """What a cycle decided."""

    admitted: list[Head] = field(default_factory=list[Head])
    evicting: list[tuple[Head, tuple[Running, ...]]] = field(
        default_factory=list[tuple[Head, tuple[Running, ...]]]
    )
    """Who waits for whom to give way."""
    beaten: list[Head] = field(default_factory=list[Head])
    """Another of this cycle took what it needed: it tries again at once."""
    hopeless: list[Head] = field(default_factory=list[Head])
    """Nothing that it can have now."""


def cycle(desk: Desk, heads: Iterable[tuple[TeamPlan, Arrival, int]]) -> Verdicts:
    """Decide on these heads. The quota of those admitted is taken; all else on the desk is as it was."""
    quotas = desk.quotas
    left = [_head(desk, *one) for one in heads]
    verdicts = Verdicts()
    leaving: list[Running] = []
    kept: list[tuple[str, Uses]] = []
    """Quota that is held back until the end of the cycle, for those who wait for others to leave."""
    while (head := _next(desk, left)) is not None:
        left.remove(head)
        targets = leavers(head.found.targets)
        if head.found.mode is not Mode.FIT and not targets:
            verdicts.hopeless.append(head)
            kept += _reserved(desk, head)
        elif {id(job) for job in targets} & {id(job) for job in leaving} or not _fits(
            quotas, head, (*leaving, *targets)
        ):
            verdicts.beaten.append(head)
        else:
            quotas.take(head.team.name, head.found.uses)
            leaving += targets
            if targets:
                kept.append((head.team.name, head.found.uses))
                verdicts.evicting.append((head, targets))
            else:
                verdicts.admitted.append(head)
    for team, uses in kept:
        quotas.take(team, uses, -1)
    return verdicts


def _head(desk: Desk, team: TeamPlan, job: Arrival, place: int) -> Head:
    found = assign(desk, team, (job.pod_set,), job.priority)
    far = (desk.quotas.distance(team.name, key, amount)[0] for key, amount in found.uses.items())
    return Head(team, job, found, place, max(far, default=0))


def _next(desk: Desk, left: Sequence[Head]) -> Head | None:
    """Whose turn it is. Without fair sharing: the nearest quota, priority, age."""
    if not desk.plan.queueing.fair_sharing:
        return min(left, key=lambda head: (head.far, *head.rank), default=None)
    stands = {head.team.name: _stand(desk.quotas, head) for head in left}
    return _fairest(desk.quotas.root, {head.team.name: head for head in left}, stands)


def _stand(quotas: Quotas, head: Head) -> dict[str, tuple[bool, float]]:
    """In each cohort above a head, its job counted: does its part of the tree borrow, how unfairly much."""
    found: dict[str, tuple[bool, float]] = {}
    uses = head.found.uses
    quotas.take(head.team.name, uses)
    node = quotas.queues[head.team.name]
    for cohort in node.above:
        borrows = any(node.borrows(key) for key in uses)
        found[cohort.name] = (borrows, quotas.unfairness(node))
        node = cohort
    quotas.take(head.team.name, uses, -1)
    return found


def _fairest(
    cohort: Node, heads: Mapping[str, Head], stands: Mapping[str, Mapping[str, tuple[bool, float]]]
) -> Head | None:
    """The winner of every cohort below stands against the queues here (fair_sharing_iterator.go)."""
    below = (_fairest(one, heads, stands) for one in cohort.cohorts)
    mine = (heads.get(queue.name) for queue in cohort.queues)
    return min(
        (head for head in (*below, *mine) if head is not None),
        key=lambda head: (*stands[head.team.name][cohort.name], *head.rank),
        default=None,
    )


def _fits(quotas: Quotas, head: Head, gone: Iterable[Running]) -> bool:
    """Whether there is enough once these are gone."""
    leaving = {id(job): job for job in gone}.values()
    take_all(quotas, leaving, -1)
    fits = all(n <= quotas.available(head.team.name, key) for key, n in head.found.uses.items())
    take_all(quotas, leaving)
    return fits


def _reserved(desk: Desk, head: Head) -> list[tuple[str, Uses]]:
    """Where nobody may be evicted, a job within its guarantee keeps what is free of it for the cycle."""
    quotas, team, uses = desk.quotas, head.team.name, head.found.uses
    entitled = all(
        n <= quotas.nominal(team, key) or quotas.distance(team, key, n)[1]
        for key, n in uses.items()
    )
    if (
        desk.plan.queueing.preemption is Preemption.RECLAIM
        or head.found.mode is Mode.NEVER
        or not entitled
    ):
        return []
    kept = {key: min(n, quotas.room_of_team(team, key)) for key, n in uses.items()}
    quotas.take(team, kept)
    return [(team, kept)]
