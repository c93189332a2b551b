"""Who must go for a job: Kueue's choice among what runs (Kueue v0.19, scheduler/preemption).

With `preemption: reclaim` queues carry `reclaimWithinCohort: Any` and `withinClusterQueue: LowerPriority`;
borrowing never pre-empts by priority. With fair sharing the unfairest queue gives first.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from gpuyard.plan.explain.quota import Key, Quotas, Uses
from gpuyard.plan.explain.running import Running

OWN = "the same queue has it, at a lower priority"
RECLAIM = "it borrows what the team is guaranteed"
FAIR = "its team borrows more, by weight"
Targets = list[tuple[Running, str]]


@dataclass(frozen=True, slots=True)
class Wish:
    """A job that needs quota others have."""

    team: str
    uses: Uses
    priority: int
    short_of: frozenset[Key]
    """Of these there is not enough now."""


def targets(quotas: Quotas, jobs: Collection[Running], wish: Wish, *, fair: bool) -> Targets:
    """The jobs to evict; none when evicting does not help, or must not be. Leaves the quotas as they were."""
    borrowers = {t for t in quotas.used if any(quotas.borrows(t, key) for key in wish.short_of)}
    others = borrowers - {wish.team}
    candidates = [
        j
        for j in jobs
        if (j.team in others or (j.team == wish.team and j.priority < wish.priority))
        and any(j.uses.get(key) for key in wish.short_of)
    ]
    candidates.sort(key=lambda j: (not j.leaving, j.team == wish.team, j.priority, -j.since))
    found = _fair(quotas, candidates, wish) if fair else _classical(quotas, candidates, wish)
    for job, _ in found:
        quotas.take(str(job.team), job.uses)
    return found


def _fits(quotas: Quotas, wish: Wish, *, borrowing: bool) -> bool:
    return all(
        amount <= quotas.available(wish.team, key)
        and (borrowing or not quotas.borrows(wish.team, key, amount))
        for key, amount in wish.uses.items()
    )


def _spared(quotas: Quotas, found: Targets, fits: Callable[[], bool]) -> Targets:
    """Give back, last chosen first, whoever need not go; the very last one must."""
    kept = list(found)
    for position in range(len(kept) - 2, -1, -1):
        job = kept[position][0]
        quotas.take(str(job.team), job.uses)
        if fits():
            kept[position] = kept[-1]
            kept.pop()
        else:
            quotas.take(str(job.team), job.uses, -1)
    return kept


def _classical(quotas: Quotas, candidates: list[Running], wish: Wish) -> Targets:
    entitled = not any(quotas.borrows(wish.team, key, n) for key, n in wish.uses.items())
    under = all(
        quotas.used[wish.team][key] < quotas.nominal(wish.team, key) for key in wish.short_of
    )
    others = any(j.team != wish.team for j in candidates)
    attempts = [True, False] if entitled else [False, True]
    if not others or not under:
        attempts = [True]
    for borrowing in attempts:
        found: Targets = []
        for job in candidates:
            borrows = any(quotas.borrows(str(job.team), key) for key in wish.short_of)
            if job.team != wish.team and not (borrows and (entitled or not borrowing)):
                continue  # only while that queue still borrows, and never in order to borrow oneself
            quotas.take(str(job.team), job.uses, -1)
            found.append((job, OWN if job.team == wish.team else RECLAIM))
            if _fits(quotas, wish, borrowing=borrowing):
                return _spared(quotas, found, partial(_fits, quotas, wish, borrowing=borrowing))
        for job, _ in found:
            quotas.take(str(job.team), job.uses)
    return []


def _fair(quotas: Quotas, candidates: list[Running], wish: Wish) -> Targets:
    """Shares are compared with the wish already counted."""
    quotas.take(wish.team, wish.uses)
    chosen = _FairChoice(quotas, candidates, wish)
    fits = chosen.first() or chosen.second()
    quotas.take(wish.team, wish.uses, -1)
    if not fits:
        for job, _ in chosen.found:
            quotas.take(str(job.team), job.uses)
        return []
    return _spared(quotas, chosen.found, partial(_fits, quotas, wish, borrowing=True))


class _FairChoice:
    """The two rounds of fair pre-emption, each going to the queue with the largest share first."""

    def __init__(self, quotas: Quotas, candidates: list[Running], wish: Wish) -> None:
        self.quotas = quotas
        self.wish = wish
        self.found: Targets = []
        self._queues = _by_team(candidates)
        self._again: list[Running] = []

    def first(self) -> bool:
        """Take jobs while the wisher's share stays at or below what the other is left with."""
        quotas, wish = self.quotas, self.wish
        entitled = not any(quotas.borrows(wish.team, key) for key in wish.short_of)
        while team := self._unfairest():
            queue = self._queues[team]
            if team == wish.team or entitled:
                if self._evict(queue.pop(0), OWN if team == wish.team else RECLAIM):
                    return True
                continue
            mine = quotas.share(wish.team)
            if mine > quotas.share(team):  # which no job that goes makes larger
                self._again += queue
                queue.clear()
            while queue:
                job = queue.pop(0)
                quotas.take(team, job.uses, -1)
                left = quotas.share(team)
                quotas.take(team, job.uses)
                if mine <= left:
                    if self._evict(job, FAIR):
                        return True
                    break
                self._again.append(job)
        return False

    def second(self) -> bool:
        """Once a queue: take a job when the wisher's share is below what the other has now."""
        self._queues = _by_team(self._again)
        while team := self._unfairest():
            job = self._queues.pop(team)[0]
            if self.quotas.share(self.wish.team) < self.quotas.share(team) and self._evict(
                job, FAIR
            ):
                return True
        return False

    def _unfairest(self) -> str | None:
        """The queue to take from next: of those that borrow, and the wisher's own, the largest share."""
        best: str | None = None
        for team, queue in list(self._queues.items()):
            if not queue or (team != self.wish.team and not self.quotas.is_borrowing(team)):
                del self._queues[team]
            elif best is None or self._before(team, best):
                best = team
        return best

    def _before(self, team: str, other: str) -> bool:
        here, there = self.quotas.share(team), self.quotas.share(other)
        return here > there or (here == there and self._rank(team) < self._rank(other))

    def _rank(self, team: str) -> tuple[bool, int, int]:
        job = self._queues[team][0]
        return (team == self.wish.team, job.priority, -job.since)

    def _evict(self, job: Running, why: str) -> bool:
        """Take its quota; whether the wish fits now, its own use aside."""
        quotas, wish = self.quotas, self.wish
        quotas.take(str(job.team), job.uses, -1)
        self.found.append((job, why))
        quotas.take(wish.team, wish.uses, -1)
        fits = _fits(quotas, wish, borrowing=True)
        quotas.take(wish.team, wish.uses)
        return fits


def _by_team(candidates: list[Running]) -> dict[str, list[Running]]:
    queues: dict[str, list[Running]] = {}
    for job in candidates:
        queues.setdefault(str(job.team), []).append(job)
    return queues
