"""Quota entries such as `train: 32` or `serve/3g.20gb: 8`, in the resources that nodes advertise.

A stack file counts whole GPUs by a bare pool name, slices and shares by `pool/unit`. Teams have entries for
guarantee, borrow and lend, and cohorts for their borrowing and lending limits.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypedDict

from gpuyard.plan.pools.pools import DecidedPools
from gpuyard.plan.quotas.cohorts import QuotaAmounts
from gpuyard.plan.records import PoolPlan
from gpuyard.plan.sharing.compute_slices import (
    compute_slices_by_resource,
    convert_to_compute_slices,
    slices_of_one_gpu,
)
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list
from gpuyard_core.names import SLICES_UNIT
from gpuyard_core.suggestions import nearest_name

GrantedQuota = Mapping[int, QuotaAmounts]
"""Amounts by the index of the owner."""


@dataclass(frozen=True, slots=True)
class QuotaEntry:
    """One parsed entry of a guarantee, borrow or lend."""

    team_or_cohort_index: int
    """A team or a cohort, by its index in the stack file."""
    path: Path
    pool: PoolPlan
    count: int
    """The count in the stack file: GPUs, slices or shares."""
    per_unit: Mapping[str, int]
    """Resources of one unit; on a MIG pool, a bare key is for all slices of a GPU."""

    def formatted(self, resource: str) -> str:
        """The amount of a resource, with the original count if whole GPUs became slices."""
        each = self.per_unit[resource]
        amount = f"{self.count * each} {resource}"
        if each == 1 and len(self.per_unit) == 1:
            return amount
        gpus = f"{self.count} whole GPU{'' if self.count == 1 else 's'}"
        return f"{amount} ({self.path[-1]}: {gpus} with {each} each)"


@dataclass(frozen=True, slots=True)
class InvalidQuotaEntry:
    """One entry that matches no existing capacity."""

    problem: Diagnostic | None = None
    """None if its pool is already rejected."""
    is_misspelled: bool = False
    """True if it is misspelled: what its owner can use is then unknown.
    False if it means nothing, or only what another entry already has."""


def parse_quota_entry(
    shares: Mapping[str, int], text: str, pools: DecidedPools, owner: int, path: Path
) -> QuotaEntry | InvalidQuotaEntry:
    """Parse one entry; an invalid entry has the reason."""
    count = shares[text]
    name, _, unit = text.partition("/")
    if name not in pools:
        suggestion = nearest_name(name, list(pools))
        meant = f"{suggestion}/{unit}" if suggestion and unit else suggestion
        fix = (
            _move(shares, meant, path)
            if meant
            else Fix(message="remove it, or add the pool", at=path)
        )
        problem = error(
            "quota.unknown_pool",
            path,
            "no pool has this name",
            given=name,
            allowed=format_list(pools),
            fix=fix,
        )
        return InvalidQuotaEntry(problem, is_misspelled=meant is not None and meant not in shares)
    pool = pools[name]
    if pool is None:
        return InvalidQuotaEntry()
    per_unit = _per_unit(pool, unit)
    if per_unit is None:
        return _unknown_unit(text, unit, shares, pool, path)
    return QuotaEntry(owner, path, pool, count, per_unit)


def _per_unit(pool: PoolPlan, unit: str) -> dict[str, int] | None:
    """The resources of one unit: one of its resource, or for a bare key all those of one GPU."""
    if (result := pool.find_counted_resource(unit)) is not None:
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


def _move(shares: Mapping[str, int], key: str, path: Path) -> Fix:
    """Move the amount to another key; remove the entry if that key has an amount already."""
    old = path[-1]
    if key in shares:
        return Fix(message=f"remove it: {key} exists already", at=path)
    moved = {key if text == old else text: count for text, count in shares.items()}
    return Fix(message=f"write {key}", at=path[:-1], value=moved)


def _unknown_unit(
    text: str, unit: str, shares: Mapping[str, int], pool: PoolPlan, path: Path
) -> InvalidQuotaEntry:
    keys = [pool.stack_file_key(a.resource) for a in pool.counted_resources]
    suggestion = nearest_name(unit, [a.unit for a in pool.counted_resources]) if unit else None
    meant = f"{pool.name}/{suggestion}" if suggestion else keys[0]
    slices = _slices(shares, unit, pool, path)
    why = (
        f"nodes of {pool.name} advertise no `{unit}`"
        if unit
        else f"the GPUs of {pool.name} have different MIG layouts, so a number of whole GPUs is ambiguous"
    )
    problem = error(
        "quota.unit",
        path,
        why,
        given=text,
        allowed=", ".join(keys),
        fix=slices or _move(shares, meant, path),
    )
    return InvalidQuotaEntry(problem, is_misspelled=slices is not None or meant not in shares)


def _slices(shares: Mapping[str, int], unit: str, pool: PoolPlan, path: Path) -> Fix | None:
    """If queues count compute slices, the entries of profiles converted to compute slices."""
    if not any(
        a.unit == unit and a.resource in compute_slices_by_resource(pool) for a in pool.advertised
    ):
        return None
    counted = convert_to_compute_slices(shares, pool)
    key = f"{pool.name}/{SLICES_UNIT}"
    return Fix(message=f"write {key}: {counted[key]}", at=path[:-1], value=counted)


def capacity(pool: PoolPlan, resource: str) -> int:
    """How many of a resource the pool has when every node runs."""
    return per_node(pool, resource) * pool.nodes.high


def per_node(pool: PoolPlan, resource: str) -> int:
    """How many of a resource one node has."""
    return next(a.per_node for a in pool.counted_resources if a.resource == resource)


def grant_quota(
    claims: list[QuotaEntry],
    limit: Callable[[QuotaEntry, str], int],
    refusal: Callable[[QuotaEntry, str, int, int, int], Diagnostic],
    *,
    per_owner: bool = True,
) -> tuple[GrantedQuota, list[Diagnostic]]:
    """Grant the entries one after another, within a limit for each owner or for all together.

    An entry that exceeds the limit gets a finding, and is counted with the value of its fix, so that it causes
    no second finding.
    """
    granted: dict[int, QuotaAmounts] = defaultdict(lambda: defaultdict(int))
    used: dict[tuple[int | None, str, str], int] = defaultdict(int)
    findings: list[Diagnostic] = []
    for claim in claims:
        owner = claim.team_or_cohort_index if per_owner else None
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
            granted[claim.team_or_cohort_index][claim.pool.name, resource] += amount
    return granted, findings


class _Rest(TypedDict):
    given: str
    allowed: str
    fix: Fix


def exceeded_limit_details(claim: QuotaEntry, resource: str, most: str, fits: int) -> _Rest:
    """The given value, the allowed range and the fix of an entry that exceeds a limit."""
    return _Rest(
        given=claim.formatted(resource),
        allowed=f"0 to {most}",
        fix=Fix(message=f"{claim.path[-2]} {fits}", at=claim.path, value=fits),
    )
