"""Each team's share of the bill: it pays for its guarantees; the rest is the unassigned share.

A pool's cost is divided by parts of its GPUs when every node runs. Guarantees and unassigned
capacity are all that a pool has, so all shares together are the bill, in each of the three cases.
"""

from collections.abc import Iterable, Mapping, Sequence

from gpuyard.plan.records import COST_CASES, BillLine, PoolPlan, Quota, TeamCostShare, Total
from gpuyard.spec.platform import HOURS_PER_MONTH, PlatformSpec

CostShares = Mapping[str, float]
"""By pool, the share of its cost: 0 to 1."""


def plan_cost_shares(
    spec: PlatformSpec,
    pools: Sequence[PoolPlan],
    quotas: Mapping[int, Sequence[Quota]],
    lines: Sequence[BillLine],
    others: Mapping[str, Total],
) -> tuple[TeamCostShare, ...]:
    """One for each team, then the unassigned one: with system nodes and other costs."""
    by_pool = {line.pool: line for line in lines}
    of_one = _of_one(pools)
    shared_by_pool = {pool.name: 0.0 for pool in pools}
    shares = []
    for index, team in enumerate(spec.teams):
        portions: dict[str, float] = {}
        for quota in quotas[index]:
            if quota.nominal:
                part = quota.nominal * of_one[quota.pool, quota.resource]
                portions[quota.pool] = portions.get(quota.pool, 0.0) + part
        for name, part in portions.items():
            shared_by_pool[name] += part
        shares.append(_share(team.name, portions, by_pool))
    rest = {line.pool: 1.0 - shared_by_pool.get(line.pool, 0.0) for line in lines}
    # a fully guaranteed pool leaves rounding errors only, and no cost
    rest = {name: part for name, part in rest.items() if part > _ROUNDING}
    unassigned = _share(None, rest, by_pool)
    totals = {case: getattr(unassigned, case) + others[case] for case in COST_CASES}
    return (*shares, TeamCostShare(team=None, **totals))


_ROUNDING = 1e-9


def _of_one(pools: Iterable[PoolPlan]) -> dict[tuple[str, str], float]:
    """The part of a pool's GPUs that one unit is; 0 if the pool never has nodes."""
    results = {}
    for pool in pools:
        gpus = pool.gpus_per_node * pool.machine.gpu_fraction * pool.nodes.high
        for offer in pool.counted_resources:
            results[pool.name, offer.resource] = float(offer.gpu_share / gpus) if gpus else 0.0
    return results


def _share(team: str | None, portions: CostShares, lines: Mapping[str, BillLine]) -> TeamCostShare:
    return TeamCostShare(
        team=team,
        minimum=_sum(lines[p].minimum.times(part) for p, part in portions.items()),
        expected=_sum(lines[p].expected.times(part) for p, part in portions.items()),
        maximum=_sum(lines[p].maximum.times(part) for p, part in portions.items()),
    )


def _sum(parts: Iterable[Total]) -> Total:
    return sum(parts, start=Total())


def total_usd_per_month(total: Total) -> float | None:
    """Dollars a month; None when a part is unknown."""
    return None if total.usd is None else total.usd * HOURS_PER_MONTH
