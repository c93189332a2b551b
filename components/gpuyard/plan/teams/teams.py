"""Teams: namespace, queue and quota of each, and how far apart they are kept."""

from collections import defaultdict
from collections.abc import Mapping

from gpuyard.findings import Finding, Fix, refuse, warn
from gpuyard.plan.money.team_shares import monthly
from gpuyard.plan.queueing.brakes import stop_of
from gpuyard.plan.queueing.queueing import check_flavors, resource_groups
from gpuyard.plan.queueing.waiting import first_queue
from gpuyard.plan.quotas.cohort_tree import QuotaAmounts
from gpuyard.plan.quotas.cohorts import home_of
from gpuyard.plan.records import Bill, LimitsPlan, PoolPlan, Quota, Share, TeamPlan, within_reach
from gpuyard.plan.renames import rename_fix
from gpuyard.plan.sharing.compute_slices import at_most
from gpuyard.plan.sharing.dra import quota_key
from gpuyard.plan.teams.egress import check_egress, name_servers, plan_egress
from gpuyard.plan.teams.isolation import check_isolation
from gpuyard.plan.teams.limits import TeamLimits
from gpuyard.plan.teams.pod_security import check_pod_security
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.teams import Isolation, Team

RESERVED_NAMESPACES = frozenset(
    {
        "default",
        "kube-system",
        "kube-public",
        "kube-node-lease",
        "gpu-operator",
        "kueue-system",
        "gpuyard-system",
    }
)


def plan_teams(
    spec: PlatformSpec,
    pools: dict[str, PoolPlan],
    quotas: Mapping[int, tuple[Quota, ...]],
    spare: QuotaAmounts,
    bill: Bill,
    limits: TeamLimits,
) -> tuple[list[TeamPlan], list[Finding]]:
    """Every team, and what refuses them."""
    teams: list[TeamPlan] = []
    findings: list[Finding] = _names(spec)
    for index, team in enumerate(spec.teams):
        plan = _plan_team(spec, team, quotas[index], pools, bill.shares[index], limits[index])
        teams.append(plan)
        findings += check_flavors(team, index, plan, pools)
        if not any((*team.guarantee.values(), *team.borrow.values())):
            findings.append(
                warn(
                    "team.nothing",
                    ("teams", index),
                    f"team {team.name} has no guarantee and may not borrow: none of its jobs will ever start",
                    fix=_something(spec, index, pools, quotas, spare),
                )
            )
    findings += check_egress(spec) + check_pod_security(spec, quotas)
    return teams, findings + check_isolation(spec, pools, quotas)


def _something(
    spec: PlatformSpec,
    index: int,
    pools: dict[str, PoolPlan],
    quotas: Mapping[int, tuple[Quota, ...]],
    spare: QuotaAmounts,
) -> Fix:
    """Borrow one of the first resource that nobody is guaranteed, where nobody minds the company."""
    owned = {pool.name for pool in spec.pools if pool.owners}
    users: dict[str, list[Isolation]] = defaultdict(list)
    for team, held in zip(spec.teams, quotas.values(), strict=True):
        for name in within_reach(held):
            users[name].append(team.isolation)
    for (name, resource), left in spare.items():
        near = {*users[name], spec.teams[index].isolation}
        if left < 1 or name in owned or (users[name] and near != {Isolation.SHARED}):
            continue
        key = pools[name].key(resource)
        path = ("teams", index, "borrow")
        return Fix(says=f"let it borrow {{{key}: 1}}", at=path, value={key: 1})
    return Fix(says="add a guarantee, or let it borrow")


def _plan_team(
    spec: PlatformSpec,
    team: Team,
    quotas: tuple[Quota, ...],
    pools: dict[str, PoolPlan],
    share: Share,
    limits: LimitsPlan,
) -> TeamPlan:
    # quotas stand in the order of the pools, and so do their groups
    used = dict.fromkeys(q.pool for q in quotas)
    return TeamPlan(
        name=team.name,
        namespace=team.stable_name,
        cluster_queue=f"{spec.name}-{team.stable_name}",
        local_queue=first_queue(team.queues),
        queues=dict(team.queues),
        groups=team.groups,
        isolation=team.isolation,
        weight=team.weight,
        quotas=quotas,
        resource_groups=resource_groups(pools[name] for name in used),
        limits=limits,
        hard=_hard(quotas, pools),
        guarantee_usd_per_month=monthly(share.worst),
        expected_usd_per_month=monthly(share.expected),
        budget_usd_per_month=team.budget_usd_per_month,
        priority=team.priority,
        cohort=home_of(spec, team),
        stop=stop_of(spec, team),
        viewers=team.viewers,
        pod_security=team.pod_security,
        name_servers=name_servers(spec.cloud),
        egress=plan_egress(spec, team),
    )


def _hard(quotas: tuple[Quota, ...], pools: Mapping[str, PoolPlan]) -> dict[str, int]:
    """The most the namespace can ever hold; for extended resources only `requests.` binds."""
    total: dict[str, int] = defaultdict(int)
    for quota in quotas:
        for resource, amount in at_most(pools[quota.pool], quota):
            total[quota_key(resource)] += amount
    return dict(sorted(total.items()))


def _names(spec: PlatformSpec) -> list[Finding]:
    findings: list[Finding] = []
    seen: set[str] = set()
    for index, team in enumerate(spec.teams):
        if team.stable_name in RESERVED_NAMESPACES:
            problem = "a namespace of that name belongs to the cluster"
            findings.append(_name_taken(spec, index, "team.reserved", problem))
        elif {team.name, team.stable_name} & seen:
            problem = "another team has the name, now or formerly"
            findings.append(_name_taken(spec, index, "team.duplicate", problem))
        seen |= {team.name, team.stable_name}
    return findings


def _name_taken(spec: PlatformSpec, index: int, kind: str, problem: str) -> Finding:
    team, path = spec.teams[index], ("teams", index)
    others = [t for i, t in enumerate(spec.teams) if i != index]
    taken = {t.name for t in others} | {t.stable_name for t in others} | RESERVED_NAMESPACES
    wish = f"team-{team.name}" if kind == "team.reserved" else ""
    return refuse(
        kind,
        (*path, "name"),
        problem,
        given=" formerly ".join(dict.fromkeys([team.name, team.stable_name])),
        allowed="a name of its own for each team",
        fix=rename_fix(team, taken, path, wish),
    )
