"""Queues and quota: why a job is admitted, waits or never gets any."""

from collections.abc import Sequence
from math import ceil

from gpuyard import names
from gpuyard.explain.messages import phrases
from gpuyard.manifests.quantities import format_amount
from gpuyard.plan.queueing import kueue
from gpuyard.plan.quotas.cohort_tree import Key
from gpuyard.plan.records import PlatformPlan, TeamPlan
from gpuyard.scheduler.flavors import Assignment, AssignmentMode, ConsideredPool
from gpuyard.scheduler.model import SchedulerModel


def no_queue(label: str, team: TeamPlan) -> str:
    """A queue label that leads nowhere."""
    return (
        f"its label {names.QUEUE_LABEL} names the queue {label}, and team {team.name} has only"
        f" {phrases.listed(team.queues)}: no queue ever looks at it"
    )


def without_label(team: TeamPlan) -> str:
    """A job that names no queue, where no queue is called default."""
    return (
        f"it has no label {names.QUEUE_LABEL}, and team {team.name} has no queue called"
        f" {names.LOCAL_QUEUE}, only {phrases.listed(team.queues)}"
    )


def unknown_resource(plan: PlatformPlan, team: TeamPlan, resource: str) -> str:
    """A resource the team has no quota of, or nobody."""
    owners = [
        p.name for p in plan.pools if any(a.resource == resource for a in p.counted_resources)
    ]
    if owners:
        return f"{resource} comes from {phrases.listed(owners)}, of which team {team.name} has no quota"
    if resource == names.GPU_CLAIM:
        return "it claims devices (DRA), and no pool hands out GPUs by claim (sharing: dra)"
    return f"no pool advertises {resource}: a queue admits nothing that it does not count"


def without(plan: PlatformPlan, team: TeamPlan, resource: str) -> tuple[ConsideredPool, ...]:
    """Why each pool does not give out a resource."""
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


def two_pools(pools: Sequence[str]) -> str:
    """Resources of one pod that no node has together."""
    return f"one pod asks for resources of {phrases.listed(pools)}, and no node stands in two pools"


def no_pool(result: Assignment) -> str:
    """More than the queue could ever have."""
    if len(result.reasons) == 1:
        return f"{result.reasons[0].pool}: {result.reasons[0].reason}"
    return (
        f"none of {phrases.listed(r.pool for r in result.reasons)} can take it, whoever else runs"
    )


def waits_for_quota(result: Assignment) -> str:
    """Quota that others have, and keep."""
    (pool, resource), total = result.shortfall[0]
    why = {
        AssignmentMode.BLOCKED: "and evicting is not allowed for it",
        AssignmentMode.NO_CANDIDATES: "and nobody has to give way to it",
    }.get(result.mode, "and evicting others would not be enough")
    verb = "is" if total == 1 else "are"
    return f"{format_amount(resource, total)} of {pool} {verb} not free, {why}"


def stopped(plan: PlatformPlan, team: TeamPlan) -> str:
    """A brake on the queue."""
    return f"its queue is stopped: {phrases.listed(_brakes(plan, team))}"


def released(plan: PlatformPlan, team: TeamPlan) -> tuple[str, ...]:
    """What must be taken away from the stack file."""
    brakes = _brakes(plan, team)
    return (f"when {phrases.listed(brakes)} {'is' if len(brakes) == 1 else 'are'} taken away",)


def _brakes(plan: PlatformPlan, team: TeamPlan) -> list[str]:
    """`teams[0].stop_policy: hold`: where they stand."""
    result = (
        [f"queueing.stop_policy: {plan.queueing.stop_policy}"] if plan.queueing.stop_policy else []
    )
    own = next(one for one in plan.spec.teams if one.name == team.name)
    return (
        [*result, f"{phrases.path_of(plan, team)}.stop_policy: {own.stop_policy.value}"]
        if own.stop_policy
        else result
    )


def pool_stopped(pool: str) -> str:
    """A brake on the pool that its queue would send it to."""
    return f"pool {pool} is stopped: no new job starts there"


def pools_released(plan: PlatformPlan, pools: Sequence[str]) -> tuple[str, ...]:
    """The same for pools."""
    at = [p.name for p in plan.pools]
    return tuple(
        f"when pools[{at.index(pool)}].stop_policy: hold is taken away"
        for pool in dict.fromkeys(pools)
    )


def shortage(desk: SchedulerModel, team: TeamPlan, result: Assignment) -> tuple[str, ...]:
    """Who must return how much of what."""
    conditions: list[str] = []
    for key, total in result.shortfall:
        pool, resource = key
        own = total - desk.quotas.team_headroom(team.name, key)
        if own > 0:
            has = desk.quotas.used[team.name][key]
            conditions.append(
                f"when team {team.name}'s own jobs return {own:,} {resource} of {pool}"
                f" (they have {has:,})"
            )
        theirs = total - desk.quotas.cohort_headroom(team.name, key)
        if theirs > max(own, 0):
            conditions.append(
                f"when {_holders(desk, team.name, key, theirs)} {theirs:,} {resource} of {pool}"
            )
    return tuple(conditions)


def _holders(desk: SchedulerModel, team: str, key: Key, amount: int) -> str:
    """The other teams that must return something: borrowers where that is enough, else whoever has any."""
    quotas = desk.quotas
    full = quotas.full(team, key)
    other_teams = [t for t, queue in quotas.queues.items() if t != team and full in queue.above]
    has = {t: quotas.used[t][key] for t in other_teams if quotas.used[t][key]}
    borrowed = {t: n - quotas.nominal(t, key) for t, n in has.items() if quotas.borrows(t, key)}
    enough = sum(borrowed.values()) >= amount
    holders = {t: f"{t} (borrows {n:,})" for t, n in borrowed.items()}
    if not enough:
        holders = {t: f"{t} (has {n:,})" for t, n in has.items()}
    names_of = phrases.listed(holders[t] for t in sorted(holders))
    return f"teams {names_of} return" if len(holders) > 1 else f"team {names_of} returns"


def queued() -> str:
    """What happens to a job that has no quota yet."""
    return "It waits whole in its queue, and none of its pods exists."


def queued_as_a_pod() -> str:
    """What happens to a pod that has no quota yet."""
    return "It waits in its queue: the pod exists, and Kueue's gate keeps it from every node."


def evicted_later(plan: PlatformPlan) -> str:
    """What Kueue does with a job whose pods do not all start in time."""
    minutes = kueue.format_duration(60 * plan.queueing.start_minutes)
    # elsewhere a Kueue that runs already may be set up by somebody else
    ours = plan.simulated or plan.spec.queueing.install is not False
    timeout = minutes if ours else f"{minutes} (unless Kueue is set up otherwise)"
    return (
        f"After {timeout} it is evicted whole,"
        f" and queues again {kueue.format_duration(kueue.FIRST_REQUEUE_SECONDS)} later, then after twice as long,"
        f" up to {kueue.format_duration(kueue.LONGEST_REQUEUE_SECONDS)}."
    )


def of_no_team(namespace: str) -> str:
    """A namespace without a queue."""
    return f"namespace {namespace} belongs to no team"


def outsider(whose: str, pool: str, why: str) -> str:
    """A job without a queue, and nodes that it may not have."""
    return f"{whose}, so no queue takes care of it; pool {pool}: {why}"


def stack_change(
    plan: PlatformPlan, desk: SchedulerModel, team: TeamPlan, result: Assignment
) -> str:
    """The quota that would do, as a stack file counts it; "" when quota is not what is missing."""
    at = phrases.path_of(plan, team)
    if result.unknown:
        offering = [
            p for p in plan.pools if any(a.resource == result.unknown for a in p.counted_resources)
        ]
        some_of = f"give team {team.name} some of"
        return "".join(
            f"{some_of} {pool.key(result.unknown)}: {at}.guarantee or .borrow"
            for pool in offering[:1]
        )
    for key, total in result.uses.items():
        pool = plan.pool(key[0])
        offer = next((a for a in pool.counted_resources if a.resource == key[1]), None)
        if offer is None or total <= desk.quotas.max_usage(team.name, key):
            continue
        path = f"{at}.borrow.{pool.key(offer.resource)}"
        borrow = total - desk.quotas.nominal(team.name, key)
        most = desk.quotas.most_without_limit(team.name, key)
        if total <= most:
            return f"let team {team.name} borrow {borrow:,}: {path}: {borrow}"
        if bound := desk.quotas.limiting_cohort(team.name, key):
            return (
                f"let cohort {bound.shown} borrow {total - most:,} more,"
                f" and team {team.name} {borrow:,} in all ({path})"
            )
        nodes = pool.nodes.high + ceil((total - most) / offer.per_node)
        index = [p.name for p in plan.pools].index(pool.name)
        return (
            f"let {pool.name} have {nodes:,} nodes (pools[{index}].nodes) and team {team.name}"
            f" borrow {borrow:,} ({path})"
        )
    return ""
