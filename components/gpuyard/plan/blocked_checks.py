"""Checks that are skipped until a pool is valid; each is reported."""

from collections.abc import Iterator, Mapping

from gpuyard.plan.draft import Draft
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import Pool
from gpuyard_core.findings import Diagnostic, Path, format_list, info

BLOCKED_CHECK = "checks.waiting"

_NEEDS: Mapping[str, frozenset[str]] = {
    "machine": frozenset(),
    "zones": frozenset(),
    "previous_names": frozenset(),
    "name": frozenset(),
    "labels": frozenset({"select"}),
    "select": frozenset({"labels", "scaling", "nodes"}),
    "sharing": frozenset({"machine"}),
    "image": frozenset({"machine", "sharing"}),
    "inventory": frozenset({"machine", "fabric", "select"}),
    "numa": frozenset({"machine"}),
    "fabric": frozenset({"machine"}),
    "capacity": frozenset({"machine", "nodes", "zones"}),
    "provisioning": frozenset({"capacity", "nodes", "scaling"}),
    "keep_warm": frozenset({"nodes", "scaling"}),
    "disruption_window": frozenset({"nodes", "scaling"}),
    "failback": frozenset({"capacity", "machine", "nodes", "provisioning", "scaling"}),
    "nodes": frozenset({"capacity", "machine", "provisioning", "scaling", "select", "sharing"}),
}
"""By field of a pool: the other fields that a finding about it may depend on. Other findings depend
on all."""


def blocked_check(path: Path, problem: str) -> Diagnostic:
    """A finding that checks are skipped until the section at a path is valid."""
    return info("checks.waiting", path, problem)


def drop_dependent(
    findings: list[Diagnostic], broken: Mapping[int, frozenset[str]]
) -> list[Diagnostic]:
    """Drop findings that may depend on a field that could not be read."""
    return [f for f in findings if f.id == BLOCKED_CHECK or not _rests_on_lost(f.path, broken)]


def _rests_on_lost(path: Path, broken: Mapping[int, frozenset[str]]) -> bool:
    match path:
        case ("pools", int(index), *rest) if index in broken:
            name = rest[0] if rest else ""
            missing = broken[index]
            return name in missing or str(name) not in _NEEDS or bool(_NEEDS[str(name)] & missing)
        case _:
            return False


def check_blocked(draft: Draft) -> Iterator[Diagnostic]:
    """Report, for every invalid pool, the checks that are skipped until it is valid."""
    seen: set[str] = set()
    for index, pool in enumerate(draft.spec.pools):
        if pool.name in seen or draft.pools.get(pool.name) is not None:
            continue
        seen.add(pool.name)
        if waiting := list(_waiting(draft, pool)):
            count = f"{len(waiting)} checks are" if len(waiting) > 1 else "1 check is"
            problem = f"{count} skipped until this pool is valid: {format_list(waiting)}"
            yield blocked_check(("pools", index), problem)


def _waiting(draft: Draft, pool: Pool) -> Iterator[str]:
    spec = draft.spec
    for team in spec.teams:
        if kinds := [kind for kind in ("guarantee", "borrow", "lend") if _names(team, kind, pool)]:
            yield f"{' and '.join(kinds)} of {team.name}"
    for cohort in spec.queueing.cohorts:
        if kinds := [kind for kind in ("borrow", "lend") if _names(cohort, kind, pool)]:
            yield f"{' and '.join(kinds)} of cohort {cohort.name}"
    placed = {shape.name for shape in draft.shapes}
    for shape in spec.shapes:
        if shape.pool == pool.name or (shape.pool is None and shape.name not in placed):
            yield f"shape {shape.name}"
    yield from _money(spec)


def _names(whose: object, kind: str, pool: Pool) -> bool:
    keys: Mapping[str, int] | None = getattr(whose, kind)
    return any(key.partition("/")[0] == pool.name for key in keys or {})


def _money(spec: PlatformSpec) -> Iterator[str]:
    if spec.budget or any(team.budget_usd_per_month is not None for team in spec.teams):
        yield "the budgets"
    if spec.prices:
        yield "the machines under `prices`"
