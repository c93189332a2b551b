"""Isolation between teams' pods: what each sharing mode provides, and which teams require more.

The requirement of each team applies independently: the stricter of two decides.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import ceil

from gpuyard.plan.draft import Draft, TeamQuotas
from gpuyard.plan.records import PoolPlan, Quota, usable_pools
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.teams import Isolation
from gpuyard_core.catalogue.sharing import SharingMethod
from gpuyard_core.findings import Diagnostic, Fix, error

SEPARATION: Mapping[SharingMethod, Isolation] = {
    SharingMethod.NONE: Isolation.SLICE,
    SharingMethod.MIG: Isolation.SLICE,
    SharingMethod.DRA: Isolation.SLICE,
    SharingMethod.TIME_SLICING: Isolation.SHARED,
    SharingMethod.MPS: Isolation.SHARED,
    SharingMethod.MIG_TIME_SLICING: Isolation.SHARED,
}
"""The strictest isolation between two teams that use one pool. Whole GPUs and claimed GPUs of two teams can
be in one node; a claim belongs to one namespace, so two teams never share a device through it."""

_RANK = {Isolation.SHARED: 0, Isolation.SLICE: 1, Isolation.NODE: 2}
_WORDS = {
    SharingMethod.NONE: "whole GPUs of one node",
    SharingMethod.DRA: "claimed GPUs of one node",
    SharingMethod.MIG: "MIG slices of one GPU",
}


def check_isolation(draft: Draft) -> Iterator[Diagnostic]:
    """Reject every pool that isolates a team from others less than it requires."""
    spec, pools, quotas = draft.spec, draft.valid_pools, draft.quotas
    users: dict[str, list[int]] = defaultdict(list)
    for index, mine in quotas.items():
        for name in usable_pools(mine):
            users[name].append(index)
    for index, team in enumerate(spec.teams):
        close = {
            name: sorted(spec.teams[other].name for other in users[name] if other != index)
            for name in usable_pools(quotas[index])
            if _RANK[SEPARATION[pools[name].sharing]] < _RANK[team.isolation]
            and len(users[name]) > 1
        }
        separations = [SEPARATION[pools[name].sharing] for name in close]
        for name, others in close.items():
            pool, wanted, at = pools[name], team.isolation.value, ("teams", index, "isolation")
            loosest = min(separations, key=_RANK.__getitem__).value
            yield error(
                "tenancy.isolation",
                at,
                f"{team.name} requires isolation `{wanted}`, but in pool {name}"
                f" ({_WORDS.get(pool.sharing, pool.sharing)}) its pods can run next to pods of {', '.join(others)}",
                given=wanted,
                allowed=f"a pool that no other team uses, or isolation: {SEPARATION[pool.sharing].value}",
                fix=Fix(
                    message=f"{_own_pool_fix(spec, index, pool, quotas)}, or accept isolation: {loosest}",
                    at=at,
                    value=loosest,
                ),
            )


def _own_pool_fix(spec: PlatformSpec, index: int, pool: PoolPlan, quotas: TeamQuotas) -> str:
    """How the team gets its own pool; with numbers of nodes if the pool has enough of them."""
    team = spec.teams[index].name
    mine = _nodes(pool, [quotas[index]])
    if not mine:
        return f"remove {pool.name} from the borrow limits of {team}"
    rest = _nodes(pool, [q for i, q in quotas.items() if i != index])
    if mine + rest > pool.nodes.high:
        return f"give {team} its own pool instead of {pool.name}"
    remaining = pool.nodes.high - mine
    return (
        f"give {team} its own pool (owners: [{team}], nodes: {mine}), {pool.name} keeps {remaining}"
    )


def _nodes(pool: PoolPlan, quotas: Sequence[Sequence[Quota]]) -> int:
    """Nodes that these guarantees need together."""
    return max(
        ceil(
            sum(
                q.nominal
                for mine in quotas
                for q in mine
                if (q.pool, q.resource) == (pool.name, a.resource)
            )
            / a.per_node
        )
        for a in pool.counted_resources
    )
