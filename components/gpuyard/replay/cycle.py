"""One cycle of Kueue's scheduler: all queues' heads, the fairest first (Kueue v0.19, scheduler.go).

What each head needs is decided on the state before the cycle; it is admitted, or others are asked to give
way to it, on what those before it have left.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from gpuyard.plan.explain.flavors import Assignment, Mode, assign
from gpuyard.plan.explain.quota import Quotas, Uses
from gpuyard.plan.explain.running import Desk, Running
from gpuyard.plan.records import TeamPlan
from gpuyard.replay.jobs import Arrival


@dataclass(frozen=True, slots=True)
class Head:
    """The first job of a queue, and what the queue would do with it."""

    team: TeamPlan
    job: Arrival
    found: Assignment
    place: int
    """Among all jobs, by when they were submitted."""
    borrows: bool
    """Whether it would have more than its guarantee, before the cycle."""


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
    while left:
        head = min(left, key=lambda one: _turn(desk, one))
        left.remove(head)
        targets = tuple(job for job, _ in head.found.targets)
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
    return Head(team, job, found, place, _borrowing(desk.quotas, team, found.uses))


def _borrowing(quotas: Quotas, team: TeamPlan, uses: Uses) -> bool:
    return any(quotas.borrows(team.name, key, amount) for key, amount in uses.items())


def _turn(desk: Desk, head: Head) -> tuple[bool, float, int, int, int]:
    """Who is smallest goes first: no borrowing, the smallest share with the job counted, priority, age.

    Shares change within a cycle; without fair sharing there are none, and borrowing is what it was before it.
    """
    job = head.job
    age = (-job.priority, int(job.at), head.place)
    if not desk.plan.queueing.fair_sharing:
        return head.borrows, 0.0, *age
    quotas, team, uses = desk.quotas, head.team, head.found.uses
    borrows = _borrowing(quotas, team, uses)
    quotas.take(team.name, uses)
    share = quotas.share(team.name)
    quotas.take(team.name, uses, -1)
    return borrows, share, *age


def _fits(quotas: Quotas, head: Head, gone: Iterable[Running]) -> bool:
    """Whether there is enough once these are gone."""
    leaving = {id(job): job for job in gone}.values()
    for job in leaving:
        quotas.take(str(job.team), job.uses, -1)
    fits = all(n <= quotas.available(head.team.name, key) for key, n in head.found.uses.items())
    for job in leaving:
        quotas.take(str(job.team), job.uses)
    return fits


def _reserved(desk: Desk, head: Head) -> list[tuple[str, Uses]]:
    """Where nobody may be evicted, a job within its guarantee keeps what is free of it for the cycle."""
    quotas, team, uses = desk.quotas, head.team.name, head.found.uses
    entitled = all(n <= quotas.nominal(team, key) for key, n in uses.items())
    if desk.plan.queueing.preemption == "reclaim" or head.found.mode is Mode.NEVER or not entitled:
        return []
    kept = {key: min(n, quotas.room_of_team(team, key)) for key, n in uses.items()}
    quotas.take(team, kept)
    return [(team, kept)]
