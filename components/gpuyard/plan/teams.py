"""Teams: namespace, queue and quota of each, and how far apart they are kept."""

from collections import defaultdict

from gpuyard.findings import Finding, Fix
from gpuyard.plan.names import LOCAL_QUEUE
from gpuyard.plan.queueing import check_flavors, resource_groups
from gpuyard.plan.records import Bill, PoolPlan, Quota, Share, TeamPlan
from gpuyard.plan.refusals import refuse, warn
from gpuyard.plan.renames import rename_fix
from gpuyard.plan.shares import monthly
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
    spec: PlatformSpec, pools: dict[str, PoolPlan], quotas: dict[int, tuple[Quota, ...]], bill: Bill
) -> tuple[list[TeamPlan], list[Finding]]:
    """Every team, and what refuses them."""
    teams: list[TeamPlan] = []
    findings: list[Finding] = _names(spec)
    users = _users(spec, quotas)
    for index, team in enumerate(spec.teams):
        plan = _plan_team(spec, team, quotas[index], pools, bill.shares[index])
        teams.append(plan)
        findings += check_flavors(plan.resource_groups, team.name, index)
        findings += _isolated(team, index, quotas[index], pools, users)
        if not any((*team.guarantee.values(), *team.borrow.values())):
            findings.append(
                warn(
                    "team.nothing",
                    ("teams", index),
                    f"team {team.name} has no guarantee and may not borrow: none of its jobs will ever start",
                    fix=Fix(says="add guarantee or borrow"),
                )
            )
    return teams, findings


def _plan_team(
    spec: PlatformSpec,
    team: Team,
    quotas: tuple[Quota, ...],
    pools: dict[str, PoolPlan],
    share: Share,
) -> TeamPlan:
    # quotas stand in the order of the pools, and so do their groups
    used = dict.fromkeys(q.pool for q in quotas)
    return TeamPlan(
        name=team.name,
        namespace=team.stable_name,
        cluster_queue=f"{spec.name}-{team.stable_name}",
        local_queue=LOCAL_QUEUE,
        groups=team.groups,
        isolation=team.isolation.value,
        weight=team.weight,
        quotas=quotas,
        resource_groups=resource_groups(pools[name] for name in used),
        hard=_hard(quotas),
        guarantee_usd_per_month=monthly(share.worst),
        expected_usd_per_month=monthly(share.expected),
        budget_usd_per_month=team.budget_usd_per_month,
    )


def _hard(quotas: tuple[Quota, ...]) -> dict[str, int]:
    """The most the namespace can ever hold; for extended resources only `requests.` binds."""
    total: dict[str, int] = defaultdict(int)
    for quota in quotas:
        total[f"requests.{quota.resource}"] += quota.nominal + quota.borrow
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
        fix=rename_fix(team.name, team.formerly, taken, path, wish),
    )


def _users(spec: PlatformSpec, quotas: dict[int, tuple[Quota, ...]]) -> dict[str, dict[int, str]]:
    """The teams, by index, that can have something of a pool."""
    users: dict[str, dict[int, str]] = defaultdict(dict)
    for index, team in enumerate(spec.teams):
        for quota in quotas[index]:
            if quota.nominal or quota.borrow:
                users[quota.pool][index] = team.name
    return users


_TOO_CLOSE = {
    Isolation.SHARED: (),
    Isolation.SLICE: ("time-slicing", "mps", "mig+time-slicing"),
    Isolation.NODE: ("none", "mig", "time-slicing", "mps", "mig+time-slicing"),
}


def _isolated(
    team: Team,
    index: int,
    quotas: tuple[Quota, ...],
    pools: dict[str, PoolPlan],
    users: dict[str, dict[int, str]],
) -> list[Finding]:
    """Refuse a pool that mixes this team with others more closely than it allows."""
    findings: list[Finding] = []
    for name in dict.fromkeys(q.pool for q in quotas if q.nominal or q.borrow):
        if pools[name].sharing not in _TOO_CLOSE[team.isolation]:
            continue
        if others := sorted(other for i, other in users[name].items() if i != index):
            how = "whole GPUs of one node" if pools[name].sharing == "none" else pools[name].sharing
            findings.append(
                refuse(
                    "tenancy.isolation",
                    ("teams", index, "isolation"),
                    f"{team.name} asks for isolation `{team.isolation.value}`, but in pool {name} ({how})"
                    f" its pods can stand beside those of {', '.join(others)}",
                    given=team.isolation.value,
                    allowed=f"a pool that no other team uses, or isolation: {_loosest(pools[name].sharing)}",
                    fix=Fix(says=f"give {team.name} a pool of its own instead of {name}"),
                )
            )
    return findings


def _loosest(sharing: str) -> str:
    return "slice" if sharing in {"none", "mig"} else "shared"
