"""Pools dedicated to teams: who may have quota of a pool, and what its owners leave unused.

In Kueue a team's queue lists only flavors of which the team has a quota, and a queue admits no job to a
flavor that it does not list. So it is enough to reject entries of other teams here: the rest of a dedicated
pool is in the common cohort, and only the queues of its owners can use it (docs/decisions/0012).
"""

from collections.abc import Mapping, Sequence

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import PoolPlan, Quota, usable_pools
from gpuyard.spec.platform import PlatformSpec
from gpuyard_core.findings import Diagnostic, Fix, Path, error, warning
from gpuyard_core.suggestions import nearest_name

PoolOwners = Mapping[str, frozenset[str]]
"""Owners by pool name; pools for all teams are not in it."""


def known_owners(spec: PlatformSpec) -> PoolOwners:
    """The owners of each pool. A pool with an unknown owner is left out: the name itself is an error."""
    teams = {team.name for team in spec.teams}
    return {p.name: frozenset(p.owners) for p in spec.pools if p.owners and teams >= {*p.owners}}


def check_owner_names(draft: Draft) -> list[Diagnostic]:
    """Reject owners that are not teams."""
    spec = draft.spec
    teams = [team.name for team in spec.teams]
    findings: list[Diagnostic] = []
    for index, pool in enumerate(spec.pools):
        if unknown := [owner for owner in dict.fromkeys(pool.owners) if owner not in teams]:
            findings.append(_unknown(pool.owners, unknown, teams, ("pools", index, "owners")))
    return findings


def _unknown(
    owners: Sequence[str], unknown: Sequence[str], teams: Sequence[str], path: Path
) -> Diagnostic:
    meant = {owner: nearest_name(owner, teams) for owner in unknown}
    right = dict.fromkeys(name for owner in owners if (name := meant.get(owner, owner)))
    fixes = [
        f"write {suggestion}" if suggestion else f"remove {owner}, or add the team"
        for owner, suggestion in meant.items()
    ]
    return error(
        "pool.owner_unknown",
        path,
        "no team has this name",
        given=", ".join(unknown),
        allowed=", ".join(teams) or "a name in `teams`, which is empty",
        fix=Fix(message="; ".join(fixes), at=path, value=list(right) or None),
    )


def unowned_pool_error(
    owners: PoolOwners, pool: str, team: str, text: str, path: Path
) -> Diagnostic | None:
    """Reject an entry for a pool that is dedicated to other teams."""
    if team in owners.get(pool, {team}):
        return None
    names = ", ".join(sorted(owners[pool]))
    kind = path[2]
    verb = {"guarantee": "be guaranteed", "borrow": "borrow", "lend": "lend"}[str(kind)]
    return error(
        "pool.owner",
        path,
        f"{pool} is dedicated to {names}: {team} cannot {verb} any of it",
        given=text,
        allowed=f"pools without owners, or with {team} among them",
        fix=Fix(message=f"remove it, or add {team} to the owners of {pool}", at=path),
    )


def check_left_over(draft: Draft) -> list[Diagnostic]:
    """Warn of unassigned capacity of a dedicated pool that no owner may borrow: it is paid for and unusable."""
    spec, quotas, spare = draft.spec, draft.quotas, draft.spare
    indexes = {team.name: index for index, team in enumerate(spec.teams)}
    borrowed = {(q.pool, q.resource) for mine in quotas.values() for q in mine if q.borrow}
    findings: list[Diagnostic] = []
    for position, pool in enumerate(spec.pools):
        plan = draft.pools.get(pool.name)
        if not pool.owners or plan is None or not {*pool.owners} <= set(indexes):
            continue
        unclaimed = {
            a.resource: spare[pool.name, a.resource]
            for a in plan.counted_resources
            if spare[pool.name, a.resource] > 0 and (pool.name, a.resource) not in borrowed
        }
        if unclaimed:
            owner = _best_owner(pool.owners, indexes, pool.name, quotas)
            findings.append(_left_over(spec, plan, indexes[owner], unclaimed, ("pools", position)))
    return findings


def _best_owner(
    owners: Sequence[str],
    indexes: Mapping[str, int],
    pool: str,
    quotas: Mapping[int, Sequence[Quota]],
) -> str:
    """An owner that uses the pool already: another one might break its isolation."""

    def uses(owner: str) -> bool:
        return pool in usable_pools(quotas[indexes[owner]])

    return next((owner for owner in owners if uses(owner)), owners[0])


def _left_over(
    spec: PlatformSpec, pool: PoolPlan, team: int, unclaimed: Mapping[str, int], path: Path
) -> Diagnostic:
    amounts = ", ".join(f"{amount} {resource}" for resource, amount in unclaimed.items())
    whose = " or ".join(dict.fromkeys(spec.pools[int(path[1])].owners))
    more = {pool.stack_file_key(resource): amount for resource, amount in unclaimed.items()}
    say = ", ".join(f"{key}: {amount}" for key, amount in more.items())
    return warning(
        "pool.left_over",
        path,
        f"{pool.name} is dedicated to {whose}, so no other team can use it, but {amounts}"
        " are not guaranteed to any owner, and no owner may borrow them",
        given=amounts,
        allowed="each part of a dedicated pool guaranteed to one of its owners, or within the borrow limit of one",
        fix=Fix(
            message=f"let {spec.teams[team].name} borrow {{{say}}}, or give the pool fewer nodes",
            at=("teams", team, "borrow"),
            value=dict(spec.teams[team].borrow) | more,
        ),
    )
