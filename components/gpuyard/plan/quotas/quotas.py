"""Guarantees, borrowing and lending, in the resources that nodes advertise.

A stack file counts whole GPUs by a bare pool name, slices and shares by `pool/unit`. Here they become
quotas of resources, and are checked against the capacity of the pools when every node runs.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil

from gpuyard.plan.draft import CohortDraft, Draft
from gpuyard.plan.pools.pools import DecidedPools
from gpuyard.plan.quotas.cohort_limits import (
    CohortClaims,
    CohortQuotas,
    apply_limits,
    check_limits,
    summed,
)
from gpuyard.plan.quotas.cohorts import CohortIndex, QuotaAmounts, read_tree
from gpuyard.plan.quotas.entries import (
    InvalidQuotaEntry,
    QuotaEntry,
    capacity,
    exceeded_limit_details,
    grant_quota,
    parse_quota_entry,
    per_node,
)
from gpuyard.plan.quotas.owners import known_owners, unowned_pool_error
from gpuyard.plan.records import Quota
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.teams import Team
from gpuyard_core.findings import Diagnostic, Fix, Path, error, info, warning
from gpuyard_core.models.values import MAX_NODES


@dataclass(frozen=True, slots=True)
class QuotaPlan:
    """The quotas of all teams, and the unassigned capacity."""

    by_team: Mapping[int, tuple[Quota, ...]]
    """Quotas by team index."""
    spare: QuotaAmounts
    """Unassigned capacity."""
    cohort_quotas: CohortQuotas
    """What cohorts lend to each other."""
    are_quotas_resolved: bool
    """False if an entry has a misspelled pool or unit and is not counted."""

    def borrowable_beyond_limit(self, team: int, quota: Quota) -> int:
        """What the team could borrow beyond its borrowing limit, with all other teams idle."""
        own = quota.nominal if quota.lend is None else quota.lend
        home = self.cohort_quotas.tree.cohort_by_team[team]
        return (
            self.cohort_quotas.cohorts[home].max_usage((quota.pool, quota.resource))
            - own
            - quota.borrow
        )


def decide_quotas(draft: Draft) -> tuple[Draft, list[Diagnostic]]:
    """The quotas of every team, and what cohorts lend to each other."""
    quotas, findings = plan_quotas(draft.spec, draft.pools)
    decided = replace(
        draft,
        quotas=quotas.by_team,
        spare=quotas.spare,
        are_quotas_resolved=quotas.are_quotas_resolved,
        borrowable_beyond_limit=quotas.borrowable_beyond_limit,
        cohorts=_cohorts(quotas),
    )
    return decided, findings


def _cohorts(quotas: QuotaPlan) -> tuple[CohortDraft, ...]:
    """The cohorts of the stack file, parents first."""
    flow = quotas.cohort_quotas
    used: dict[CohortIndex, set[tuple[str, str]]] = defaultdict(set)
    for team, home in enumerate(flow.tree.cohort_by_team):
        for node in flow.tree.self_and_ancestors(home):
            used[node].update((q.pool, q.resource) for q in quotas.by_team[team])
    return tuple(
        CohortDraft(
            index=index,
            parent=flow.tree.parents[index],
            borrow=flow.cohorts[index].borrow,
            lend=flow.cohorts[index].lend,
            used=frozenset(used[index]),
        )
        for index in reversed(flow.tree.bottom_up)
    )


def plan_quotas(spec: PlatformSpec, pools: DecidedPools) -> tuple[QuotaPlan, list[Diagnostic]]:
    """The guarantees, borrowing and lending limits of every team, and all findings about them."""
    of_teams = _read_teams(spec, pools)
    of_cohorts = CohortClaims(spec, pools)
    claims, findings = of_teams.by_kind, [*of_teams.findings, *of_cohorts.findings]
    understood = not (of_teams.misspelt or of_cohorts.misspelt)
    nominal, problems = grant_quota(
        claims["guarantee"], lambda claim, r: capacity(claim.pool, r), _too_much, per_owner=False
    )
    findings += problems
    lend, problems = grant_quota(
        claims["lend"],
        lambda claim, r: nominal[claim.team_or_cohort_index].get((claim.pool.name, r), 0),
        _no_more,
    )
    findings += problems
    guaranteed = summed(nominal.values())
    spare = {
        (pool.name, offer.resource): capacity(pool, offer.resource)
        - guaranteed.get((pool.name, offer.resource), 0)
        for pool in pools.values()
        if pool is not None
        for offer in pool.counted_resources
    }
    shared = [(nominal if t.lend is None else lend)[i] for i, t in enumerate(spec.teams)]
    tree = read_tree(spec)
    flow = CohortQuotas(tree, spare, shared)
    findings += apply_limits(flow, of_cohorts)

    def within_reach(claim: QuotaEntry, resource: str) -> int:
        key = (claim.pool.name, resource)
        return flow.cohorts[tree.cohort_by_team[claim.team_or_cohort_index]].max_usage(
            key
        ) - shared[claim.team_or_cohort_index].get(key, 0)

    def out_of_reach(
        claim: QuotaEntry, resource: str, limit: int, used: int, fits: int
    ) -> Diagnostic:
        why = _bound(spec, flow, claim, resource)
        # A borrowing limit that could never be reached, even with all others idle. It is reduced to
        # the reachable amount: a larger guarantee reduces what others may borrow, without an error
        before = f", and the team already borrows {used} of them" if used else ""
        problem = (
            f"at most {limit} {resource} of {claim.pool.name} are lent by other teams or unassigned{before}"
            if not why
            else f"the team can borrow at most {limit} {resource} of {claim.pool.name}{why}{before}"
        )
        most = f"{limit - used}"
        problem += ": the rest of the limit has no effect"
        return warning(
            "borrow.never",
            claim.path,
            problem,
            **exceeded_limit_details(claim, resource, most, fits),
        )

    borrow, problems = grant_quota(claims["borrow"], within_reach, out_of_reach)
    findings += problems
    findings += check_limits(flow, of_cohorts, borrow)
    findings += _start_notes(guaranteed, pools, spec)
    positions = {name: i for i, name in enumerate(pools)}
    quotas = {
        i: _quotas(team, pools, positions, nominal[i], borrow[i], lend[i])
        for i, team in enumerate(spec.teams)
    }
    return QuotaPlan(quotas, spare, flow, understood), findings


def _bound(spec: PlatformSpec, flow: CohortQuotas, claim: QuotaEntry, resource: str) -> str:
    """A text that names the cohort whose limit bounds the team; "" if none does."""
    key = (claim.pool.name, resource)
    for node in flow.tree.self_and_ancestors(flow.tree.cohort_by_team[claim.team_or_cohort_index]):
        if node is not None and (cohort := flow.cohorts[node]).is_limited_by_borrowing(key):
            name = spec.queueing.cohorts[node].name
            return f", because its cohort {name} may borrow at most {cohort.borrow[key]}"
    return ""


@dataclass(slots=True)
class _TeamClaims:
    """The valid entries of all teams."""

    by_kind: dict[str, list[QuotaEntry]]
    """Entries by field: guarantee, borrow and lend."""
    findings: list[Diagnostic]
    misspelt: bool = False
    """Whether an entry is misspelled, so that what it means is not counted."""


def _read_teams(spec: PlatformSpec, pools: DecidedPools) -> _TeamClaims:
    result = _TeamClaims({"guarantee": [], "borrow": [], "lend": []}, [])
    owners = known_owners(spec)
    for index, team in enumerate(spec.teams):
        for kind, shares in (
            ("guarantee", team.guarantee),
            ("borrow", team.borrow),
            ("lend", team.lend or {}),
        ):
            for text in shares:
                path: Path = ("teams", index, kind, text)
                read = parse_quota_entry(shares, text, pools, index, path)
                if isinstance(read, InvalidQuotaEntry):
                    result.misspelt = result.misspelt or read.is_misspelled
                    result.findings += [read.problem] if read.problem else []
                elif refusal := unowned_pool_error(owners, read.pool.name, team.name, text, path):
                    result.findings.append(refusal)
                else:
                    result.by_kind[kind].append(read)
    return result


def _too_much(claim: QuotaEntry, resource: str, limit: int, used: int, fits: int) -> Diagnostic:
    pool, amount = claim.pool, claim.count * claim.per_unit[resource]
    each = per_node(pool, resource)
    need = ceil((used + amount) / each)
    high = pool.nodes.high
    nodes = "its only node" if high == 1 else f"all {high} nodes"
    taken = f", of which other guarantees use {used}" if used else ""
    more = f", or let {pool.name} have {need} nodes" if need <= MAX_NODES else ""
    return error(
        "quota.over_capacity",
        claim.path,
        f"{pool.name} has {limit} {resource} with {nodes} ({each} a node){taken}",
        given=claim.formatted(resource),
        allowed=f"{limit - used} {resource}",
        fix=Fix(message=f"guarantee {fits}{more}", at=claim.path, value=fits),
    )


def _no_more(claim: QuotaEntry, resource: str, limit: int, used: int, fits: int) -> Diagnostic:
    before = f" and already lends {used} of them" if used else ""
    problem = f"the team is guaranteed {limit} {resource} of {claim.pool.name}{before}: it cannot lend more"
    most = f"{limit - used}"
    return error(
        "lend.over_guarantee",
        claim.path,
        problem,
        **exceeded_limit_details(claim, resource, most, fits),
    )


def _start_notes(
    guaranteed: QuotaAmounts, pools: DecidedPools, spec: PlatformSpec
) -> Iterator[Diagnostic]:
    """Guarantees beyond the nodes that run from the start: report how many must start first."""
    positions = {pool.name: i for i, pool in enumerate(spec.pools)}
    for pool in pools.values():
        if pool is None:
            continue
        need = max(
            ceil(guaranteed.get((pool.name, a.resource), 0) / a.per_node)
            for a in pool.counted_resources
        )
        if pool.start_nodes < need:
            yield info(
                "quota.nodes_to_start",
                ("pools", positions[pool.name], "nodes"),
                _to_start(pool.name, need, pool.start_nodes),
                given=str(pool.nodes),
            )


def _to_start(pool: str, need: int, running: int) -> str:
    """The message about nodes for which guarantees wait."""
    nodes = "node" if need == 1 else "nodes"
    later = need - running
    return (
        f"the guarantees of {pool} need {need} {nodes};"
        f" {running} {'runs' if running == 1 else 'run'} from the start,"
        f" {later} {'starts when jobs request it' if later == 1 else 'start when jobs request them'}"
    )


def _quotas(
    team: Team,
    pools: DecidedPools,
    positions: Mapping[str, int],
    nominal: QuotaAmounts,
    borrow: QuotaAmounts,
    lend: QuotaAmounts,
) -> tuple[Quota, ...]:
    """Quotas in the order of the pools and their resources, independent of the order of the keys."""
    mine = sorted({pool for pool, _ in (*nominal, *borrow)}, key=positions.__getitem__)
    quota_pools = (p for name in mine if (p := pools[name]))
    keys = ((p.name, a.resource) for p in quota_pools for a in p.counted_resources)
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
