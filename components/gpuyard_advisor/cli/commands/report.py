"""`gpuyard report`: the platform as one HTML page."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpuyard.cli.options import StackArgument
from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.views.findings import show_rejection
from gpuyard.stack_validation import plan_rejected_by_budget
from gpuyard_advisor.cli.options import PrometheusOption
from gpuyard_core.local_files import write_file
from gpuyard_core.terminal.console import results, write
from gpuyard_core.terminal.exit_codes import FINDINGS, OK
from gpuyard_core.terminal.findings import count_words, show_verdict

if TYPE_CHECKING:
    from gpuyard.plan.records import PlatformPlan
    from gpuyard_advisor.usage.fleet import Fleet


def report(
    stack: StackArgument,
    out: Annotated[
        str, typer.Option(metavar="FILE", help="The file to write, or - for standard output.")
    ] = "report.html",
    live: PrometheusOption = None,
) -> int:
    """Write a stack as one HTML page. Its pools GPU by GPU, quotas, bill, findings and, with --live, use."""
    from gpuyard_advisor.cli.views.report import report_page
    from gpuyard_core.today import today

    judged = validate_stack(stack)
    # A stack over its budget still shows where the cost comes from.
    plan = judged.plan or plan_rejected_by_budget(judged)
    fleet = None if live is None or plan is None else read_live(live, plan)
    page = report_page(judged, plan, today(), fleet, live or "")
    if out == "-":
        write(page)
    else:
        write_file(Path(out), page)
    if judged.plan is None:
        show_rejection(judged)
        return FINDINGS
    if out != "-":
        show_verdict("ok", f"{out}: {judged.file}, {count_words(judged.findings)}", results())
    return OK


def read_live(address: str, plan: "PlatformPlan | None" = None) -> "Fleet":
    """The present state from a Prometheus server. A series that the rules of the plan do not record is not missing."""
    from gpuyard.render.observability.rules import recorded_names
    from gpuyard_advisor.cli.prometheus import Prometheus
    from gpuyard_advisor.usage.fleet import read_fleet

    fleet = read_fleet(Prometheus(address).query)
    if plan is None:
        return fleet
    recorded = recorded_names(plan)
    return replace(fleet, missing=tuple(name for name in fleet.missing if name in recorded))
