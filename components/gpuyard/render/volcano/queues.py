"""Volcano's queues: one for the platform, for each cohort and for each team.

A guarantee is what a queue deserves, guarantee and borrowing limit together are its capability, and what
a team does not lend is reserved for it. A resource that is in no list is not limited, so each queue
lists all GPU resources of the platform.
"""

from collections import Counter
from collections.abc import Iterable

from gpuyard.plan.queueing.volcano import uses_volcano
from gpuyard.plan.records import CohortPlan, PlatformPlan, Quota, TeamPlan
from gpuyard.render.objects import Object, managed_object
from gpuyard.spec.queueing import Preemption
from gpuyard_core.names import VOLCANO_GROUP

API = f"{VOLCANO_GROUP}/v1beta1"
ROOT = "root"
"""Volcano's own queue above all others."""
Amounts = Counter[str]
"""By resource, in all pools together."""


def volcano_queue_objects(plan: PlatformPlan) -> list[Object]:
    """Parents first: Volcano rejects a queue whose parent does not exist."""
    if not uses_volcano(plan.spec):
        return []
    tree = _Tree(plan)
    cohorts = [cohort for cohort in plan.queueing.cohorts if cohort.title or not cohort.parent]
    return [
        *(tree.cohort(each) for each in cohorts),
        *(tree.team(each) for each in plan.teams),
    ]


class _Tree:
    """The queues of a platform, with the amounts of their teams."""

    def __init__(self, plan: PlatformPlan) -> None:
        self._plan = plan
        self._resources = sorted({a.resource for p in plan.pools for a in p.counted_resources})
        self._capacity = _sums(plan.queueing.unassigned) + _sums(_all_quotas(plan.teams))
        self._capabilities: dict[str, Amounts] = {}
        """By queue: Volcano rejects one with more than its parent."""
        self._below: dict[str, Amounts] = {}
        self._kept: dict[str, Amounts] = {}
        parents = {cohort.name: cohort.parent for cohort in plan.queueing.cohorts}
        for team in plan.teams:
            name: str | None = team.cohort
            while name is not None:
                self._below.setdefault(name, Counter()).update(_sums(team.quotas))
                self._kept.setdefault(name, Counter()).update(_kept(team.quotas))
                name = parents.get(name)

    def cohort(self, cohort: CohortPlan) -> Object:
        """The queue of a cohort; that of the platform has all capacity."""
        deserved, kept = (
            self._below.get(cohort.name, Counter()),
            self._kept.get(cohort.name, Counter()),
        )
        if cohort.parent is None:
            return self._queue(cohort.name, ROOT, self._capacity, self._capacity, kept)
        borrow, lend = Amounts(), Amounts()
        for limit in cohort.limits:
            borrow[limit.resource] += self._room(
                limit.borrow, deserved[limit.resource], limit.resource
            )
            lend[limit.resource] += limit.lend or 0
        if any(limit.lend is not None for limit in cohort.limits):
            kept = kept | (deserved - lend)
        capability = deserved + borrow if cohort.limits else self._capacity
        return self._queue(cohort.name, cohort.parent, deserved, capability, kept)

    def _room(self, limit: int | None, deserved: int, resource: str) -> int:
        return self._capacity[resource] - deserved if limit is None else limit

    def team(self, team: TeamPlan) -> Object:
        """The queue of a team; only queues without children run jobs."""
        deserved = _sums(team.quotas)
        capability = deserved + _sums(team.quotas, borrowed=True)
        kept = _kept(team.quotas)
        return self._queue(team.cluster_queue, team.cohort, deserved, capability, kept)

    def _queue(
        self, name: str, parent: str, deserved: Amounts, capability: Amounts, kept: Amounts
    ) -> Object:
        capability &= self._capabilities.get(parent, self._capacity)
        self._capabilities[name] = capability
        spec: Object = {
            "parent": parent,
            "reclaimable": self._plan.queueing.preemption is Preemption.RECLAIM,
            "deserved": self._amounts(deserved),
            "capability": self._amounts(capability),
        }
        if any(kept.values()):
            spec["guarantee"] = {"resource": {r: str(kept[r]) for r in self._resources if kept[r]}}
        return managed_object(self._plan.name, API, "Queue", name, spec=spec)

    def _amounts(self, amounts: Amounts) -> dict[str, str]:
        return {resource: str(amounts[resource]) for resource in self._resources}


def _all_quotas(teams: Iterable[TeamPlan]) -> Iterable[Quota]:
    return (quota for team in teams for quota in team.quotas)


def _sums(quotas: Iterable[Quota], *, borrowed: bool = False) -> Amounts:
    """What queues are guaranteed, or may borrow, in all pools."""
    amounts: Amounts = Counter()
    for quota in quotas:
        amounts[quota.resource] += quota.borrow if borrowed else quota.nominal
    return amounts


def _kept(quotas: Iterable[Quota]) -> Amounts:
    """The part of a guarantee that a team does not lend."""
    amounts: Amounts = Counter()
    for quota in quotas:
        if quota.lend is not None:
            amounts[quota.resource] += quota.nominal - quota.lend
    return amounts
