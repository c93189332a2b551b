"""Preemption for a place: who must go where quota is free or will be, and no domain of nodes has room.

As Kueue v0.19 does it: when a job that is to be placed has quota and no place (`flavorassigner.go`), it may
pre-empt as if it were short of what it asks for, as long as there would be room with nobody else there; jobs
go until quota and place are both found (`workloadFits` in `preemption.go`). Where an autoscaler is asked
first, places are looked for only after its answer, and nobody goes for one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpuyard.explain.placing import has_place
from gpuyard.plan.records import PoolPlan
from gpuyard.scheduler.desk import Desk, Running
from gpuyard.scheduler.flavors import Assignment, Mode
from gpuyard.scheduler.preemption import QuotaWish, targets
from gpuyard.scheduler.requests import PodSet
from gpuyard.spec.queueing import Preemption

MAX_JOBS = 200
"""Nodes are searched once for each job that might go, and for each that is spared: so many at most."""


@dataclass(frozen=True, slots=True)
class Made:
    """An assignment whose targets leave a place as well as quota."""

    found: Assignment
    wanting: bool = False
    """Whether there is no place, whoever goes that must."""
    never: bool = False
    """Whether there is none with nobody else there either."""
    unjudged: int = 0
    """So many jobs that nobody tried to evict."""


def _is_tied(pool: PoolPlan) -> bool:
    return pool.topology is not None and not pool.provisioning


def make_place(
    desk: Desk, team: str, pod_sets: tuple[PodSet, ...], priority: int, found: Assignment
) -> Made:
    """Choose whom to evict by place as well; the assignment stays as it is where no place is asked for."""
    plan = desk.plan
    homes = {i: (chosen[0] if chosen else None) for i, chosen in found.pools.items()}
    tied = {p for p in homes.values() if p is not None and _is_tied(plan.pool(p))}
    if not tied or plan.queueing.dispatch or found.mode in {Mode.NEVER, Mode.BLOCKED}:
        return Made(found)

    def place(gone: Sequence[Running]) -> bool:
        return has_place(desk.without(tuple(gone)), pod_sets, homes, tied=True)

    if found.mode is Mode.FIT and place(()):
        return Made(found)
    if not place([job for job in desk.jobs if job.team is not None]):
        return Made(replace(found, targets=[]), wanting=True, never=True)
    if plan.queueing.preemption is not Preemption.RECLAIM:
        return Made(found)
    near = [job for job in desk.jobs if any(key[0] in tied for key in job.uses)]
    if len(near) > MAX_JOBS:
        return Made(found, unjudged=len(near))
    short = {key for key in found.uses if key[0] in tied} | {key for key, _ in found.short}
    wish = QuotaWish(team, found.uses, priority, frozenset(short), place)
    chosen = targets(desk.quotas, desk.jobs, wish, fair=plan.queueing.fair_sharing)
    return Made(replace(found, targets=chosen), wanting=not chosen)
