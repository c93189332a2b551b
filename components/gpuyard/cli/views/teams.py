"""Limits of teams besides GPUs."""

from gpuyard.plan.records import PlatformPlan, TeamPlan
from gpuyard_core.terminal.console import Cell, Column, Console, table


def show_limits(plan: PlatformPlan, console: Console) -> None:
    """Show the limits for all pods of a team, and for one container."""
    if not plan.teams:
        return
    console.title("Limits besides GPUs", "all pods of a team together")
    columns = [
        Column("team", name=True),
        Column("CPUs", "right"),
        Column("GiB", "right"),
        Column("storage", "right"),
        Column("claims", "right"),
        Column("pods", "right"),
        Column("one container", "right"),
    ]
    console.show(table(columns, [_row(team) for team in plan.teams]))


def _row(team: TeamPlan) -> tuple[Cell, ...]:
    limits, one = team.limits, team.limits.container
    storage = f"{limits.storage_gib:,} GiB"
    return (
        team.name,
        f"{limits.cpu:,}",
        f"{limits.memory_gib:,}",
        storage,
        f"{limits.claims:,}",
        f"{limits.pods:,}",
        f"{one.cpu:,} CPUs, {one.memory_gib:,} GiB",
    )
