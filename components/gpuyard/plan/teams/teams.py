"""Teams: the namespaces, queue and quota of each."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpuyard.plan.draft import Draft
from gpuyard.plan.money.bill import total_usd_per_month
from gpuyard.plan.queueing.queueing import resource_groups
from gpuyard.plan.queueing.queueing_checks import default_queue_name, stop_policy
from gpuyard.plan.quotas.cohorts import cohort_of
from gpuyard.plan.records import PoolPlan, Quota, TeamPlan, usable_pools
from gpuyard.plan.renames import rename_fix
from gpuyard.plan.sharing.compute_slices import max_amounts_in_quota
from gpuyard.plan.sharing.dra import quota_key, quota_keys
from gpuyard.plan.teams.limits import can_gpu_pods_wait, with_queued_pods
from gpuyard.plan.teams.namespaces import plan_egress, plan_namespaces, reserved_namespaces
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.teams import Isolation, Team
from gpuyard_core.findings import Diagnostic, Fix, error, warning
from gpuyard_core.names import cluster_queue_name


def decide_teams(draft: Draft) -> tuple[Draft, list[Diagnostic]]:
    """The plan of every team."""
    pools = draft.valid_pools
    offered = {offer.resource for pool in pools.values() for offer in pool.advertised}
    # a ResourceQuota does not limit a resource that it does not name
    nothing = dict.fromkeys(sorted(quota_keys(offered)), 0)
    teams = (_plan_team(draft, index, pools, nothing) for index in range(len(draft.spec.teams)))
    return replace(draft, teams=tuple(teams)), []


def check_teams_without_quota(draft: Draft) -> Iterator[Diagnostic]:
    """Warn of teams that can never start a job."""
    for index, team in enumerate(draft.spec.teams):
        if not any((*team.guarantee.values(), *team.borrow.values())):
            yield warning(
                "team.nothing",
                ("teams", index),
                f"team {team.name} has no guarantee and may not borrow: none of its jobs can ever start",
                fix=_something(draft, index),
            )


def _something(draft: Draft, index: int) -> Fix:
    """Borrow one unit of the first unassigned resource whose users all accept isolation `shared`."""
    spec, pools = draft.spec, draft.valid_pools
    owned = {pool.name for pool in spec.pools if pool.owners}
    users: dict[str, list[Isolation]] = defaultdict(list)
    for team, quotas in zip(spec.teams, draft.quotas.values(), strict=True):
        for name in usable_pools(quotas):
            users[name].append(team.isolation)
    for (name, resource), spare in draft.spare.items():
        isolations = {*users[name], spec.teams[index].isolation}
        if spare < 1 or name in owned or (users[name] and isolations != {Isolation.SHARED}):
            continue
        key = pools[name].stack_file_key(resource)
        path = ("teams", index, "borrow")
        return Fix(message=f"let it borrow {{{key}: 1}}", at=path, value={key: 1})
    return Fix(message="add a guarantee, or let it borrow")


def _plan_team(
    draft: Draft, index: int, pools: Mapping[str, PoolPlan], nothing: Mapping[str, int]
) -> TeamPlan:
    spec, team = draft.spec, draft.spec.teams[index]
    quotas, share = draft.quotas[index], draft.bill.shares[index]
    # quotas are in the order of the pools, and so are their groups
    pool_names = dict.fromkeys(q.pool for q in quotas)
    return TeamPlan(
        name=team.name,
        stable_name=team.stable_name,
        namespaces=plan_namespaces(team, draft.limits[index]),
        cluster_queue=cluster_queue_name(spec.name, team.stable_name),
        local_queue=default_queue_name(team.queues),
        queues=dict(team.queues),
        groups=team.groups,
        isolation=team.isolation,
        weight=team.weight,
        quotas=quotas,
        resource_groups=resource_groups(pools[name] for name in pool_names),
        limits=draft.limits[index],
        hard=_hard(quotas, pools, nothing, waits=can_gpu_pods_wait(spec)),
        guarantee_usd_per_month=total_usd_per_month(share.maximum),
        expected_usd_per_month=total_usd_per_month(share.expected),
        budget_usd_per_month=team.budget_usd_per_month,
        priority=team.priority,
        cohort=cohort_of(spec, team),
        stop_policy=stop_policy(spec, team),
        viewers=team.viewers,
        protect=_protected(spec, team),
        pod_security=team.pod_security,
        name_servers=draft.provider.name_servers,
        egress=plan_egress(spec, team),
    )


def _protected(spec: PlatformSpec, team: Team) -> bool:
    """The value of the stack file, else true unless the nodes are simulated."""
    return spec.cloud is not Cloud.SIMULATED if team.protect is None else team.protect


def _hard(
    quotas: tuple[Quota, ...],
    pools: Mapping[str, PoolPlan],
    nothing: Mapping[str, int],
    *,
    waits: bool,
) -> dict[str, int]:
    """The maximum requests of the namespace's pods; for extended resources only `requests.` keys apply."""
    total: dict[str, int] = defaultdict(int, nothing)
    for quota in quotas:
        for resource, amount in max_amounts_in_quota(pools[quota.pool], quota):
            total[quota_key(resource)] += amount
    return {key: with_queued_pods(own) if waits else own for key, own in sorted(total.items())}


def check_team_names(draft: Draft) -> Iterator[Diagnostic]:
    """Reject names that two teams have, or that are reserved by the cluster."""
    spec = draft.spec
    seen: set[str] = set()
    for index, team in enumerate(spec.teams):
        if not team.namespaces and team.stable_name in reserved_namespaces(spec):
            problem = "a namespace with this name belongs to the cluster"
            yield _name_taken(spec, index, "team.reserved", problem)
        elif {team.name, team.stable_name} & seen:
            problem = "another team has or had this name"
            yield _name_taken(spec, index, "team.duplicate", problem)
        seen |= {team.name, team.stable_name}


def _name_taken(spec: PlatformSpec, index: int, kind: str, problem: str) -> Diagnostic:
    team, path = spec.teams[index], ("teams", index)
    others = [t for i, t in enumerate(spec.teams) if i != index]
    used = {t.name for t in others} | {t.stable_name for t in others} | reserved_namespaces(spec)
    wish = f"team-{team.name}" if kind == "team.reserved" else ""
    return error(
        kind,
        (*path, "name"),
        problem,
        given=" formerly ".join(dict.fromkeys([team.name, team.stable_name])),
        allowed="a unique name for each team",
        fix=rename_fix(team, used, path, wish),
    )
