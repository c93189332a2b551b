"""Inference services of a plan: where their replicas run, and what they scale on."""

from gpuyard.plan.records import PlatformPlan, ReplicaGroup, ServicePlan
from gpuyard_core.terminal.console import Cell, Column, Console, table


def show_services(plan: PlatformPlan, console: Console) -> None:
    """Show each group of replicas; nothing without services."""
    if not plan.services:
        return
    console.title("Services")
    columns = [
        Column("service", name=True),
        Column("team", name=True),
        Column("kind"),
        Column("runs in", name=True),
        Column("replicas"),
        Column("scales on", wraps=True),
    ]
    rows = [_row(service, group) for service in plan.services for group in service.groups]
    console.show(table(columns, rows))


def _row(service: ServicePlan, group: ReplicaGroup) -> tuple[Cell, ...]:
    scales_on = "" if group.is_fixed else ", ".join(service.spec.scale_on)
    return (
        group.name,
        service.spec.team,
        group.kind.value,
        group.shape.pool,
        str(group.replicas),
        scales_on,
    )
