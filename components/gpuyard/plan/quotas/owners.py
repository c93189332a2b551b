"""Pools dedicated to teams: who may have quota of a pool, and what its owners leave unused.

In Kueue a team's queue lists only flavors of which the team has a quota, and a queue admits no job to a
flavor that it does not list. So it is enough to reject entries of other teams here: the rest of a dedicated
pool is in the common cohort, and only the queues of its owners can use it (docs/decisions/0012).
"""

from collections.abc import Iterator, Mapping

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import usable_pools
from gpuyard.spec.platform import PlatformSpec
from gpuyard_core.findings import Diagnostic, Fix, Path, error, warning
from gpuyard_core.suggestions import nearest_name

PoolOwners = Mapping[str, frozenset[str]]
"""Owners by pool name; pools for all teams are not in it."""


def known_owners(spec: PlatformSpec) -> PoolOwners:
    """The owners of each pool. A pool with an unknown owner is left out: the name itself is an error."""
    teams = {team.name for team in spec.teams}
    return {p.name: frozenset(p.owners) for p in spec.pools if p.owners and teams >= {*p.owners}}


def check_owner_names(draft: Draft) -> Iterator[Diagnostic]:
    """Reject owners that are not teams."""
    teams = [team.name for team in draft.spec.teams]
    for index, pool in enumerate(draft.spec.pools):
        unknown = [owner for owner in dict.fromkeys(pool.owners) if owner not in teams]
        if not unknown:
            continue
        meant = {owner: nearest_name(owner, teams) for owner in unknown}
        right = dict.fromkeys(name for owner in pool.owners if (name := meant.get(owner, owner)))
        fixes = [
            f"write {suggestion}" if suggestion else f"remove {owner}, or add the team"
            for owner, suggestion in meant.items()
        ]
        yield error(
            "pool.owner_unknown",
            ("pools", index, "owners"),
            "no team has this name",
            given=", ".join(unknown),
            allowed=", ".join(teams) or "a name in `teams`, which is empty",
            fix=Fix(
                message="; ".join(fixes), at=("pools", index, "owners"), value=list(right) or None
            ),
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


def check_left_over(draft: Draft) -> Iterator[Diagnostic]:
    """Warn of unassigned capacity of a dedicated pool that no owner may borrow: it is paid for and unusable."""
    spec, quotas, spare = draft.spec, draft.quotas, draft.spare
    indexes = {team.name: index for index, team in enumerate(spec.teams)}
    borrowed = {(q.pool, q.resource) for mine in quotas.values() for q in mine if q.borrow}
    for position, one in enumerate(spec.pools):
        pool = draft.pools.get(one.name)
        if not one.owners or pool is None or not {*one.owners} <= set(indexes):
            continue
        unclaimed = {
            a.resource: spare[pool.name, a.resource]
            for a in pool.counted_resources
            if spare[pool.name, a.resource] > 0 and (pool.name, a.resource) not in borrowed
        }
        if not unclaimed:
            continue
        # an owner that uses the pool already: another one might break its isolation
        users = [
            i for i in map(indexes.__getitem__, one.owners) if pool.name in usable_pools(quotas[i])
        ]
        team = users[0] if users else indexes[one.owners[0]]
        more = {pool.stack_file_key(resource): amount for resource, amount in unclaimed.items()}
        say = ", ".join(f"{key}: {amount}" for key, amount in more.items())
        amounts = ", ".join(f"{amount} {resource}" for resource, amount in unclaimed.items())
        yield warning(
            "pool.left_over",
            ("pools", position),
            f"{pool.name} is dedicated to {' or '.join(dict.fromkeys(one.owners))}, so no other team can use it,"
            f" but {amounts} are not guaranteed to any owner, and no owner may borrow them",
            given=amounts,
            allowed="each part of a dedicated pool guaranteed to one of its owners, or within the borrow limit of one",
            fix=Fix(
                message=f"let {spec.teams[team].name} borrow {{{say}}}, or give the pool fewer nodes",
                at=("teams", team, "borrow"),
                value=dict(spec.teams[team].borrow) | more,
            ),
        )
