"""Queues of a plan: cohorts, limits between them, and stop policies."""

from collections.abc import Mapping

from gpuyard.plan.records import CohortPlan, PlatformPlan
from gpuyard_core.names import LOCAL_QUEUE
from gpuyard_core.terminal.console import Cell, Column, Console, table


def show_queues(plan: PlatformPlan, console: Console) -> None:
    """Show stop policies, then each team, then each cohort."""
    _stops(plan, console)
    names = [Column(head, name=True) for head in ("team", "namespace", "cluster queue")]
    rows: list[tuple[Cell, ...]] = [
        (
            team.name,
            tuple(space.name for space in team.namespaces),
            team.cluster_queue,
            team.isolation,
            f"{team.weight:g}",
        )
        for team in plan.teams
    ]
    if rows:
        columns = [*names, Column("isolation"), Column("weight", "right")]
        console.show(table(columns, rows))
    _cohorts(plan, console)
    several = [t for t in plan.teams if set(t.queues) != {LOCAL_QUEUE}]
    if several:
        message = "; ".join(f"{team.name}: {_weighted_queues(team.queues)}" for team in several)
        console.note(message, "queues    ")


def _weighted_queues(queues: Mapping[str, float]) -> str:
    """`default, interactive × 2`."""
    return ", ".join(
        name if weight == 1 else f"{name} × {weight:g}" for name, weight in queues.items()
    )


def _stops(plan: PlatformPlan, console: Console) -> None:
    """Show what is stopped, so that an idle platform is explained."""
    result = [f"every queue ({plan.queueing.stop_policy})"] if plan.queueing.stop_policy else []
    result += [f"pool {pool.name} ({pool.stop_policy})" for pool in plan.pools if pool.stop_policy]
    result += [
        f"team {team.name} ({team.stop_policy})"
        for team in plan.teams
        if team.stop_policy and team.stop_policy != plan.queueing.stop_policy
    ]
    if result:
        console.print_wrapped(
            f"{', '.join(result)}", first="STOPPED  ", style="bold yellow", indent=2
        )


def _cohorts(plan: PlatformPlan, console: Console) -> None:
    cohorts = [cohort for cohort in plan.queueing.cohorts if cohort.title]
    if not cohorts:
        return
    titles = {cohort.name: cohort.title for cohort in cohorts}
    columns = [
        Column("cohort", name=True),
        Column("in", name=True),
        Column("teams", wraps=True),
        Column("weight", "right"),
        Column("borrowing limit", wraps=True),
        Column("lending limit", wraps=True),
    ]
    rows: list[tuple[Cell, ...]] = [
        (
            cohort.title,
            titles.get(str(cohort.parent), plan.name),
            ", ".join(t.name for t in plan.teams if t.cohort == cohort.name) or "-",
            f"{cohort.weight:g}",
            _limits(plan, cohort, {(m.pool, m.resource): m.borrow for m in cohort.limits}),
            _limits(plan, cohort, {(m.pool, m.resource): m.lend for m in cohort.limits}),
        )
        for cohort in cohorts
    ]
    console.show(table(columns, rows))


def _limits(
    plan: PlatformPlan, cohort: CohortPlan, amounts: Mapping[tuple[str, str], int | None]
) -> tuple[str, ...]:
    """`16 train`, as in the stack file; with a limit, other resources may not be lent or borrowed."""
    if not cohort.limits or None in amounts.values():
        return ("no limit",)
    return tuple(
        f"{amount:,} {plan.pool(pool).stack_file_key(resource)}"
        for (pool, resource), amount in amounts.items()
        if amount
    ) or ("nothing",)
