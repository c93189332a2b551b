"""Guarantees, borrowing and lending, in the resources that nodes really advertise.

A stack file counts whole GPUs by a bare pool name, slices and shares by `pool/unit`. Here they become
quotas of resources, and are proved against what the pools hold when every node runs.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil

from gpuyard.findings import Finding, Fix, Path, error, info, warning
from gpuyard.plan.draft import CohortDraft, Draft
from gpuyard.plan.pools.pools import DecidedPools
from gpuyard.plan.quotas.cohort_limits import CohortClaims, apply_limits, check_limits
from gpuyard.plan.quotas.cohort_tree import QuotaAmounts
from gpuyard.plan.quotas.cohorts import CohortIndex, read_tree
from gpuyard.plan.quotas.entries import (
    InvalidQuotaEntry,
    QuotaEntry,
    at_most,
    capacity,
    grant_quota,
    parse_quota_entry,
    per_node,
)
from gpuyard.plan.quotas.flow import Flow, summed
from gpuyard.plan.quotas.owners import known_owners, unowned_pool_error
from gpuyard.plan.records import Quota
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.teams import Team
from gpuyard.spec.values import MAX_NODES


@dataclass(frozen=True, slots=True)
class QuotaPlan:
    """Who has what, and what is left."""

    by_team: Mapping[int, tuple[Quota, ...]]
    """By team index."""
    spare: QuotaAmounts
    """What no team is guaranteed."""
    flow: Flow
    """What passes between cohorts."""
    are_quotas_resolved: bool
    """False when a claim means something that is not counted here: a misspelt pool or unit."""

    def borrowable(self, team: int, quota: Quota) -> int:
        """What the team of this quota could borrow beyond what it may, with everybody else idle."""
        own = quota.nominal if quota.lend is None else quota.lend
        home = self.flow.tree.cohort_by_team[team]
        return self.flow.cohorts[home].max_usage((quota.pool, quota.resource)) - own - quota.borrow


def decide_quotas(draft: Draft) -> tuple[Draft, list[Finding]]:
    """What every team has, and what passes between cohorts."""
    quotas, findings = plan_quotas(draft.spec, draft.pools)
    decided = replace(
        draft,
        quotas=quotas.by_team,
        spare=quotas.spare,
        are_quotas_resolved=quotas.are_quotas_resolved,
        room_to_borrow=quotas.borrowable,
        cohorts=_cohorts(quotas),
    )
    return decided, findings


def _cohorts(quotas: QuotaPlan) -> tuple[CohortDraft, ...]:
    """The cohorts of the stack file, parents first."""
    flow = quotas.flow
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


def plan_quotas(spec: PlatformSpec, pools: DecidedPools) -> tuple[QuotaPlan, list[Finding]]:
    """What every team is guaranteed, may borrow and lends, and every finding about it."""
    of_teams = _read_teams(spec, pools)
    of_cohorts = CohortClaims(spec, pools)
    claims, findings = of_teams.by_kind, [*of_teams.findings, *of_cohorts.findings]
    understood = not (of_teams.misspelt or of_cohorts.misspelt)
    nominal, problems = grant_quota(
        claims["guarantee"], lambda claim, r: capacity(claim.pool, r), _too_much, per_owner=False
    )
    findings += problems
    lend, problems = grant_quota(
        claims["lend"], lambda claim, r: nominal[claim.owner].get((claim.pool.name, r), 0), _no_more
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
    flow = Flow(tree, spare, shared)
    findings += apply_limits(flow, of_cohorts)

    def within_reach(claim: QuotaEntry, resource: str) -> int:
        key = (claim.pool.name, resource)
        return flow.cohorts[tree.cohort_by_team[claim.owner]].max_usage(key) - shared[
            claim.owner
        ].get(key, 0)

    def out_of_reach(claim: QuotaEntry, resource: str, limit: int, used: int, fits: int) -> Finding:
        why = _bound(spec, flow, claim, resource)
        return _out_of_reach(claim, resource, limit, used, fits, why)

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


def _bound(spec: PlatformSpec, flow: Flow, claim: QuotaEntry, resource: str) -> str:
    """The cohort whose limit keeps a team from having more, in words; "" when none does."""
    key = (claim.pool.name, resource)
    for node in flow.tree.self_and_ancestors(flow.tree.cohort_by_team[claim.owner]):
        if node is not None and (cohort := flow.cohorts[node]).is_bound(key):
            name = spec.queueing.cohorts[node].name
            return f", because its cohort {name} borrows {cohort.borrow[key]} at most"
    return ""


@dataclass(slots=True)
class _TeamClaims:
    """What all teams claim, as far as it is understood."""

    by_kind: dict[str, list[QuotaEntry]]
    """By guarantee, borrow and lend."""
    findings: list[Finding]
    misspelt: bool = False
    """True when an entry means something that is not counted here."""


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


def _too_much(claim: QuotaEntry, resource: str, limit: int, used: int, fits: int) -> Finding:
    pool, amount = claim.pool, claim.count * claim.per_unit[resource]
    each = per_node(pool, resource)
    need = ceil((used + amount) / each)
    high = pool.nodes.high
    nodes = "its only node" if high == 1 else f"all {high} nodes"
    taken = f", other guarantees take {used} of them" if used else ""
    more = f", or let {pool.name} have {need} nodes" if need <= MAX_NODES else ""
    return error(
        "quota.over_capacity",
        claim.path,
        f"{pool.name} holds {limit} {resource} with {nodes} ({each} a node){taken}",
        value=claim.formatted(resource),
        allowed=f"{limit - used} {resource}",
        fix=Fix(message=f"guarantee {fits}{more}", at=claim.path, value=fits),
    )


def _no_more(claim: QuotaEntry, resource: str, limit: int, used: int, fits: int) -> Finding:
    before = f" and lends {used} of them already" if used else ""
    problem = f"the team is guaranteed {limit} {resource} of {claim.pool.name}{before}; it cannot lend more"
    most = f"{limit - used}"
    return error("lend.over_guarantee", claim.path, problem, **at_most(claim, resource, most, fits))


def _out_of_reach(
    claim: QuotaEntry, resource: str, limit: int, used: int, fits: int, why: str
) -> Finding:
    """A borrowing limit that could never be reached, even with everybody else idle.

    It is cut to what can be: a guarantee that grows takes from what others may borrow, and refuses nobody.
    """
    before = f", and the team borrows {used} of them already" if used else ""
    problem = (
        f"of {claim.pool.name} other teams lend and nobody has {limit} {resource} at most{before}"
        if not why
        else f"of {claim.pool.name} the team can borrow {limit} {resource} at most{why}{before}"
    )
    most = f"{limit - used}"
    problem += ": the rest of it has no effect"
    return warning("borrow.never", claim.path, problem, **at_most(claim, resource, most, fits))


def _start_notes(
    guaranteed: QuotaAmounts, pools: DecidedPools, spec: PlatformSpec
) -> list[Finding]:
    """Guarantees beyond the nodes that run from the beginning: say how many must start first."""
    findings: list[Finding] = []
    positions = {pool.name: i for i, pool in enumerate(spec.pools)}
    for pool in pools.values():
        if pool is None:
            continue
        need = max(
            ceil(guaranteed.get((pool.name, a.resource), 0) / a.per_node)
            for a in pool.counted_resources
        )
        if pool.start_nodes < need:
            findings.append(
                info(
                    "quota.nodes_to_start",
                    ("pools", positions[pool.name], "nodes"),
                    _to_start(pool.name, need, pool.start_nodes),
                    value=str(pool.nodes),
                )
            )
    return findings


def _to_start(pool: str, need: int, running: int) -> str:
    """Nodes that guarantees wait for."""
    nodes = "node" if need == 1 else "nodes"
    later = need - running
    return (
        f"the guarantees of {pool} need {need} {nodes};"
        f" {running} {'runs' if running == 1 else 'run'} from the beginning,"
        f" {later} {'starts when jobs ask for it' if later == 1 else 'start when jobs ask for them'}"
    )


def _quotas(
    team: Team,
    pools: DecidedPools,
    positions: Mapping[str, int],
    nominal: QuotaAmounts,
    borrow: QuotaAmounts,
    lend: QuotaAmounts,
) -> tuple[Quota, ...]:
    """In the order of the pools and of what their nodes advertise, whatever the order of the keys."""
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
