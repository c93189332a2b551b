"""Preemption: which running jobs Kueue evicts for a job (Kueue v0.19, scheduler/preemption).

With `preemption: reclaim` queues have `reclaimWithinCohort: Any` and `withinClusterQueue:
LowerPriority`; a borrowing job never preempts by priority. With fair sharing, the queue with the
highest share is preempted first.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

from gpuyard.plan.quotas.cohorts import Key
from gpuyard_advisor.scheduler.fair_preemption import FairChoice
from gpuyard_advisor.scheduler.model import RunningJob, take_usage
from gpuyard_advisor.scheduler.preemption_rules import (
    RECLAIM,
    WITHIN_QUEUE,
    PreemptionTargets,
    target_jobs,
)
from gpuyard_advisor.scheduler.quotas import CohortNode, Quotas, Uses, is_within_own_quota


@dataclass(frozen=True, slots=True)
class QuotaRequest:
    """A job that needs quota that others use."""

    team: str
    uses: Uses
    priority: int
    short_of: frozenset[Key]
    """Resources whose free quota or node capacity is insufficient."""
    place: Callable[[Sequence[RunningJob]], bool] | None = None
    """Whether nodes have capacity for it without these jobs; None if its queue does not check."""


def preemption_targets(
    quotas: Quotas, jobs: Collection[RunningJob], wish: QuotaRequest, *, fair: bool
) -> PreemptionTargets:
    """The jobs to evict; empty if eviction does not help or is not allowed. The quotas are unchanged."""
    borrowers = {t for t in quotas.used if any(quotas.borrows(t, key) for key in wish.short_of)}
    other_borrowers = borrowers - {wish.team}
    candidates = [
        j
        for j in jobs
        if (j.team in other_borrowers or (j.team == wish.team and j.priority < wish.priority))
        and any(j.uses.get(key) for key in wish.short_of)
    ]
    candidates.sort(key=lambda j: (not j.is_terminating, j.team == wish.team, j.priority, -j.since))
    result = _fair(quotas, candidates, wish) if fair else _classical(quotas, candidates, wish)
    take_usage(quotas, target_jobs(result))
    return result


def _fits(
    quotas: Quotas, wish: QuotaRequest, preempted: PreemptionTargets, *, borrowing: bool
) -> bool:
    enough = all(
        amount <= quotas.available(wish.team, key)
        and (borrowing or not quotas.borrows(wish.team, key, amount))
        for key, amount in wish.uses.items()
    )
    return enough and (wish.place is None or wish.place(target_jobs(preempted)))


def _spared(
    quotas: Quotas, result: PreemptionTargets, fits: Callable[[PreemptionTargets], bool]
) -> PreemptionTargets:
    """Remove candidates that need not be evicted, the last chosen first; the very last one stays."""
    chosen = list(result)
    for position in range(len(chosen) - 2, -1, -1):
        job = chosen[position][0]
        quotas.take(str(job.team), job.uses)
        if fits([*chosen[:position], *chosen[position + 1 :]]):
            chosen[position] = chosen[-1]
            chosen.pop()
        else:
            quotas.take(str(job.team), job.uses, -1)
    return chosen


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A job and its relation to the preemptor in the tree; a job of the same queue is always a candidate."""

    job: RunningJob
    between: tuple[CohortNode, ...]
    """Its queue, and its cohorts below the lowest one that it shares with the preemptor."""
    entitled: bool
    """Whether a part of the tree with the preemptor, but without the job, has the requested quota."""

    def may_go(self, wish: QuotaRequest, *, borrowing: bool) -> bool:
        """Only while its part of the tree borrows; a preemptor that borrows must also be entitled."""
        if borrowing and not self.entitled:
            return False
        return not any(is_within_own_quota(node, wish.short_of) for node in self.between)


def _candidates(
    quotas: Quotas, jobs: Collection[RunningJob], wish: QuotaRequest
) -> list[_Candidate]:
    """Candidates over which the preemptor has an advantage first, each group in the order of jobs."""
    queue = quotas.queues[wish.team]
    entitled: dict[int, bool] = {}
    holds, rest = _holds(queue, wish.uses)
    for cohort in queue.ancestors:
        entitled[id(cohort)] = holds
        fits, rest = _holds(cohort, rest)
        holds = holds or fits
    results: list[_Candidate] = []
    ways: dict[str | None, tuple[tuple[CohortNode, ...], bool] | None] = {}
    for job in jobs:
        if job.team not in ways:
            theirs = quotas.queues[str(job.team)]
            way = (theirs, *theirs.ancestors)
            common = next(i for i, node in enumerate(way) if id(node) in entitled)
            safe = any(is_within_own_quota(node, wish.short_of) for node in way[:common])
            ways[job.team] = None if safe else (way[:common], entitled[id(way[common])])
        if (between := ways[job.team]) is not None:
            results.append(_Candidate(job, *between))
    return sorted(results, key=lambda candidate: not candidate.entitled)


def _holds(node: CohortNode, uses: Uses) -> tuple[bool, dict[Key, int]]:
    """Whether a node's own quota covers everything, and what its parent must provide."""
    rest = {key: max(0, amount - node.local_available(key)) for key, amount in uses.items()}
    return not any(node.borrows(key, amount) for key, amount in uses.items()), rest


def _classical(quotas: Quotas, jobs: list[RunningJob], wish: QuotaRequest) -> PreemptionTargets:
    candidates = _candidates(quotas, [j for j in jobs if j.team != wish.team], wish)
    own = [_Candidate(j, (), entitled=True) for j in jobs if j.team == wish.team]
    under = all(
        quotas.used[wish.team][key] < quotas.nominal(wish.team, key) for key in wish.short_of
    )
    attempts = [True, False] if any(c.entitled for c in candidates) else [False, True]
    if not candidates or not under:
        attempts = [True]
    for borrowing in attempts:
        fits = partial(_fits, quotas, wish, borrowing=borrowing)
        result: PreemptionTargets = []
        for candidate in sorted((*candidates, *own), key=lambda c: not c.job.is_terminating):
            if not candidate.may_go(wish, borrowing=borrowing):
                continue
            job = candidate.job
            result.append((job, WITHIN_QUEUE if job.team == wish.team else RECLAIM))
            quotas.take(str(job.team), job.uses, -1)
            if fits(result):
                return _spared(quotas, result, fits)
        take_usage(quotas, target_jobs(result))
    return []


def _fair(quotas: Quotas, candidates: list[RunningJob], wish: QuotaRequest) -> PreemptionTargets:
    """Shares are compared with the request already counted."""
    queue = quotas.queues[wish.team]
    quotas.take(wish.team, wish.uses)

    def fits(preempted: PreemptionTargets) -> bool:
        """Whether the request fits now, without its own usage."""
        quotas.take(wish.team, wish.uses, -1)
        result = _fits(quotas, wish, preempted, borrowing=True)
        quotas.take(wish.team, wish.uses)
        return result

    entitled = not any(quotas.borrows(wish.team, key) for key in wish.short_of)
    chosen = FairChoice(quotas, candidates, queue, fits, entitled=entitled)
    enough = chosen.run_first_round() or chosen.run_second_round()
    quotas.take(wish.team, wish.uses, -1)
    if not enough:
        take_usage(quotas, target_jobs(chosen.found))
        return []
    return _spared(quotas, chosen.found, partial(_fits, quotas, wish, borrowing=True))
