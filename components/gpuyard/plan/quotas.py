"""Guarantees, borrowing and lending, in the resources that nodes really advertise.

A stack file counts whole GPUs by a bare pool name, slices and shares by `pool/unit`. Here they become
quotas of resources, and are proved against what the pools hold when every node runs.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from gpuyard.findings import Finding, Fix, Path
from gpuyard.plan.pools import Pools
from gpuyard.plan.records import PoolPlan, Quota
from gpuyard.plan.refusals import note, refuse
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.problems import nearest
from gpuyard.spec.teams import Team

Key = tuple[str, str]
"""A pool and a resource."""
Amounts = dict[Key, int]


@dataclass(frozen=True, slots=True)
class Claim:
    """One entry of a team's guarantee, borrow or lend, understood."""

    team: int
    path: Path
    pool: PoolPlan
    amounts: Mapping[str, int]
    """Amount by resource; a bare key on a cut pool claims each of the slices of a GPU."""
    per_unit: Mapping[str, int]
    """Resource amounts of one unit as the stack file counts it."""


def plan_quotas(
    spec: PlatformSpec, pools: Pools
) -> tuple[dict[int, tuple[Quota, ...]], Amounts, list[Finding]]:
    """Quotas by team index, what remains unassigned, and every finding about them."""
    findings: list[Finding] = []
    claims: dict[str, list[Claim]] = {"guarantee": [], "borrow": [], "lend": []}
    for index, team in enumerate(spec.teams):
        for kind, shares in (
            ("guarantee", team.guarantee),
            ("borrow", team.borrow),
            ("lend", team.lend or {}),
        ):
            for text, amount in shares.items():
                claim, problem = _claim(text, amount, pools, index, ("teams", index, kind, text))
                if problem:
                    findings.append(problem)
                elif claim:
                    claims[kind].append(claim)
    findings += _over_capacity(claims["guarantee"])
    nominal = {i: _sum(claims["guarantee"], i) for i in range(len(spec.teams))}
    lend = {i: _sum(claims["lend"], i) for i in range(len(spec.teams))}
    findings += _lend_too_much(claims["lend"], nominal)
    spare = _spare(pools, nominal)
    findings += _borrow_too_much(claims["borrow"], nominal, lend, spec.teams, spare)
    findings += _start_notes(claims["guarantee"], pools, spec)
    quotas = {
        i: _quotas(team, nominal[i], _sum(claims["borrow"], i), lend[i])
        for i, team in enumerate(spec.teams)
    }
    return quotas, spare, findings


def _claim(
    text: str, amount: int, pools: Pools, team: int, path: Path
) -> tuple[Claim | None, Finding | None]:
    name, _, unit = text.partition("/")
    if name not in pools:
        return None, _unknown_pool(name, unit, pools, path)
    pool = pools[name]
    if pool is None:
        return None, None  # the pool itself is refused; one finding is enough
    per_unit = _per_unit(pool, unit)
    if per_unit is None:
        return None, _unknown_unit(text, unit, pool, path)
    return Claim(team, path, pool, {r: n * amount for r, n in per_unit.items()}, per_unit), None


def _per_unit(pool: PoolPlan, unit: str) -> dict[str, int] | None:
    """What one unit is in resources: one of them, or for a bare key all that one GPU gives."""
    if unit or pool.sharing == "none":
        found = pool.unit(unit)
        return None if found is None else {found.resource: 1}
    if pool.sharing in {"time-slicing", "mps"}:
        return {pool.advertised[0].resource: pool.replicas}
    alike = len({tuple(x.counts.items()) for x in pool.layouts}) == 1
    if not alike or pool.unit("") is not None:
        return None  # GPUs of one node differ: "one GPU" has no single meaning
    return {a.resource: a.per_node // pool.gpus_per_node for a in pool.advertised}


def _unknown_pool(name: str, unit: str, pools: Pools, path: Path) -> Finding:
    near = nearest(name, list(pools))
    key = f"{near}/{unit}" if unit else near
    return refuse(
        "quota.unknown_pool",
        path,
        "no pool of that name",
        given=name,
        allowed=", ".join(pools),
        fix=Fix(says=f"write {key}") if near else Fix(says="remove it, or add the pool", at=path),
    )


def _unknown_unit(text: str, unit: str, pool: PoolPlan, path: Path) -> Finding:
    keys = [f"{pool.name}/{a.unit}" if a.unit else pool.name for a in pool.advertised]
    near = nearest(unit, [a.unit for a in pool.advertised if a.unit])
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
        fix=Fix(says=f"write {pool.name}/{near}" if near else f"count in {keys[0]}"),
    )


def _sum(claims: list[Claim], team: int) -> Amounts:
    total: Amounts = defaultdict(int)
    for claim in claims:
        if claim.team == team:
            for resource, amount in claim.amounts.items():
                total[claim.pool.name, resource] += amount
    return dict(total)


def capacity(pool: PoolPlan, resource: str) -> int:
    """How many of a resource the pool holds when every node runs."""
    return sum(a.per_node for a in pool.advertised if a.resource == resource) * pool.nodes.high


def _over_capacity(claims: list[Claim]) -> list[Finding]:
    """Refuse the claim that takes a pool over its maximum, once per pool and resource."""
    findings: list[Finding] = []
    used: Amounts = defaultdict(int)
    blamed: set[Path] = set()
    for claim in claims:
        for resource, amount in claim.amounts.items():
            before = used[claim.pool.name, resource]
            limit = capacity(claim.pool, resource)
            used[claim.pool.name, resource] += amount
            if before + amount <= limit or claim.path in blamed:
                continue
            blamed.add(claim.path)
            used[claim.pool.name, resource] = limit  # the fix leaves the pool full, no more
            findings.append(_too_much(claim, resource, before, limit))
    return findings


def _too_much(claim: Claim, resource: str, before: int, limit: int) -> Finding:
    pool, amount = claim.pool, claim.amounts[resource]
    per_node = (
        limit // pool.nodes.high
        if pool.nodes.high
        else sum(a.per_node for a in pool.advertised if a.resource == resource)
    )
    fits = max(0, limit - before) // claim.per_unit[resource]
    need = ceil((before + amount) / per_node)
    others = f", other teams have {before} of them" if before else ""
    return refuse(
        "quota.over_capacity",
        claim.path,
        f"{pool.name} holds {limit} {resource} with all {pool.nodes.high} nodes ({per_node} a node){others}",
        given=f"{amount} {resource}",
        allowed=f"{max(0, limit - before)} {resource}",
        fix=Fix(
            says=f"guarantee {fits}, or let {pool.name} have {need} nodes",
            at=claim.path,
            value=fits,
        ),
    )


def _lend_too_much(claims: list[Claim], nominal: Mapping[int, Amounts]) -> list[Finding]:
    findings = []
    for claim in claims:
        for resource, amount in claim.amounts.items():
            has = nominal[claim.team].get((claim.pool.name, resource), 0)
            if amount > has:
                most = has // claim.per_unit[resource]
                findings.append(
                    refuse(
                        "lend.over_guarantee",
                        claim.path,
                        f"the team is guaranteed {has} {resource} of {claim.pool.name}; it cannot lend more",
                        given=f"{amount} {resource}",
                        allowed=f"0 to {has}",
                        fix=Fix(says=f"lend {most}", at=claim.path, value=most),
                    )
                )
                break
    return findings


def _spare(pools: Pools, nominal: Mapping[int, Amounts]) -> Amounts:
    """What no team is guaranteed; it belongs to the cohort, so that it can be borrowed."""
    spare: Amounts = {}
    for pool in pools.values():
        for offer in pool.advertised if pool else ():
            key = (pool.name, offer.resource) if pool else ("", "")
            spare[key] = offer.per_node * (pool.nodes.high if pool else 0) - sum(
                n.get(key, 0) for n in nominal.values()
            )
    return spare


def _borrow_too_much(
    claims: list[Claim],
    nominal: Mapping[int, Amounts],
    lend: Mapping[int, Amounts],
    teams: tuple[Team, ...],
    spare: Amounts,
) -> list[Finding]:
    """Refuse a borrowing limit that could never be reached, even with everybody else idle."""
    findings: list[Finding] = []
    for claim in claims:
        for resource, amount in claim.amounts.items():
            key = (claim.pool.name, resource)
            others = sum(
                lend[i].get(key, 0) if teams[i].lend is not None else nominal[i].get(key, 0)
                for i in nominal
                if i != claim.team
            )
            free = max(0, spare.get(key, 0))
            if amount > others + free:
                most = (others + free) // claim.per_unit[resource]
                findings.append(
                    refuse(
                        "borrow.never",
                        claim.path,
                        f"of {claim.pool.name} other teams lend {others} {resource} at most,"
                        f" and {free} are nobody's",
                        given=f"{amount} {resource}",
                        allowed=f"0 to {others + free}",
                        fix=Fix(says=f"borrow {most}", at=claim.path, value=most),
                    )
                )
                break
    return findings


def _start_notes(claims: list[Claim], pools: Pools, spec: PlatformSpec) -> list[Finding]:
    """Guarantees beyond the nodes that run from the beginning: say how many must start first."""
    findings: list[Finding] = []
    for index, pool_spec in enumerate(spec.pools):
        pool = pools.get(pool_spec.name)
        if pool is None or pool_spec is not next(p for p in spec.pools if p.name == pool_spec.name):
            continue
        wanted: Amounts = defaultdict(int)
        for claim in claims:
            if claim.pool is pool:
                for resource, amount in claim.amounts.items():
                    wanted[pool.name, resource] += amount
        need = max(
            (ceil(wanted[pool.name, a.resource] / a.per_node) for a in pool.advertised), default=0
        )
        if pool.start_nodes < need <= pool.nodes.high:
            findings.append(
                note(
                    "quota.nodes_to_start",
                    ("pools", index, "nodes"),
                    f"the guarantees of {pool.name} need {need} nodes; {pool.start_nodes} run from the beginning,"
                    f" {need - pool.start_nodes} start when jobs ask for them",
                    given=str(pool.nodes),
                )
            )
    return findings


def _quotas(team: Team, nominal: Amounts, borrow: Amounts, lend: Amounts) -> tuple[Quota, ...]:
    keys = dict.fromkeys([*nominal, *borrow])
    return tuple(
        Quota(
            pool=pool,
            resource=resource,
            nominal=nominal.get((pool, resource), 0),
            borrow=borrow.get((pool, resource), 0),
            lend=None if team.lend is None else lend.get((pool, resource), 0),
        )
        for pool, resource in keys
    )
