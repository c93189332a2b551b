"""Queues and quota: why a job is admitted, pending, or never admitted."""

from collections.abc import Sequence
from math import ceil

from gpuyard.plan.queueing import kueue
from gpuyard.plan.quotas.cohorts import Key
from gpuyard.plan.records import PlatformPlan, TeamPlan
from gpuyard_advisor.explain.messages import phrases
from gpuyard_advisor.scheduler.flavors import Assignment, AssignmentMode, ConsideredPool
from gpuyard_advisor.scheduler.model import SchedulerModel
from gpuyard_core import names
from gpuyard_core.manifests.quantities import format_amount


def no_queue(label: str, team: TeamPlan) -> str:
    """A queue label without a matching queue."""
    return (
        f"its label {names.QUEUE_LABEL} names the queue {label}, but team {team.name} has only"
        f" {phrases.join_with_and(team.queues)}: no queue ever admits it"
    )


def queue_label_missing(team: TeamPlan) -> str:
    """A job without a queue label, in a team without a default queue."""
    return (
        f"it has no label {names.QUEUE_LABEL}, and team {team.name} has no queue called"
        f" {names.LOCAL_QUEUE}, only {phrases.join_with_and(team.queues)}"
    )


def unknown_resource(plan: PlatformPlan, team: TeamPlan, resource: str) -> str:
    """A resource without quota for the team, or on no pool."""
    owners = [
        p.name for p in plan.pools if any(a.resource == resource for a in p.counted_resources)
    ]
    if owners:
        return f"{resource} is provided by {phrases.join_with_and(owners)}, where team {team.name} has no quota"
    if resource == names.GPU_CLAIM:
        return "it claims devices (DRA), and no pool offers GPUs by claim (sharing: dra)"
    return f"no pool advertises {resource}: a queue admits only resources that it has quota for"


def pools_without_resource(
    plan: PlatformPlan, team: TeamPlan, resource: str
) -> tuple[ConsideredPool, ...]:
    """Why each pool does not provide a resource."""
    results = []
    for pool in plan.pools:
        has = [a.resource for a in pool.counted_resources]
        why = (
            f"team {team.name} has no quota there"
            if resource in has
            else f"its nodes have {', '.join(has)}"
        )
        results.append(ConsideredPool(pool.name, is_chosen=False, reason=why))
    return tuple(results)


def resources_in_different_pools(pools: Sequence[str]) -> str:
    """A pod with resources of two pools."""
    return f"one pod requests resources of {phrases.join_with_and(pools)}, and a node belongs to one pool only"


def no_pool(result: Assignment) -> str:
    """A request above the maximum quota of the queue."""
    if len(result.reasons) == 1:
        return f"{result.reasons[0].pool}: {result.reasons[0].reason}"
    return f"none of {phrases.join_with_and(r.pool for r in result.reasons)} can ever admit it, even when empty"


def waits_for_quota(result: Assignment) -> str:
    """Quota that others use and that preemption does not free."""
    (pool, resource), total = result.shortfall[0]
    why = {
        AssignmentMode.BLOCKED: "and it may not preempt",
        AssignmentMode.NO_CANDIDATES: "and it may preempt none of the running jobs",
    }.get(result.mode, "and preemption would not free enough")
    verb = "is" if total == 1 else "are"
    return f"{format_amount(resource, total)} of {pool} {verb} not available, {why}"


def queue_is_stopped(plan: PlatformPlan, team: TeamPlan) -> str:
    """A stopped queue."""
    return f"its queue is stopped: {phrases.join_with_and(_stop_policies(plan, team))}"


def when_stop_policy_removed(plan: PlatformPlan, team: TeamPlan) -> tuple[str, ...]:
    """The stop policies to remove from the stack file."""
    stop_policies = _stop_policies(plan, team)
    return (
        f"when {phrases.join_with_and(stop_policies)} {'is' if len(stop_policies) == 1 else 'are'} removed",
    )


def _stop_policies(plan: PlatformPlan, team: TeamPlan) -> list[str]:
    """Stop policies with their paths: `teams[0].stop_policy: hold`."""
    result = (
        [f"queueing.stop_policy: {plan.queueing.stop_policy}"] if plan.queueing.stop_policy else []
    )
    own = next(one for one in plan.spec.teams if one.name == team.name)
    return (
        [*result, f"{phrases.team_path(plan, team)}.stop_policy: {own.stop_policy.value}"]
        if own.stop_policy
        else result
    )


def pool_stopped(pool: str) -> str:
    """A stopped pool."""
    return f"pool {pool} is stopped: no new job starts there"


def when_pool_stops_removed(plan: PlatformPlan, pools: Sequence[str]) -> tuple[str, ...]:
    """The same for pools."""
    at = [p.name for p in plan.pools]
    return tuple(
        f"when pools[{at.index(pool)}].stop_policy: hold is removed"
        for pool in dict.fromkeys(pools)
    )


def when_quota_is_released(
    desk: SchedulerModel, team: TeamPlan, result: Assignment
) -> tuple[str, ...]:
    """How much of which resource the teams must release."""
    conditions: list[str] = []
    for key, total in result.shortfall:
        pool, resource = key
        own = total - desk.quotas.team_headroom(team.name, key)
        if own > 0:
            has = desk.quotas.used[team.name][key]
            conditions.append(
                f"when team {team.name}'s own jobs release {own:,} {resource} of {pool}"
                f" (they use {has:,})"
            )
        theirs = total - desk.quotas.cohort_headroom(team.name, key)
        if theirs > max(own, 0):
            conditions.append(
                f"when {_holders(desk, team.name, key, theirs)} {theirs:,} {resource} of {pool}"
            )
    return tuple(conditions)


def _holders(desk: SchedulerModel, team: str, key: Key, amount: int) -> str:
    """The other teams that must release quota: borrowers if they suffice, else all users."""
    quotas = desk.quotas
    full = quotas.cohort_to_reclaim_from(team, key)
    other_teams = [t for t, queue in quotas.queues.items() if t != team and full in queue.ancestors]
    has = {t: quotas.used[t][key] for t in other_teams if quotas.used[t][key]}
    borrowed = {t: n - quotas.nominal(t, key) for t, n in has.items() if quotas.borrows(t, key)}
    enough = sum(borrowed.values()) >= amount
    holders = {t: f"{t} (borrows {n:,})" for t, n in borrowed.items()}
    if not enough:
        holders = {t: f"{t} (uses {n:,})" for t, n in has.items()}
    names_of = phrases.join_with_and(holders[t] for t in sorted(holders))
    return f"teams {names_of} release" if len(holders) > 1 else f"team {names_of} releases"


def job_stays_queued() -> str:
    """What happens to a job without available quota."""
    return "It stays in its queue, and none of its pods is created."


def pod_stays_queued() -> str:
    """What happens to a pod without available quota."""
    return "It stays in its queue: the pod exists, and Kueue's scheduling gate keeps it pending."


def evicted_after_start_timeout(plan: PlatformPlan) -> str:
    """What Kueue does when not all pods start in time."""
    minutes = kueue.format_duration(60 * plan.queueing.start_minutes)
    # an existing Kueue may have another configuration
    ours = plan.simulated or plan.spec.queueing.install is not False
    timeout = minutes if ours else f"{minutes} (unless Kueue is configured otherwise)"
    return (
        f"After {timeout} Kueue evicts the whole job"
        f" and requeues it {kueue.format_duration(kueue.FIRST_REQUEUE_SECONDS)} later, then after twice as long,"
        f" up to {kueue.format_duration(kueue.LONGEST_REQUEUE_SECONDS)}."
    )


def namespace_without_team(namespace: str) -> str:
    """A namespace without a queue."""
    return f"namespace {namespace} belongs to no team"


def rejected_without_queue(whose: str, pool: str, why: str) -> str:
    """A job without a queue, and nodes that its pods do not tolerate."""
    return f"{whose}, so no queue admits it; pool {pool}: {why}"


def stack_change(
    plan: PlatformPlan, desk: SchedulerModel, team: TeamPlan, result: Assignment
) -> str:
    """The sufficient quota in stack file notation; "" when quota is not missing."""
    at = phrases.team_path(plan, team)
    if result.unknown:
        offering = [
            p for p in plan.pools if any(a.resource == result.unknown for a in p.counted_resources)
        ]
        some_of = f"give team {team.name} quota of"
        return "".join(
            f"{some_of} {pool.stack_file_key(result.unknown)}: {at}.guarantee or .borrow"
            for pool in offering[:1]
        )
    for key, total in result.uses.items():
        pool = plan.pool(key[0])
        offer = next((a for a in pool.counted_resources if a.resource == key[1]), None)
        if offer is None or total <= desk.quotas.max_usage(team.name, key):
            continue
        path = f"{at}.borrow.{pool.stack_file_key(offer.resource)}"
        borrow = total - desk.quotas.nominal(team.name, key)
        most = desk.quotas.most_without_limit(team.name, key)
        if total <= most:
            return f"allow team {team.name} to borrow {borrow:,}: {path}: {borrow}"
        if bound := desk.quotas.limiting_cohort(team.name, key):
            return (
                f"allow cohort {bound.stack_file_name} to borrow {total - most:,} more"
                f" and team {team.name} {borrow:,} in total ({path})"
            )
        nodes = pool.nodes.high + ceil((total - most) / offer.per_node)
        index = [p.name for p in plan.pools].index(pool.name)
        return (
            f"raise {pool.name} to {nodes:,} nodes (pools[{index}].nodes) and allow team {team.name}"
            f" to borrow {borrow:,} ({path})"
        )
    return ""
