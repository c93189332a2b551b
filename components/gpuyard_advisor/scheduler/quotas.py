"""Quota usage: available and maximum quota of a team in a tree of cohorts (Kueue v0.19, resource_node.go).

Unassigned capacity of a cohort is lent completely, so it belongs to the root.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from gpuyard.plan.quotas.cohorts import CohortQuotaNode, Key, Limit
from gpuyard.plan.records import PlatformPlan, Quota

Uses = Mapping[Key, int]


@dataclass(eq=False, slots=True, kw_only=True)
class CohortNode(CohortQuotaNode):
    """A team's queue or a cohort: its quota, its usage, and what it passes to its parent."""

    name: str
    """Name of the team or of the cohort object."""
    weight: float
    used: dict[Key, int] = field(default_factory=lambda: defaultdict(int))
    queues: list["CohortNode"] = field(default_factory=list["CohortNode"])
    cohorts: list["CohortNode"] = field(default_factory=list["CohortNode"])
    stack_file_name: str = ""
    """Name of the cohort in the stack file."""

    def local_available(self, key: Key) -> int:
        """Unused quota that is not lent to the parent."""
        return max(0, self.not_lent(key) - self.used[key])

    def available(self, key: Key) -> int:
        """Quota available without preemption; negative if usage exceeds it."""
        if self.parent is None:
            return self.nominal[key] - self.used[key]
        above = self.parent.available(key)
        borrow = self.borrow[key]
        if borrow is not None:
            not_lent = self.not_lent(key)
            lent_free = self.nominal[key] - not_lent - max(0, self.used[key] - not_lent)
            above = min(above, lent_free + borrow)
        return self.local_available(key) + above

    def borrows(self, key: Key, more: int = 0) -> bool:
        """Whether usage exceeds (or would exceed) its own quota."""
        return self.used[key] + more > self.nominal[key]

    def use(self, key: Key, amount: int) -> None:
        """Add usage; the part beyond its local quota is also added to the parents."""
        beyond = amount - self.local_available(key)
        self.used[key] += amount
        if self.parent is not None and beyond > 0:
            self.parent.use(key, beyond)

    def release(self, key: Key, amount: int) -> None:
        """The opposite."""
        beyond = self.used[key] - self.not_lent(key)
        self.used[key] -= amount
        if self.parent is not None and beyond > 0:
            self.parent.release(key, min(amount, beyond))

    def height(self) -> int:
        """Distance to the furthest queue below."""
        own = 1 if self.queues or self.cohorts else 0
        return max([own, *(1 + cohort.height() for cohort in self.cohorts)])


class Quotas:
    """Queues of all teams and their usage. It is mutable: what-if changes must be reverted."""

    def __init__(self, plan: PlatformPlan) -> None:
        self._quota: dict[tuple[str, Key], Quota] = {}
        self._lendable: dict[str, dict[str, int]] = {}
        self._cohorts: dict[str, CohortNode] = {}
        self.root = self._tree(plan)
        self.queues: dict[str, CohortNode] = {}
        self._homes = {team.name: self._cohorts[team.cohort] for team in plan.teams}
        for team in plan.teams:
            home = self._homes[team.name]
            queue = CohortNode(
                name=team.name,
                parent=home,
                weight=team.weight,
                borrow=Limit({(q.pool, q.resource): q.borrow for q in team.quotas}),
                lend=Limit({(q.pool, q.resource): q.lend for q in team.quotas}),
            )
            home.queues.append(queue)
            self.queues[team.name] = queue
            for quota in team.quotas:
                key = (quota.pool, quota.resource)
                self._quota[team.name, key] = quota
                queue.nominal[key] += quota.nominal
        self._fill(self.root)
        self.used = {name: queue.used for name, queue in self.queues.items()}

    def _tree(self, plan: PlatformPlan) -> CohortNode:
        first, *rest = plan.queueing.cohorts
        root = self._cohorts[first.name] = CohortNode(name=first.name, weight=first.weight)
        for quota in plan.queueing.unassigned:
            root.nominal[quota.pool, quota.resource] += quota.nominal
        for cohort in (c for c in rest if c.title):
            parent = self._cohorts[str(cohort.parent)]
            node = CohortNode(
                name=cohort.name,
                parent=parent,
                weight=cohort.weight,
                borrow=Limit({(m.pool, m.resource): m.borrow for m in cohort.limits}),
                lend=Limit({(m.pool, m.resource): m.lend for m in cohort.limits}),
                stack_file_name=cohort.title,
            )
            parent.cohorts.append(node)
            self._cohorts[cohort.name] = node
        return root

    def _fill(self, cohort: CohortNode) -> None:
        for below in cohort.cohorts:
            self._fill(below)
        for child in (*cohort.cohorts, *cohort.queues):
            child.propagate()

    def nominal(self, team: str, key: Key) -> int:
        """The team's guarantee."""
        result = self._quota.get((team, key))
        return result.nominal if result else 0

    def borrowing_limit(self, team: str, key: Key) -> int:
        """Its borrowing limit."""
        result = self._quota.get((team, key))
        return result.borrow if result else 0

    def max_usage(self, team: str, key: Key) -> int:
        """Its capacity if no other queue used any."""
        return self.queues[team].max_usage(key) if (team, key) in self._quota else 0

    def most_without_limit(self, team: str, key: Key) -> int:
        """The same without its own limit."""
        return self.queues[team].not_lent(key) + self._homes[team].max_usage(key)

    def limiting_cohort(self, team: str, key: Key) -> CohortNode | None:
        """The nearest cohort whose limit prevents the use of free quota."""
        return next(
            (
                cohort
                for cohort in self.queues[team].ancestors
                if cohort.is_limited_by_borrowing(key)
            ),
            None,
        )

    def cohort_to_reclaim_from(self, team: str, key: Key) -> CohortNode:
        """The cohort in which quota must be reclaimed: one with an exhausted limit, otherwise the root."""
        for cohort in self.queues[team].ancestors:
            if cohort.parent is not None and cohort.available(key) < (
                cohort.local_available(key) + cohort.parent.available(key)
            ):
                return cohort
        return self.root

    def team_headroom(self, team: str, key: Key) -> int:
        """Remaining quota by its own limits, independent of others."""
        return self.nominal(team, key) + self.borrowing_limit(team, key) - self.used[team][key]

    def cohort_headroom(self, team: str, key: Key) -> int:
        """Remaining quota of the team and the cohorts, independent of its limits."""
        return self.queues[team].local_available(key) + self._homes[team].available(key)

    def available(self, team: str, key: Key) -> int:
        """Quota available without preemption."""
        return max(0, self.queues[team].available(key)) if (team, key) in self._quota else 0

    def borrows(self, team: str, key: Key, more: int = 0) -> bool:
        """Whether usage exceeds (or would exceed) its guarantee."""
        return self.used[team][key] + more > self.nominal(team, key)

    def find_lowest_fitting_subtree(self, team: str, key: Key, amount: int) -> tuple[int, bool]:
        """Distance of the quota for an amount (0: its guarantee), and whether a part of the tree covers it."""
        queue = self.queues[team]
        if not queue.borrows(key, amount):
            return 0, True
        rest = amount - queue.local_available(key)
        for cohort in queue.ancestors:
            if not cohort.borrows(key, rest):
                return cohort.height(), cohort.parent is not None
            rest -= cohort.local_available(key)
        return self.root.height(), False

    def take(self, team: str, uses: Uses, times: int = 1) -> None:
        """Add usage; `times=-1` removes it."""
        queue = self.queues[team]
        for key, amount in uses.items():
            if times > 0:
                queue.use(key, amount)
            else:
                queue.release(key, amount)

    def share(self, team: str) -> float:
        """Fair sharing value of a team in its own cohort."""
        return self.dominant_resource_share(self.queues[team])

    def dominant_resource_share(self, node: CohortNode) -> float:
        """Fair sharing value: its largest borrowed portion of a resource in its cohort, divided by its weight."""
        borrowed: dict[str, int] = defaultdict(int)
        for (pool, resource), amount in node.used.items():
            borrowed[resource] += max(0, amount - node.nominal.get((pool, resource), 0))
        lendable = self._of_cohort(node.parent or self.root)
        parts = [n * 1000.0 / lendable[r] for r, n in borrowed.items() if n and lendable.get(r)]
        return max(parts, default=0.0) / node.weight

    def _of_cohort(self, cohort: CohortNode) -> dict[str, int]:
        """Total of each resource available to the members of a cohort; constant."""
        if cohort.name not in self._lendable:
            results: dict[str, int] = defaultdict(int)
            for key in tuple(self.root.nominal):
                results[key[1]] += cohort.max_usage(key)
            self._lendable[cohort.name] = results
        return self._lendable[cohort.name]


def is_borrowing(node: CohortNode) -> bool:
    """Whether usage of any resource exceeds its own quota."""
    return any(amount > node.nominal.get(key, 0) for key, amount in node.used.items())


def is_within_own_quota(node: CohortNode, keys: frozenset[Key]) -> bool:
    """Whether usage of these resources is within its own quota."""
    return not any(node.borrows(key) for key in keys)
