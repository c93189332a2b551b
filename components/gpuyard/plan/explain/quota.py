"""Quotas in use: what a team can have now, and at most (Kueue v0.19, resource_node.go).

One cohort holds every team's queue; cohorts below it only hold capacity that is nobody's, all of it lent.
"""

from collections import defaultdict
from collections.abc import Mapping

from gpuyard.plan.records import PlatformPlan, Quota, TeamPlan

Key = tuple[str, str]
"""A pool and a resource."""
Uses = Mapping[Key, int]


class Quotas:
    """The queues of all teams, with what each uses. It changes: who tries something takes it back."""

    def __init__(self, plan: PlatformPlan) -> None:
        self._quota: dict[tuple[str, Key], Quota] = {}
        self.weight = {team.name: team.weight for team in plan.teams}
        self.used: dict[str, dict[Key, int]] = {t.name: defaultdict(int) for t in plan.teams}
        self.whole: dict[Key, int] = defaultdict(int)
        """What the cohort holds: nobody's, and what teams lend."""
        self._taken: dict[Key, int] = defaultdict(int)
        for quota in plan.queueing.unassigned:
            self.whole[quota.pool, quota.resource] += quota.nominal
        for team in plan.teams:
            self._add(team)

    def _add(self, team: TeamPlan) -> None:
        for quota in team.quotas:
            key = (quota.pool, quota.resource)
            self._quota[team.name, key] = quota
            self.whole[key] += quota.nominal - self.kept(team.name, key)

    def nominal(self, team: str, key: Key) -> int:
        """What the team is guaranteed."""
        found = self._quota.get((team, key))
        return found.nominal if found else 0

    def limit(self, team: str, key: Key) -> int:
        """What it may have beyond that."""
        found = self._quota.get((team, key))
        return found.borrow if found else 0

    def kept(self, team: str, key: Key) -> int:
        """Of its guarantee, what it does not lend."""
        found = self._quota.get((team, key))
        return 0 if found is None or found.lend is None else max(0, found.nominal - found.lend)

    def most(self, team: str, key: Key) -> int:
        """What it could have if nobody else had anything."""
        own = self.nominal(team, key) + self.limit(team, key)
        return min(own, self.kept(team, key) + self.whole[key])

    def room_of_team(self, team: str, key: Key) -> int:
        """What its own limits leave it, whatever others do."""
        return self.nominal(team, key) + self.limit(team, key) - self.used[team][key]

    def room_of_cohort(self, team: str, key: Key) -> int:
        """What is left of its own and of everybody's, whatever its limits."""
        kept_free = max(0, self.kept(team, key) - self.used[team][key])
        return kept_free + self.whole[key] - self._taken[key]

    def available(self, team: str, key: Key) -> int:
        """What it can have now without anybody else giving way."""
        return min(self.room_of_team(team, key), self.room_of_cohort(team, key))

    def borrows(self, team: str, key: Key, more: int = 0) -> bool:
        """Whether it has (or would have) more than its guarantee."""
        return self.used[team][key] + more > self.nominal(team, key)

    def take(self, team: str, uses: Uses, times: int = 1) -> None:
        """Count something as used; `times=-1` gives it back."""
        for key, amount in uses.items():
            kept = self.kept(team, key)
            before = max(0, self.used[team][key] - kept)
            self.used[team][key] += amount * times
            self._taken[key] += max(0, self.used[team][key] - kept) - before

    def share(self, team: str) -> float:
        """How unfairly much it borrows: its largest part of a resource in the cohort, by its weight."""
        borrowed: dict[str, int] = defaultdict(int)
        for (pool, resource), amount in self.used[team].items():
            borrowed[resource] += max(0, amount - self.nominal(team, (pool, resource)))
        lendable: dict[str, int] = defaultdict(int)
        for (_, resource), amount in self.whole.items():
            lendable[resource] += amount
        parts = [n / lendable[r] for r, n in borrowed.items() if n and lendable[r]]
        return max(parts, default=0.0) / self.weight[team]

    def is_borrowing(self, team: str) -> bool:
        """Whether it has more of anything than it is guaranteed."""
        return any(self.borrows(team, key) for key in tuple(self.used[team]))
