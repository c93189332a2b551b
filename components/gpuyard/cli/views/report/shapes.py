"""Shapes: where each starts, and with whose quota."""

from gpuyard.cli.views.report.html import Cell, Element, section, table
from gpuyard.plan.records import PlatformPlan, ShapePlan
from gpuyard_core.findings import format_list
from gpuyard_core.terminal.text import pluralize


def shapes_section(plan: PlatformPlan) -> Element:
    """A row for each shape."""
    rows = [_row(plan, shape) for shape in plan.shapes]
    heads = ("shape", "starts in", "takes", "start", "teams with quota", "within their guarantee")
    return section("shapes", "Shapes", "Each of them can start.", table("Shapes", heads, rows))


def _row(plan: PlatformPlan, shape: ShapePlan) -> tuple[Cell, ...]:
    pool = plan.pool(shape.pool)
    unit = pool.stack_file_key(shape.resource).partition("/")[2]
    takes = f"{pluralize(shape.nodes, 'node')} × {shape.per_node} {unit or 'GPU'}"
    missing = shape.nodes - pool.start_nodes
    start = f"{pluralize(missing, 'node')} first" if shape.scales_from_zero else "at once"
    teams = format_list(shape.teams) or "–"
    return shape.name, shape.pool, takes, start, teams, format_list(shape.guaranteed) or "–"
