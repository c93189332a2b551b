"""Quota entries such as `train: 32` or `serve/3g.20gb: 8`, in the resources that nodes advertise.

A stack file counts whole GPUs by a bare pool name, slices and shares by `pool/unit`. Teams claim so what they
are guaranteed, borrow and lend, and cohorts what they borrow and lend at most.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypedDict

from gpuyard.findings import Finding, Fix, Path, error, format_list
from gpuyard.names import SLICES_UNIT
from gpuyard.plan.pools.pools import DecidedPools
from gpuyard.plan.quotas.cohort_tree import QuotaAmounts
from gpuyard.plan.records import PoolPlan
from gpuyard.plan.sharing.compute_slices import by_slices, profiles, slices_of_one_gpu
from gpuyard.spec.suggestions import nearest_name

GrantedQuota = Mapping[int, QuotaAmounts]
"""By the index of the owner."""


@dataclass(frozen=True, slots=True)
class QuotaEntry:
    """One entry of a guarantee, borrow or lend, understood."""

    owner: int
    """A team, or a cohort, by its place in the stack file."""
    path: Path
    pool: PoolPlan
    count: int
    """As the stack file counts: GPUs, slices or shares."""
    per_unit: Mapping[str, int]
    """Resources of one of them; a bare key on a cut pool claims each of the slices of a GPU."""

    def formatted(self, resource: str) -> str:
        """How much of a resource it is, and of which count where whole GPUs became slices."""
        each = self.per_unit[resource]
        amount = f"{self.count * each} {resource}"
        if each == 1 and len(self.per_unit) == 1:
            return amount
        gpus = f"{self.count} whole GPU{'' if self.count == 1 else 's'}"
        return f"{amount} ({self.path[-1]}: {gpus} with {each} each)"


@dataclass(frozen=True, slots=True)
class InvalidQuotaEntry:
    """One entry that claims nothing of what there is."""

    problem: Finding | None = None
    """None when its pool is refused already."""
    is_misspelled: bool = False
    """True when it means something that is not counted here: then nobody knows what its owner can have.
    False when it means nothing, or only what another entry claims already."""


def parse_quota_entry(
    shares: Mapping[str, int], text: str, pools: DecidedPools, owner: int, path: Path
) -> QuotaEntry | InvalidQuotaEntry:
    """What one entry claims, or that it claims nothing and why."""
    count = shares[text]
    name, _, unit = text.partition("/")
    if name not in pools:
        return _unknown_pool(name, unit, shares, pools, path)
    pool = pools[name]
    if pool is None:
        return InvalidQuotaEntry()
    per_unit = _per_unit(pool, unit)
    if per_unit is None:
        return _unknown_unit(text, unit, shares, pool, path)
    return QuotaEntry(owner, path, pool, count, per_unit)


def _per_unit(pool: PoolPlan, unit: str) -> dict[str, int] | None:
    """What one unit is in resources: one of them, or for a bare key all that one GPU gives."""
    if (result := pool.counted_unit(unit)) is not None:
        return {result.resource: 1}
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
    name: str, unit: str, shares: Mapping[str, int], pools: DecidedPools, path: Path
) -> InvalidQuotaEntry:
    suggestion = nearest_name(name, list(pools))
    meant = f"{suggestion}/{unit}" if suggestion and unit else suggestion
    fix = (
        _move(shares, meant, path) if meant else Fix(message="remove it, or add the pool", at=path)
    )
    problem = error(
        "quota.unknown_pool",
        path,
        "no pool of that name",
        value=name,
        allowed=format_list(pools),
        fix=fix,
    )
    return InvalidQuotaEntry(problem, is_misspelled=meant is not None and meant not in shares)


def _move(shares: Mapping[str, int], key: str, path: Path) -> Fix:
    """The amount under another key, in its place; taken away where that key has an amount already."""
    old = path[-1]
    if key in shares:
        return Fix(message=f"remove it: {key} stands there already", at=path)
    moved = {key if text == old else text: count for text, count in shares.items()}
    return Fix(message=f"write {key}", at=path[:-1], value=moved)


def _unknown_unit(
    text: str, unit: str, shares: Mapping[str, int], pool: PoolPlan, path: Path
) -> InvalidQuotaEntry:
    keys = [pool.key(a.resource) for a in pool.counted_resources]
    suggestion = nearest_name(unit, [a.unit for a in pool.counted_resources]) if unit else None
    meant = f"{pool.name}/{suggestion}" if suggestion else keys[0]
    slices = _slices(shares, unit, pool, path)
    why = (
        f"nodes of {pool.name} advertise no `{unit}`"
        if unit
        else f"the GPUs of {pool.name} are cut differently, so a number of whole GPUs says nothing"
    )
    problem = error(
        "quota.unit",
        path,
        why,
        value=text,
        allowed=", ".join(keys),
        fix=slices or _move(shares, meant, path),
    )
    return InvalidQuotaEntry(problem, is_misspelled=slices is not None or meant not in shares)


def _slices(shares: Mapping[str, int], unit: str, pool: PoolPlan, path: Path) -> Fix | None:
    """Where compute slices are counted, those of the profiles that the entries name."""
    if not any(a.unit == unit and a.resource in profiles(pool) for a in pool.advertised):
        return None
    counted = by_slices(shares, pool)
    key = f"{pool.name}/{SLICES_UNIT}"
    return Fix(message=f"write {key}: {counted[key]}", at=path[:-1], value=counted)


def capacity(pool: PoolPlan, resource: str) -> int:
    """How many of a resource the pool holds when every node runs."""
    return per_node(pool, resource) * pool.nodes.high


def per_node(pool: PoolPlan, resource: str) -> int:
    """How many of a resource one node counts for."""
    return next(a.per_node for a in pool.counted_resources if a.resource == resource)


def grant_quota(
    claims: list[QuotaEntry],
    limit: Callable[[QuotaEntry, str], int],
    refusal: Callable[[QuotaEntry, str, int, int, int], Finding],
    *,
    per_owner: bool = True,
) -> tuple[GrantedQuota, list[Finding]]:
    """Give the claims one after another, within a limit for each owner or for all together.

    A claim that exceeds it is refused, and counted as its fix would leave it: nobody is blamed for it twice.
    """
    granted: dict[int, QuotaAmounts] = defaultdict(lambda: defaultdict(int))
    used: dict[tuple[int | None, str, str], int] = defaultdict(int)
    findings: list[Finding] = []
    for claim in claims:
        owner = claim.owner if per_owner else None
        limits = {r: limit(claim, r) for r in claim.per_unit}
        in_use = {r: used[owner, claim.pool.name, r] for r in claim.per_unit}
        free = {r: (limits[r] - in_use[r]) // n for r, n in claim.per_unit.items()}
        tightest = min(free, key=lambda r: free[r])
        fits = free[tightest]
        if claim.count > fits:
            findings.append(refusal(claim, tightest, limits[tightest], in_use[tightest], fits))
        for resource, n in claim.per_unit.items():
            amount = n * min(claim.count, fits)
            used[owner, claim.pool.name, resource] += amount
            granted[claim.owner][claim.pool.name, resource] += amount
    return granted, findings


class _Rest(TypedDict):
    value: str
    allowed: str
    fix: Fix


def at_most(claim: QuotaEntry, resource: str, most: str, fits: int) -> _Rest:
    """What was asked for, how much there is, and the most that fits."""
    return _Rest(
        value=claim.formatted(resource),
        allowed=f"0 to {most}",
        fix=Fix(message=f"{claim.path[-2]} {fits}", at=claim.path, value=fits),
    )
