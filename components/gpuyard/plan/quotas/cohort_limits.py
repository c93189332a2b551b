"""Borrowing and lending limits of cohorts: parsed, applied over the tree, and checked."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpuyard.plan.pools.pools import DecidedPools
from gpuyard.plan.quotas.cohorts import (
    ROOT,
    CohortHierarchy,
    CohortIndex,
    CohortQuotaNode,
    Key,
    Limit,
    QuotaAmounts,
    add_amounts,
)
from gpuyard.plan.quotas.entries import (
    GrantedQuota,
    QuotaEntry,
    exceeded_limit_details,
    grant_quota,
    parse_quota_entry,
)
from gpuyard.spec.platform import PlatformSpec
from gpuyard_core.findings import Diagnostic, Path, error, warning

# `CohortQuotaNode` defines how Kueue counts; the root also has the unassigned capacity.


class CohortQuotas:
    """The cohorts of a stack file, with the quota of each."""

    def __init__(
        self, tree: CohortHierarchy, spare: Mapping[Key, int], shared: Sequence[Mapping[Key, int]]
    ) -> None:
        self.tree = tree
        self.cohorts: dict[CohortIndex, CohortQuotaNode] = {ROOT: CohortQuotaNode()}
        """By index in the stack file. The quota of a cohort is complete once its descendants have propagated."""
        for cohort in reversed(tree.bottom_up):
            self.cohorts[cohort] = CohortQuotaNode(parent=self.cohorts[tree.parents[cohort]])
        add_amounts(self.cohorts[ROOT].nominal, spare)
        for home, amounts in zip(tree.cohort_by_team, shared, strict=True):
            add_amounts(self.cohorts[home].nominal, amounts)


def summed(amounts: Iterable[Mapping[Key, int]]) -> QuotaAmounts:
    """The sum of all amounts; in one pass, because there may be a thousand of them."""
    total: QuotaAmounts = defaultdict(int)
    for one in amounts:
        add_amounts(total, one)
    return total


_Limit = dict[int, list[QuotaEntry]]
"""By cohort: a cohort without the field is not in it, a cohort with `{}` has no entries."""


class CohortClaims:
    """The parsed limits of all cohorts."""

    def __init__(self, spec: PlatformSpec, pools: DecidedPools) -> None:
        self.names = [cohort.name for cohort in spec.queueing.cohorts]
        self.findings: list[Diagnostic] = []
        self.misspelt = False
        """Whether an entry is misspelled, so that what it means is not counted."""
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


def apply_limits(flow: CohortQuotas, claims: CohortClaims) -> Iterator[Diagnostic]:
    """Set the limits of every cohort: lending from the leaves to the root, borrowing from the root down."""
    for cohort in flow.tree.bottom_up:
        if cohort in claims.lend:
            yield from _bind_lending(flow, cohort, claims)
        flow.cohorts[cohort].propagate()
    for cohort in reversed(flow.tree.bottom_up):
        if cohort in claims.borrow:
            flow.cohorts[cohort].borrow = Limit(_amounts(claims.borrow[cohort]), unset=0)


def _bind_lending(flow: CohortQuotas, cohort: int, claims: CohortClaims) -> list[Diagnostic]:
    name = claims.names[cohort]

    def no_more(claim: QuotaEntry, resource: str, limit: int, used: int, fits: int) -> Diagnostic:
        before = f" and the cohort already lends {used} of them" if used else ""
        return error(
            "lend.over_guarantee",
            claim.path,
            f"the teams of cohort {name} lend {limit} {resource} of {claim.pool.name} together"
            f"{before}: it cannot lend more",
            **exceeded_limit_details(claim, resource, f"{limit - used}", fits),
        )

    tree = flow.cohorts[cohort]
    granted, findings = grant_quota(
        claims.lend[cohort], lambda claim, r: tree.nominal[claim.pool.name, r], no_more
    )
    tree.lend = Limit(granted[cohort], unset=0)
    return findings


def _amounts(claims: Sequence[QuotaEntry]) -> QuotaAmounts:
    """The amounts of these entries, whether the capacity exists or not."""
    total: QuotaAmounts = defaultdict(int)
    for claim in claims:
        add_amounts(
            total, {(claim.pool.name, r): n * claim.count for r, n in claim.per_unit.items()}
        )
    return total


def check_limits(
    flow: CohortQuotas, claims: CohortClaims, borrowed: GrantedQuota
) -> Iterator[Diagnostic]:
    """Reduce borrowing limits to the capacity outside and to what the cohort's teams may use, with a warning."""
    use: list[QuotaAmounts] = [defaultdict(int) for _ in flow.tree.parents]
    for team, home in enumerate(flow.tree.cohort_by_team):
        if home is not None:
            add_amounts(use[home], borrowed[team])
    for cohort in flow.tree.bottom_up:
        if cohort in claims.borrow:
            yield from _check_borrowing(flow, cohort, claims, use[cohort])
            limit = flow.cohorts[cohort].borrow
            use[cohort] = {key: min(n, limit[key] or 0) for key, n in use[cohort].items()}
        parent = flow.tree.parents[cohort]
        if parent is not None:
            add_amounts(use[parent], use[cohort])


def _check_borrowing(
    flow: CohortQuotas, cohort: int, claims: CohortClaims, use: Mapping[tuple[str, str], int]
) -> list[Diagnostic]:
    name = claims.names[cohort]

    def never(claim: QuotaEntry, resource: str, limit: int, used: int, fits: int) -> Diagnostic:
        key, pool = (claim.pool.name, resource), claim.pool.name
        why = (
            f"outside cohort {name} there are at most {limit} {resource} of {pool}"
            if flow.cohorts[cohort].available_outside(key) <= use.get(key, 0)
            else f"the teams of cohort {name} may borrow {limit} {resource} of {pool} together"
        )
        before = f", and the cohort already borrows {used} of them" if used else ""
        return warning(
            "borrow.never",
            claim.path,
            f"{why}{before}: the rest of the limit has no effect",
            **exceeded_limit_details(claim, resource, f"{limit - used}", fits),
        )

    def within_reach(claim: QuotaEntry, resource: str) -> int:
        key = (claim.pool.name, resource)
        return min(flow.cohorts[cohort].available_outside(key), use.get(key, 0))

    granted, findings = grant_quota(claims.borrow[cohort], within_reach, never)
    flow.cohorts[cohort].borrow = Limit(granted[cohort], unset=0)
    return findings
