"""Guarantees, borrowing and lending, in the resources that nodes really advertise.

A stack file counts whole GPUs by a bare pool name, slices and shares by `pool/unit`. Here they become
quotas of resources, and are proved against what the pools hold when every node runs.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import TypedDict

from gpuyard.findings import Finding, Fix, Path
from gpuyard.plan.owners import known_owners, not_theirs
from gpuyard.plan.pools import Pools
from gpuyard.plan.records import PoolPlan, Quota
from gpuyard.plan.refusals import listed, note, refuse
from gpuyard.spec.nearest import nearest
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.teams import Team
from gpuyard.spec.values import MAX_NODES

Key = tuple[str, str]
"""A pool and a resource."""
Amounts = dict[Key, int]
Granted = Mapping[int, Amounts]
"""By team index."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One entry of a team's guarantee, borrow or lend, understood."""

    team: int
    path: Path
    pool: PoolPlan
    count: int
    """As the stack file counts: GPUs, slices or shares."""
    per_unit: Mapping[str, int]
    """Resources of one of them; a bare key on a cut pool claims each of the slices of a GPU."""


@dataclass(frozen=True, slots=True)
class Quotas:
    """Who has what, and what is left."""

    by_team: Mapping[int, tuple[Quota, ...]]
    """By team index."""
    spare: Amounts
    """What no team is guaranteed."""
    lent: Amounts
    """What all teams lend together."""
    understood: bool
    """False when a claim means something that is not counted here: a misspelt pool or unit."""

    def room_to_borrow(self, quota: Quota) -> int:
        """What the team of this quota could borrow beyond what it may, with everybody else idle."""
        key = (quota.pool, quota.resource)
        own = quota.nominal if quota.lend is None else quota.lend
        return self.spare[key] + self.lent.get(key, 0) - own - quota.borrow


def plan_quotas(spec: PlatformSpec, pools: Pools) -> tuple[Quotas, list[Finding]]:
    """What every team is guaranteed, may borrow and lends, and every finding about it."""
    claims, findings = _claims(spec, pools)
    understood = all(f.fix and f.fix.at and f.fix.value is None for f in findings)
    nominal, problems = _grant(
        claims["guarantee"], lambda claim, r: capacity(claim.pool, r), _too_much, per_team=False
    )
    findings += problems
    lend, problems = _grant(
        claims["lend"], lambda claim, r: nominal[claim.team].get((claim.pool.name, r), 0), _no_more
    )
    findings += problems
    given = _total(nominal.values())
    spare = {
        (pool.name, offer.resource): capacity(pool, offer.resource)
        - given.get((pool.name, offer.resource), 0)
        for pool in pools.values()
        if pool is not None
        for offer in pool.advertised
    }
    lent = [(nominal if t.lend is None else lend)[i] for i, t in enumerate(spec.teams)]
    all_lent = _total(lent)

    def within_reach(claim: Claim, resource: str) -> int:
        key = (claim.pool.name, resource)
        return spare[key] + all_lent.get(key, 0) - lent[claim.team].get(key, 0)

    borrow, problems = _grant(claims["borrow"], within_reach, _out_of_reach)
    findings += problems
    findings += _start_notes(given, pools, spec)
    positions = {name: i for i, name in enumerate(pools)}
    quotas = {
        i: _quotas(team, pools, positions, nominal[i], borrow[i], lend[i])
        for i, team in enumerate(spec.teams)
    }
    return Quotas(quotas, spare, all_lent, understood), findings


def _total(amounts: Iterable[Amounts]) -> Amounts:
    """Sums over all teams; one pass, because there may be a thousand of them."""
    total: Amounts = defaultdict(int)
    for one in amounts:
        for key, amount in one.items():
            total[key] += amount
    return total


def _claims(spec: PlatformSpec, pools: Pools) -> tuple[dict[str, list[Claim]], list[Finding]]:
    claims: dict[str, list[Claim]] = {"guarantee": [], "borrow": [], "lend": []}
    findings: list[Finding] = []
    owners = known_owners(spec)
    for index, team in enumerate(spec.teams):
        for kind, shares in (
            ("guarantee", team.guarantee),
            ("borrow", team.borrow),
            ("lend", team.lend or {}),
        ):
            for text in shares:
                path: Path = ("teams", index, kind, text)
                claim, problem = _claim(shares, text, pools, index, path)
                if claim and (
                    refusal := not_theirs(owners, claim.pool.name, team.name, text, path)
                ):
                    claim, problem = None, refusal
                if problem:
                    findings.append(problem)
                elif claim:
                    claims[kind].append(claim)
    return claims, findings


def _claim(
    shares: Mapping[str, int], text: str, pools: Pools, team: int, path: Path
) -> tuple[Claim | None, Finding | None]:
    count = shares[text]
    name, _, unit = text.partition("/")
    if name not in pools:
        return None, _unknown_pool(name, unit, shares, pools, path)
    pool = pools[name]
    if pool is None:
        return None, None  # the pool itself is refused; one finding is enough
    per_unit = _per_unit(pool, unit)
    if per_unit is None:
        return None, _unknown_unit(text, unit, shares, pool, path)
    return Claim(team, path, pool, count, per_unit), None


def _per_unit(pool: PoolPlan, unit: str) -> dict[str, int] | None:
    """What one unit is in resources: one of them, or for a bare key all that one GPU gives."""
    if (found := pool.unit(unit)) is not None:
        return {found.resource: 1}
    if unit:
        return None
    if pool.sharing in {"time-slicing", "mps"}:
        return {pool.advertised[0].resource: pool.replicas}
    if len({tuple(x.counts.items()) for x in pool.layouts}) > 1:
        return None  # GPUs of one node differ: "one GPU" has no single meaning
    return {a.resource: a.per_node // pool.gpus_per_node for a in pool.advertised}


def _unknown_pool(
    name: str, unit: str, shares: Mapping[str, int], pools: Pools, path: Path
) -> Finding:
    near = nearest(name, list(pools))
    return refuse(
        "quota.unknown_pool",
        path,
        "no pool of that name",
        given=name,
        allowed=listed(pools),
        fix=_move(shares, f"{near}/{unit}" if unit else near, path)
        if near
        else Fix(says="remove it, or add the pool", at=path),
    )


def _move(shares: Mapping[str, int], key: str, path: Path) -> Fix:
    """The amount under another key, in its place; taken away where that key has an amount already."""
    old = path[-1]
    if key in shares:
        return Fix(says=f"remove it: {key} stands there already", at=path)
    moved = {key if text == old else text: count for text, count in shares.items()}
    return Fix(says=f"write {key}", at=path[:-1], value=moved)


def _unknown_unit(
    text: str, unit: str, shares: Mapping[str, int], pool: PoolPlan, path: Path
) -> Finding:
    keys = [f"{pool.name}/{a.unit}" if a.unit else pool.name for a in pool.advertised]
    near = nearest(unit, [a.unit for a in pool.advertised]) if unit else None
    problem = (
        f"nodes of {pool.name} advertise no `{unit}`"
        if unit
        else f"the GPUs of {pool.name} are cut differently, so a number of whole GPUs says nothing"
    )
    return refuse(
        "quota.unit",
        path,
        problem,
        given=text,
        allowed=", ".join(keys),
        fix=_move(shares, f"{pool.name}/{near}" if near else keys[0], path),
    )


def capacity(pool: PoolPlan, resource: str) -> int:
    """How many of a resource the pool holds when every node runs."""
    return _per_node(pool, resource) * pool.nodes.high


def _per_node(pool: PoolPlan, resource: str) -> int:
    return next(a.per_node for a in pool.advertised if a.resource == resource)


def _grant(
    claims: list[Claim],
    limit: Callable[[Claim, str], int],
    refusal: Callable[[Claim, str, int, int, int], Finding],
    *,
    per_team: bool = True,
) -> tuple[Granted, list[Finding]]:
    """Give the claims one after another, within a limit for each team or for all together.

    A claim that exceeds it is refused, and counted as its fix would leave it: nobody is blamed for it twice.
    """
    granted: dict[int, Amounts] = defaultdict(lambda: defaultdict(int))
    used: dict[tuple[int | None, str, str], int] = defaultdict(int)
    findings: list[Finding] = []
    for claim in claims:
        owner = claim.team if per_team else None
        limits = {r: limit(claim, r) for r in claim.per_unit}
        taken = {r: used[owner, claim.pool.name, r] for r in claim.per_unit}
        room = {r: (limits[r] - taken[r]) // n for r, n in claim.per_unit.items()}
        tightest = min(room, key=lambda r: room[r])
        fits = room[tightest]
        if claim.count > fits:
            findings.append(refusal(claim, tightest, limits[tightest], taken[tightest], fits))
        for resource, n in claim.per_unit.items():
            amount = n * min(claim.count, fits)
            used[owner, claim.pool.name, resource] += amount
            granted[claim.team][claim.pool.name, resource] += amount
    return granted, findings


def _too_much(claim: Claim, resource: str, limit: int, taken: int, fits: int) -> Finding:
    pool, amount = claim.pool, claim.count * claim.per_unit[resource]
    per_node = _per_node(pool, resource)
    need = ceil((taken + amount) / per_node)
    others = f", other guarantees take {taken} of them" if taken else ""
    more = f", or let {pool.name} have {need} nodes" if need <= MAX_NODES else ""
    return refuse(
        "quota.over_capacity",
        claim.path,
        f"{pool.name} holds {limit} {resource} with all {pool.nodes.high} nodes ({per_node} a node){others}",
        given=f"{amount} {resource}",
        allowed=f"{limit - taken} {resource}",
        fix=Fix(says=f"guarantee {fits}{more}", at=claim.path, value=fits),
    )


def _no_more(claim: Claim, resource: str, limit: int, taken: int, fits: int) -> Finding:
    before = f" and lends {taken} of them already" if taken else ""
    problem = f"the team is guaranteed {limit} {resource} of {claim.pool.name}{before}; it cannot lend more"
    most = f"{limit - taken}"
    return refuse("lend.over_guarantee", claim.path, problem, **_up_to(claim, resource, most, fits))


def _out_of_reach(claim: Claim, resource: str, limit: int, taken: int, fits: int) -> Finding:
    """A borrowing limit that could never be reached, even with everybody else idle."""
    before = f", and the team borrows {taken} of them already" if taken else ""
    problem = (
        f"of {claim.pool.name} other teams lend and nobody has {limit} {resource} at most{before}"
    )
    most = f"{limit - taken}"
    return refuse("borrow.never", claim.path, problem, **_up_to(claim, resource, most, fits))


class _Rest(TypedDict):
    given: str
    allowed: str
    fix: Fix


def _up_to(claim: Claim, resource: str, most: str, fits: int) -> _Rest:
    """What was asked for, how much there is, and the most that fits."""
    return _Rest(
        given=f"{claim.count * claim.per_unit[resource]} {resource}",
        allowed=f"0 to {most}",
        fix=Fix(says=f"{claim.path[2]} {fits}", at=claim.path, value=fits),
    )


def _start_notes(given: Amounts, pools: Pools, spec: PlatformSpec) -> list[Finding]:
    """Guarantees beyond the nodes that run from the beginning: say how many must start first."""
    findings: list[Finding] = []
    positions = {pool.name: i for i, pool in enumerate(spec.pools)}
    for pool in pools.values():
        if pool is None:
            continue
        need = max(
            ceil(given.get((pool.name, a.resource), 0) / a.per_node) for a in pool.advertised
        )
        if pool.start_nodes < need:
            findings.append(
                note(
                    "quota.nodes_to_start",
                    ("pools", positions[pool.name], "nodes"),
                    f"the guarantees of {pool.name} need {need} nodes;"
                    f" {pool.start_nodes} run from the beginning,"
                    f" {need - pool.start_nodes} start when jobs ask for them",
                    given=str(pool.nodes),
                )
            )
    return findings


def _quotas(
    team: Team,
    pools: Pools,
    positions: Mapping[str, int],
    nominal: Amounts,
    borrow: Amounts,
    lend: Amounts,
) -> tuple[Quota, ...]:
    """In the order of the pools and of what their nodes advertise, whatever the order of the keys."""
    mine = sorted({pool for pool, _ in (*nominal, *borrow)}, key=positions.__getitem__)
    used = (p for name in mine if (p := pools[name]))
    keys = ((p.name, a.resource) for p in used for a in p.advertised)
    return tuple(
        Quota(
            pool=key[0],
            resource=key[1],
            nominal=nominal.get(key, 0),
            borrow=borrow.get(key, 0),
            lend=None if team.lend is None else lend.get(key, 0),
        )
        for key in keys
        if key in nominal or key in borrow
    )
