"""Quotas as bars: what a team is guaranteed, may borrow and lends, by pool and resource."""

from collections import defaultdict
from collections.abc import Iterator

from gpuyard.cli.views.report.html import (
    FOLD_FROM,
    Cell,
    Element,
    bar,
    el,
    fold,
    legend,
    section,
    table,
)
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.queues import Quota
from gpuyard_core.terminal.text import pluralize

_HEADS = ("team", "quota", "guarantee", "may borrow", "lends")


def quotas_section(plan: PlatformPlan) -> Element:
    """A table for each resource of each pool that has a quota."""
    by_resource: dict[tuple[str, str], list[tuple[str, Quota]]] = defaultdict(list)
    for team in plan.teams:
        for quota in team.quotas:
            if quota.nominal or quota.borrow:
                by_resource[quota.pool, quota.resource].append((team.name, quota))
    spare = {(q.pool, q.resource): q.nominal for q in plan.queueing.unassigned if q.nominal}
    keys = [
        (pool.name, offer.resource)
        for pool in plan.pools
        for offer in pool.counted_resources
        if (pool.name, offer.resource) in by_resource or (pool.name, offer.resource) in spare
    ]
    tables = [_resource(plan, key, by_resource[key], spare.get(key, 0)) for key in keys]
    shown = [el("div", {"class": "grid"}, *tables[:FOLD_FROM])]
    if len(tables) > FOLD_FROM:
        rest = el("div", {"class": "grid"}, *tables[FOLD_FROM:])
        shown.append(fold(f"{len(tables) - FOLD_FROM:,} more resources", rest))
    note = f"{pluralize(len(plan.teams), 'team')}. Preemption: {plan.queueing.preemption}."
    return section("quotas", "Quotas and borrowing", note, _key(), *shown)


def _key() -> Element:
    return legend(
        ("full", "guaranteed, kept"),
        ("lent", "guaranteed, lent while unused"),
        ("may", "may be borrowed"),
    )


def _resource(
    plan: PlatformPlan, key: tuple[str, str], quotas: list[tuple[str, Quota]], spare: int
) -> Element:
    pool = plan.pool(key[0])
    named = pool.stack_file_key(key[1])
    total = sum(q.nominal for _, q in quotas) + spare
    scale = max([total, *(q.nominal + q.borrow for _, q in quotas)])
    rows = [*_teams(quotas, scale)]
    if spare:
        rows.append(("unassigned", bar([("lent", spare)], scale), f"{spare:,}", "–", f"{spare:,}"))
    return table(f"{named}: {total:,} in all", _HEADS, rows, (2, 3, 4))


def _teams(quotas: list[tuple[str, Quota]], scale: float) -> Iterator[tuple[Cell, ...]]:
    for team, q in quotas:
        lent = q.nominal if q.lend is None else min(q.lend, q.nominal)
        parts = [("full", q.nominal - lent), ("lent", lent), ("may", q.borrow)]
        yield team, bar(parts, scale), f"{q.nominal:,}", f"{q.borrow:,}", f"{lent:,}"
