"""Flavor assignment: the pool that a queue assigns to pods.

As Kueue v0.19 does it (flavorassigner.go) with the rendered queues: a pool with a free guarantee
ends the search; a pool in which the queue must borrow ends it too, if pools are tried in order. If
only preemption helps, the search continues, and the best result is used; borrowing is better than
preempting.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from gpuyard.plan.queueing.kueue import WITHOUT_QUOTA
from gpuyard.plan.queueing.queueing import pool_choice
from gpuyard.plan.quotas.cohorts import Key
from gpuyard.plan.records import PlatformPlan, ResourceGroup, TeamPlan
from gpuyard.spec.queueing import PoolChoice, Preemption
from gpuyard_advisor.scheduler.model import SchedulerModel, take_usage
from gpuyard_advisor.scheduler.preemption import QuotaRequest, preemption_targets
from gpuyard_advisor.scheduler.preemption_rules import PreemptionTargets, target_jobs
from gpuyard_advisor.scheduler.requests import PodSet, group_pod_sets
from gpuyard_advisor.scheduler.selectors import flavor_accepts, untolerated
from gpuyard_advisor.scheduler.topology import topology_mismatch
from gpuyard_core.manifests.pods import Taint
from gpuyard_core.manifests.quantities import format_amount
from gpuyard_core.names import MIG_SLICES, STOP_TAINT

SearchKey = tuple[int, int]
"""The first of the pod sets that share a flavor, and a resource group of the queue."""
STOPPED = "it is stopped: no new job starts in it"


class AssignmentMode(IntEnum):
    """Result for one flavor, from worst to best."""

    NEVER = 0
    """More than the queue's maximum even if all others were idle, or an unsuitable node."""
    BLOCKED = 1
    """Kueue's NoFit: others use it, and preemption is not allowed."""
    NO_CANDIDATES = 2
    """Preemption is allowed, but there is no candidate."""
    PREEMPT = 3
    RECLAIM = 4
    FIT = 5


@dataclass(frozen=True, slots=True)
class ConsideredPool:
    """One pool, whether the job fits, and why."""

    pool: str
    is_chosen: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Assignment:
    """The queue's decision about a job."""

    mode: AssignmentMode
    pools: Mapping[int, tuple[str, ...]]
    """By pod set: the pools of its resources; two pools cannot both be satisfied."""
    uses: Mapping[Key, int]
    reasons: tuple[ConsideredPool, ...]
    targets: PreemptionTargets
    unknown: str = ""
    """A resource that no pool of this queue provides."""
    shortfall: tuple[tuple[Key, int], ...] = ()
    """The missing quota in the best pool."""
    attempts: Mapping[SearchKey, int] = field(default_factory=dict[SearchKey, int])
    """Number of flavors tried, if others are left: the search continues there if these nodes have
    no capacity.
    """


def requests_with_quota(requests: Mapping[str, int]) -> dict[str, int]:
    """The requests with quota; CPU, memory and similar resources have none."""
    return {r: n for r, n in requests.items() if n and not r.startswith(WITHOUT_QUOTA)}


def is_stopped(plan: PlatformPlan, pool: str, pods: PodSet) -> bool:
    """Whether a stop policy keeps these pods from a pool: a taint of its flavor that the pods do not tolerate."""
    stop_taint = Taint(STOP_TAINT, plan.pool(pool).stop_policy)
    return bool(stop_taint.value) and untolerated((stop_taint,), pods.tolerations) is not None


def requests_in_quota_units(plan: PlatformPlan, requests: Mapping[str, int]) -> dict[str, int]:
    """The requests in units of quotas: compute slices, if Kueue counts MIG profiles in them."""
    results: dict[str, int] = defaultdict(int)
    for resource, amount in requests_with_quota(requests).items():
        slices = plan.queueing.slices_of.get(resource)
        results[MIG_SLICES if slices else resource] += amount * (slices or 1)
    return dict(results)


@dataclass(slots=True)
class _Search:
    desk: SchedulerModel
    team: TeamPlan
    priority: int
    used: dict[Key, int]
    """Quota of previous pod sets."""
    reasons: list[ConsideredPool]
    tried: dict[SearchKey, int]
    """By search: the number of flavors that were tried before and are skipped."""
    known: dict[tuple[tuple[tuple[Key, int], ...], frozenset[Key]], PreemptionTargets] = field(
        default_factory=dict[tuple[tuple[tuple[Key, int], ...], frozenset[Key]], PreemptionTargets]
    )
    """Jobs to evict, by the quota that a request uses and the resources that it lacks."""

    def targets(self, uses: Mapping[Key, int], short_of: frozenset[Key]) -> PreemptionTargets:
        """The jobs to evict for this quota."""
        key = (tuple(sorted(uses.items())), short_of)
        if key not in self.known:
            wish = QuotaRequest(self.team.name, uses, self.priority, short_of)
            fair = self.desk.plan.queueing.fair_sharing
            self.known[key] = preemption_targets(self.desk.quotas, self.desk.jobs, wish, fair=fair)
        return self.known[key]

    def group(
        self, place: SearchKey, pod_sets: Sequence[PodSet], amounts: Mapping[str, int]
    ) -> tuple[AssignmentMode, str, dict[Key, int]]:
        """The best flavor of a resource group for pods that share one."""
        flavors = self.team.resource_groups[place[1]].flavors
        by_order = pool_choice(self.desk.plan, self.team) is PoolChoice.ORDER
        best: tuple[AssignmentMode, int, str, dict[Key, int]] = (AssignmentMode.NEVER, 0, "", {})
        begin = self.tried.pop(place, 0)
        for position, flavor in enumerate(flavors[begin:], begin + 1):
            pool = next(p.name for p in self.desk.plan.pools if p.flavor == flavor)
            mode, nearness, why = self._try(pool, pod_sets, amounts)
            self.reasons.append(ConsideredPool(pool, mode is AssignmentMode.FIT, why))
            ends = mode is AssignmentMode.FIT and (by_order or nearness == 0)
            if ends or (mode, nearness) > best[:2]:
                best = (mode, nearness, pool, {(pool, r): n for r, n in amounts.items()})
            if ends:
                if position < len(flavors):
                    self.tried[place] = position
                break
        return best[0], best[2], best[3]

    def _try(
        self, pool: str, pod_sets: Sequence[PodSet], amounts: Mapping[str, int]
    ) -> tuple[AssignmentMode, int, str]:
        flavor = next(
            f for f in self.desk.plan.queueing.flavors if f.name == self.desk.plan.pool(pool).flavor
        )
        for pods in pod_sets:
            if not flavor_accepts(flavor.node_labels, pods.selector, pods.terms):
                return (
                    AssignmentMode.NEVER,
                    0,
                    ("the node selector or affinity of the job selects other nodes"),
                )
            if why := self._misplaced(pool, pods):
                return AssignmentMode.NEVER, 0, why
        results = [self._quota(pool, r, n) for r, n in amounts.items()]
        mode, nearness, why = min(results, key=lambda result: result[:2])
        stopped = any(is_stopped(self.desk.plan, pool, pods) for pods in pod_sets)
        if mode is not AssignmentMode.NEVER and stopped:
            return AssignmentMode.BLOCKED, nearness, STOPPED
        return mode, nearness, why

    def _misplaced(self, pool: str, pods: PodSet) -> str:
        """Why the flavor's topology rejects such pods, or ""."""
        topology = self.desk.plan.pool(pool).topology
        levels = topology.levels if topology else None
        everywhere = all_pools_have_topology(self.desk.plan, self.team)
        return topology_mismatch(pods.topology_request, levels, everywhere=everywhere)

    def _quota(self, pool: str, resource: str, amount: int) -> tuple[AssignmentMode, int, str]:
        """How the queue can get this amount: result, distance from its guarantee, and the message."""
        quotas, team, key = self.desk.quotas, self.team.name, (pool, resource)
        total = amount + self.used[key]
        most, now = quotas.max_usage(team, key), quotas.available(team, key)
        shown = format_amount(resource, total)
        if total > most:
            return AssignmentMode.NEVER, *self._too_much(key, total)
        far, in_part = quotas.find_lowest_fitting_subtree(team, key, total)
        if total <= now:
            own = not quotas.borrows(team, key, total)
            how = "within its guarantee" if own else "partly borrowed"
            return AssignmentMode.FIT, -far, f"{shown} of {now:,} free, {how}"
        waits = f"{shown} requested, {max(now, 0):,} free now, maximum {most:,}"
        reclaims = self.desk.plan.queueing.preemption is Preemption.RECLAIM
        if not reclaims:
            return AssignmentMode.BLOCKED, -far, f"{waits}; preemption is off here"
        fair = self.desk.plan.queueing.fair_sharing
        if not (quotas.nominal(team, key) >= total or in_part or fair):
            return AssignmentMode.BLOCKED, -far, f"{waits}; it would borrow, which preempts no job"
        result = self.targets({key: total}, frozenset({key}))
        if not result:
            return (
                AssignmentMode.NO_CANDIDATES,
                -far,
                f"{waits}; no job there can be preempted for it",
            )
        preempted = target_jobs(result)
        take_usage(quotas, preempted, -1)
        far, _ = quotas.find_lowest_fitting_subtree(team, key, total)
        take_usage(quotas, preempted)
        own_jobs = any(job.team == team for job in preempted)
        return (
            AssignmentMode.PREEMPT if own_jobs else AssignmentMode.RECLAIM,
            -far,
            f"{waits}; other jobs are preempted",
        )

    def _too_much(self, key: Key, total: int) -> tuple[int, str]:
        """Why the amount never fits, as a message; a pool that has the resource ranks higher."""
        quotas, team, resource = self.desk.quotas, self.team.name, key[1]
        pool = self.desk.plan.pool(key[0])
        if not any(a.resource == resource for a in pool.counted_resources):
            return (
                0,
                f"its nodes have no {resource}, only {', '.join(a.resource for a in pool.advertised)}",
            )
        return 1, (
            f"{format_amount(resource, total)} requested, the maximum of team {team} is "
            f"{quotas.max_usage(team, key):,} (guaranteed {quotas.nominal(team, key):,}, may "
            f"borrow {quotas.borrowing_limit(team, key):,})"
        )


def all_pools_have_topology(plan: PlatformPlan, team: TeamPlan) -> bool:
    """Whether all pools of a queue have a topology: then Kueue also places jobs without a topology request."""
    mine = {flavor for group in team.resource_groups for flavor in group.flavors}
    return bool(mine) and mine <= {p.flavor for p in plan.pools if p.topology}


def assign(
    desk: SchedulerModel,
    team: TeamPlan,
    pod_sets: tuple[PodSet, ...],
    priority: int,
    tried: Mapping[SearchKey, int] | None = None,
) -> Assignment:
    """Find a pool for every pod set with the current usage; `tried` are flavors without capacity on nodes."""
    search = _Search(desk, team, priority, defaultdict(int), [], dict(tried or {}))
    modes: list[AssignmentMode] = []
    pools: dict[int, tuple[str, ...]] = {}
    short: list[tuple[Key, int]] = []
    for members in group_pod_sets(pod_sets):
        own = {i: requests_in_quota_units(desk.plan, pod_sets[i].requests) for i in members}
        totals: Counter[str] = Counter()
        for index, requests in own.items():
            totals.update({r: n * pod_sets[index].count for r, n in requests.items()})
        unknown = [
            r for r in totals if not any(r in group.resources for group in team.resource_groups)
        ]
        if unknown:
            return Assignment(AssignmentMode.NEVER, {}, {}, tuple(search.reasons), [], unknown[0])
        results: list[tuple[str, ResourceGroup]] = []
        for position, group in enumerate(team.resource_groups):
            some = {r: n for r, n in totals.items() if r in group.resources}
            if not some:
                continue
            mode, pool, uses = search.group(
                (members[0], position), [pod_sets[i] for i in members], some
            )
            modes.append(mode)
            results += [(pool, group)] if pool else []
            for key, amount in uses.items():
                search.used[key] += amount
                if search.used[key] > desk.quotas.available(team.name, key):
                    short.append((key, search.used[key]))
        for index, requests in own.items():
            pools[index] = tuple(
                pool for pool, g in results if not requests or requests.keys() & set(g.resources)
            )
    uses = {key: n for key, n in search.used.items() if n}
    mode = min(modes, default=AssignmentMode.FIT)
    chosen: PreemptionTargets = []
    if mode in {AssignmentMode.NO_CANDIDATES, AssignmentMode.PREEMPT, AssignmentMode.RECLAIM}:
        chosen = search.targets(uses, frozenset(key for key, _ in short))
    reasons = tuple(dict.fromkeys(search.reasons))
    return Assignment(mode, pools, uses, reasons, chosen, "", tuple(short), search.tried)
