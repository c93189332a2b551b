"""Quotas in use: what a team can have now, and at most, in a tree of cohorts (Kueue v0.19, resource_node.go).

Cohorts that hold capacity of nobody's lend all of it, so what they hold is the root's.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from gpuyard.plan.quotas.cohort_tree import CohortTree, Key, Limit
from gpuyard.plan.records import PlatformPlan, Quota

Uses = Mapping[Key, int]


@dataclass(eq=False, slots=True, kw_only=True)
class CohortNode(CohortTree):
    """A team's queue or a cohort: what it holds, how much of that is used, what passes to the one above."""

    name: str
    """The team's, or the cohort's object."""
    weight: float
    used: dict[Key, int] = field(default_factory=lambda: defaultdict(int))
    queues: list["CohortNode"] = field(default_factory=list["CohortNode"])
    cohorts: list["CohortNode"] = field(default_factory=list["CohortNode"])
    shown: str = ""
    """What the stack file calls a cohort."""

    def local_available(self, key: Key) -> int:
        """Of that, what is not used."""
        return max(0, self.not_lent(key) - self.used[key])

    def available(self, key: Key) -> int:
        """What it can have now without anybody else giving way; less than nothing when too much is used."""
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
        """Whether it has (or would have) more than it holds."""
        return self.used[key] + more > self.nominal[key]

    def use(self, key: Key, amount: int) -> None:
        """Use an amount; what it does not keep for itself is used of those above too."""
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
        """How far the furthest queue below is."""
        own = 1 if self.queues or self.cohorts else 0
        return max([own, *(1 + cohort.height() for cohort in self.cohorts)])


class Quotas:
    """The queues of all teams, with what each uses. It changes: who tries something takes it back."""

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
                shown=cohort.title,
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
        """What the team is guaranteed."""
        result = self._quota.get((team, key))
        return result.nominal if result else 0

    def limit(self, team: str, key: Key) -> int:
        """What it may have beyond that."""
        result = self._quota.get((team, key))
        return result.borrow if result else 0

    def max_usage(self, team: str, key: Key) -> int:
        """What it could have if nobody else had anything."""
        return self.queues[team].max_usage(key) if (team, key) in self._quota else 0

    def most_without_limit(self, team: str, key: Key) -> int:
        """The same without its own limit."""
        return self.queues[team].not_lent(key) + self._homes[team].max_usage(key)

    def limiting_cohort(self, team: str, key: Key) -> CohortNode | None:
        """The nearest of its cohorts whose limit keeps it from having more of what is there."""
        return next((cohort for cohort in self.queues[team].above if cohort.is_bound(key)), None)

    def full(self, team: str, key: Key) -> CohortNode:
        """The cohort in which somebody must return something: one whose limit is used up, else the root."""
        for cohort in self.queues[team].above:
            if cohort.parent is not None and cohort.available(key) < (
                cohort.local_available(key) + cohort.parent.available(key)
            ):
                return cohort
        return self.root

    def team_headroom(self, team: str, key: Key) -> int:
        """What its own limits leave it, whatever others do."""
        return self.nominal(team, key) + self.limit(team, key) - self.used[team][key]

    def cohort_headroom(self, team: str, key: Key) -> int:
        """What is left of its own and of everybody's, whatever its limits."""
        return self.queues[team].local_available(key) + self._homes[team].available(key)

    def available(self, team: str, key: Key) -> int:
        """What it can have now without anybody else giving way."""
        return max(0, self.queues[team].available(key)) if (team, key) in self._quota else 0

    def borrows(self, team: str, key: Key, more: int = 0) -> bool:
        """Whether it has (or would have) more than its guarantee."""
        return self.used[team][key] + more > self.nominal(team, key)

    def borrowing_distance(self, team: str, key: Key, amount: int) -> tuple[int, bool]:
        """How far away an amount comes from, 0: its guarantee; whether a part of the tree holds it."""
        queue = self.queues[team]
        if not queue.borrows(key, amount):
            return 0, True
        rest = amount - queue.local_available(key)
        for cohort in queue.above:
            if not cohort.borrows(key, rest):
                return cohort.height(), cohort.parent is not None
            rest -= cohort.local_available(key)
        return self.root.height(), False

    def take(self, team: str, uses: Uses, times: int = 1) -> None:
        """Count something as used; `times=-1` gives it back."""
        queue = self.queues[team]
        for key, amount in uses.items():
            if times > 0:
                queue.use(key, amount)
            else:
                queue.release(key, amount)

    def share(self, team: str) -> float:
        """How unfairly much a team borrows, in its own cohort."""
        return self.weighted_share(self.queues[team])

    def weighted_share(self, node: CohortNode) -> float:
        """How unfairly much it borrows: its largest part of a resource in its cohort, by its weight."""
        borrowed: dict[str, int] = defaultdict(int)
        for (pool, resource), amount in node.used.items():
            borrowed[resource] += max(0, amount - node.nominal.get((pool, resource), 0))
        lendable = self._of_cohort(node.parent or self.root)
        parts = [n * 1000.0 / lendable[r] for r, n in borrowed.items() if n and lendable.get(r)]
        return max(parts, default=0.0) / node.weight

    def _of_cohort(self, cohort: CohortNode) -> dict[str, int]:
        """What there is of each resource for those in a cohort; it never changes."""
        if cohort.name not in self._lendable:
            results: dict[str, int] = defaultdict(int)
            for key in tuple(self.root.nominal):
                results[key[1]] += cohort.max_usage(key)
            self._lendable[cohort.name] = results
        return self._lendable[cohort.name]


def is_borrowing(node: CohortNode) -> bool:
    """Whether it has more of anything than it holds."""
    return any(amount > node.nominal.get(key, 0) for key, amount in node.used.items())


def within(node: CohortNode, keys: frozenset[Key]) -> bool:
    """Whether it has no more of these than it holds."""
    return not any(node.borrows(key) for key in keys)
