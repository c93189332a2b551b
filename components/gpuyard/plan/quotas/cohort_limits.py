"""Borrowing and lending limits of cohorts: read, bound from the leaves to the root, and proved."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from gpuyard.findings import Finding, Path, error, warning
from gpuyard.plan.pools.pools import DecidedPools
from gpuyard.plan.quotas.cohort_tree import Limit, QuotaAmounts, add
from gpuyard.plan.quotas.entries import (
    GrantedQuota,
    QuotaEntry,
    at_most,
    grant_quota,
    parse_quota_entry,
)
from gpuyard.plan.quotas.flow import Flow
from gpuyard.spec.platform import PlatformSpec

_Limit = dict[int, list[QuotaEntry]]
"""By cohort: a cohort that says nothing is not in it, one that says `{}` has no claims."""


class CohortClaims:
    """The limits of all cohorts, understood."""

    def __init__(self, spec: PlatformSpec, pools: DecidedPools) -> None:
        self.names = [cohort.name for cohort in spec.queueing.cohorts]
        self.findings: list[Finding] = []
        self.misspelt = False
        """True when an entry means something that is not counted here."""
        self.borrow: _Limit = {}
        self.lend: _Limit = {}
        for index, cohort in enumerate(spec.queueing.cohorts):
            path: Path = ("queueing", "cohorts", index)
            if cohort.borrow is not None:
                self.borrow[index] = self._read(cohort.borrow, pools, index, (*path, "borrow"))
            if cohort.lend is not None:
                self.lend[index] = self._read(cohort.lend, pools, index, (*path, "lend"))

    def _read(
        self, shares: Mapping[str, int], pools: DecidedPools, index: int, path: Path
    ) -> list[QuotaEntry]:
        results: list[QuotaEntry] = []
        for text in shares:
            read = parse_quota_entry(shares, text, pools, index, (*path, text))
            if isinstance(read, QuotaEntry):
                results.append(read)
            else:
                self.misspelt = self.misspelt or read.is_misspelled
                self.findings += [read.problem] if read.problem else []
        return results


def apply_limits(flow: Flow, claims: CohortClaims) -> list[Finding]:
    """Give every cohort its limits: lending from the leaves upwards, borrowing from the root downwards."""
    findings: list[Finding] = []
    for cohort in flow.tree.bottom_up:
        if cohort in claims.lend:
            findings += _bind_lending(flow, cohort, claims)
        flow.cohorts[cohort].propagate()
    for cohort in reversed(flow.tree.bottom_up):
        if cohort in claims.borrow:
            flow.cohorts[cohort].borrow = Limit(_amounts(claims.borrow[cohort]), unset=0)
    return findings


def _bind_lending(flow: Flow, cohort: int, claims: CohortClaims) -> list[Finding]:
    name = claims.names[cohort]

    def no_more(claim: QuotaEntry, resource: str, limit: int, used: int, fits: int) -> Finding:
        before = f" and the cohort {used} of them already" if used else ""
        return error(
            "lend.over_guarantee",
            claim.path,
            f"the teams of cohort {name} lend {limit} {resource} of {claim.pool.name} together"
            f"{before}; it cannot lend more",
            **at_most(claim, resource, f"{limit - used}", fits),
        )

    tree = flow.cohorts[cohort]
    granted, findings = grant_quota(
        claims.lend[cohort], lambda claim, r: tree.nominal[claim.pool.name, r], no_more
    )
    tree.lend = Limit(granted[cohort], unset=0)
    return findings


def _amounts(claims: Sequence[QuotaEntry]) -> QuotaAmounts:
    """What these claims ask for, whether it is there or not."""
    total: QuotaAmounts = defaultdict(int)
    for claim in claims:
        add(total, {(claim.pool.name, r): n * claim.count for r, n in claim.per_unit.items()})
    return total


def check_limits(flow: Flow, claims: CohortClaims, borrowed: GrantedQuota) -> list[Finding]:
    """Cut what is borrowed to what is outside, and to what the cohort's teams may use; and say so."""
    findings: list[Finding] = []
    use: list[QuotaAmounts] = [defaultdict(int) for _ in flow.tree.parents]
    for team, home in enumerate(flow.tree.cohort_by_team):
        if home is not None:
            add(use[home], borrowed[team])
    for cohort in flow.tree.bottom_up:
        if cohort in claims.borrow:
            findings += _check_borrowing(flow, cohort, claims, use[cohort])
            limit = flow.cohorts[cohort].borrow
            use[cohort] = {key: min(n, limit[key] or 0) for key, n in use[cohort].items()}
        parent = flow.tree.parents[cohort]
        if parent is not None:
            add(use[parent], use[cohort])
    return findings


def _check_borrowing(
    flow: Flow, cohort: int, claims: CohortClaims, use: Mapping[tuple[str, str], int]
) -> list[Finding]:
    name = claims.names[cohort]

    def never(claim: QuotaEntry, resource: str, limit: int, used: int, fits: int) -> Finding:
        key, pool = (claim.pool.name, resource), claim.pool.name
        why = (
            f"outside of cohort {name} there are {limit} {resource} of {pool} at most"
            if flow.cohorts[cohort].available_outside(key) <= use.get(key, 0)
            else f"the teams of cohort {name} may borrow {limit} {resource} of {pool} together"
        )
        before = f", and the cohort borrows {used} of them already" if used else ""
        return warning(
            "borrow.never",
            claim.path,
            f"{why}{before}: the rest of the limit has no effect",
            **at_most(claim, resource, f"{limit - used}", fits),
        )

    def within_reach(claim: QuotaEntry, resource: str) -> int:
        key = (claim.pool.name, resource)
        return min(flow.cohorts[cohort].available_outside(key), use.get(key, 0))

    granted, findings = grant_quota(claims.borrow[cohort], within_reach, never)
    flow.cohorts[cohort].borrow = Limit(granted[cohort], unset=0)
    return findings
