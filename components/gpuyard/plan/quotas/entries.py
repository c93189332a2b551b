"""Quota entries such as `train: 32` or `serve/3g.20gb: 8`, in the resources that nodes advertise.

A stack file counts whole GPUs by a bare pool name, slices and shares by `pool/unit`. Teams claim so what they
are guaranteed, borrow and lend, and cohorts what they borrow and lend at most.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypedDict

from gpuyard.findings import Finding, Fix, Path, listed, refuse
from gpuyard.names import SLICES_UNIT
from gpuyard.plan.pools.pools import Pools
from gpuyard.plan.quotas.cohort_tree import QuotaAmounts
from gpuyard.plan.records import PoolPlan
from gpuyard.plan.sharing.compute_slices import by_slices, profiles, slices_of_one_gpu
from gpuyard.spec.nearest import nearest

Granted = Mapping[int, QuotaAmounts]
"""By the index of the owner."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One entry of a guarantee, borrow or lend, understood."""

    owner: int
    """A team, or a cohort, by its place in the stack file."""
    path: Path
    pool: PoolPlan
    count: int
    """As the stack file counts: GPUs, slices or shares."""
    per_unit: Mapping[str, int]
    """Resources of one of them; a bare key on a cut pool claims each of the slices of a GPU."""

    def shown(self, resource: str) -> str:
        """How much of a resource it is, and of which count where whole GPUs became slices."""
        each = self.per_unit[resource]
        amount = f"{self.count * each} {resource}"
        if each == 1 and len(self.per_unit) == 1:
            return amount
        gpus = f"{self.count} whole GPU{'' if self.count == 1 else 's'}"
        return f"{amount} ({self.path[-1]}: {gpus} with {each} each)"


@dataclass(frozen=True, slots=True)
class NoClaim:
    """One entry that claims nothing of what there is."""

    problem: Finding | None = None
    """None when its pool is refused already."""
    misspelt: bool = False
    """True when it means something that is not counted here: then nobody knows what its owner can have.
    False when it means nothing, or only what another entry claims already."""


def read_claim(
    shares: Mapping[str, int], text: str, pools: Pools, owner: int, path: Path
) -> Claim | NoClaim:
    """What one entry claims, or that it claims nothing and why."""
    count = shares[text]
    name, _, unit = text.partition("/")
    if name not in pools:
        return _unknown_pool(name, unit, shares, pools, path)
    pool = pools[name]
    if pool is None:
        return NoClaim()
    per_unit = _per_unit(pool, unit)
    if per_unit is None:
        return _unknown_unit(text, unit, shares, pool, path)
    return Claim(owner, path, pool, count, per_unit)


def _per_unit(pool: PoolPlan, unit: str) -> dict[str, int] | None:
    """What one unit is in resources: one of them, or for a bare key all that one GPU gives."""
    if (found := pool.counted_unit(unit)) is not None:
        return {found.resource: 1}
    if unit:
        return None
    if pool.compute_slices is not None:
        slices = slices_of_one_gpu(pool)
        return {pool.compute_slices.resource: slices} if slices else None
    if pool.sharing.shares_whole_gpus:
        return {pool.advertised[0].resource: pool.replicas}
    if len({tuple(x.counts.items()) for x in pool.layouts}) > 1:
        return None  # GPUs of one node differ: "one GPU" has no single meaning
    return {a.resource: a.per_node // pool.gpus_per_node for a in pool.advertised}


def _unknown_pool(
    name: str, unit: str, shares: Mapping[str, int], pools: Pools, path: Path
) -> NoClaim:
    near = nearest(name, list(pools))
    meant = f"{near}/{unit}" if near and unit else near
    fix = _move(shares, meant, path) if meant else Fix(says="remove it, or add the pool", at=path)
    problem = refuse(
        "quota.unknown_pool",
        path,
        "no pool of that name",
        given=name,
        allowed=listed(pools),
        fix=fix,
    )
    return NoClaim(problem, misspelt=meant is not None and meant not in shares)


def _move(shares: Mapping[str, int], key: str, path: Path) -> Fix:
    """The amount under another key, in its place; taken away where that key has an amount already."""
    old = path[-1]
    if key in shares:
        return Fix(says=f"remove it: {key} stands there already", at=path)
    moved = {key if text == old else text: count for text, count in shares.items()}
    return Fix(says=f"write {key}", at=path[:-1], value=moved)


def _unknown_unit(
    text: str, unit: str, shares: Mapping[str, int], pool: PoolPlan, path: Path
) -> NoClaim:
    keys = [pool.key(a.resource) for a in pool.counted]
    near = nearest(unit, [a.unit for a in pool.counted]) if unit else None
    meant = f"{pool.name}/{near}" if near else keys[0]
    slices = _slices(shares, unit, pool, path)
    why = (
        f"nodes of {pool.name} advertise no `{unit}`"
        if unit
        else f"the GPUs of {pool.name} are cut differently, so a number of whole GPUs says nothing"
    )
    problem = refuse(
        "quota.unit",
        path,
        why,
        given=text,
        allowed=", ".join(keys),
        fix=slices or _move(shares, meant, path),
    )
    return NoClaim(problem, misspelt=slices is not None or meant not in shares)


def _slices(shares: Mapping[str, int], unit: str, pool: PoolPlan, path: Path) -> Fix | None:
    """Where compute slices are counted, those of the profiles that the entries name."""
    if not any(a.unit == unit and a.resource in profiles(pool) for a in pool.advertised):
        return None
    counted = by_slices(shares, pool)
    key = f"{pool.name}/{SLICES_UNIT}"
    return Fix(says=f"write {key}: {counted[key]}", at=path[:-1], value=counted)


def capacity(pool: PoolPlan, resource: str) -> int:
    """How many of a resource the pool holds when every node runs."""
    return per_node(pool, resource) * pool.nodes.high


def per_node(pool: PoolPlan, resource: str) -> int:
    """How many of a resource one node counts for."""
    return next(a.per_node for a in pool.counted if a.resource == resource)


def grant(
    claims: list[Claim],
    limit: Callable[[Claim, str], int],
    refusal: Callable[[Claim, str, int, int, int], Finding],
    *,
    per_owner: bool = True,
) -> tuple[Granted, list[Finding]]:
    """Give the claims one after another, within a limit for each owner or for all together.

    A claim that exceeds it is refused, and counted as its fix would leave it: nobody is blamed for it twice.
    """
    granted: dict[int, QuotaAmounts] = defaultdict(lambda: defaultdict(int))
    used: dict[tuple[int | None, str, str], int] = defaultdict(int)
    findings: list[Finding] = []
    for claim in claims:
        owner = claim.owner if per_owner else None
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
            granted[claim.owner][claim.pool.name, resource] += amount
    return granted, findings


class _Rest(TypedDict):
    given: str
    allowed: str
    fix: Fix


def up_to(claim: Claim, resource: str, most: str, fits: int) -> _Rest:
    """What was asked for, how much there is, and the most that fits."""
    return _Rest(
        given=claim.shown(resource),
        allowed=f"0 to {most}",
        fix=Fix(says=f"{claim.path[-2]} {fits}", at=claim.path, value=fits),
    )
