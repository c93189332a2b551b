"""`gpuyard forecast`: the GPUs in use of each pool in the next seven days, and when a pool is full."""

from typing import Annotated

import typer

from gpuyard.cli.options import StackArgument
from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.views.findings import document, reject
from gpuyard_advisor.cli.options import ExportOption, PrometheusOption, time_zone
from gpuyard_core.errors import UsageError
from gpuyard_core.terminal.console import results, write
from gpuyard_core.terminal.documents import as_json
from gpuyard_core.terminal.exit_codes import OK
from gpuyard_core.terminal.options import Format, FormatOption


def forecast(
    stack: StackArgument,
    export: ExportOption = None,
    live: PrometheusOption = None,
    query: Annotated[
        str | None,
        typer.Option(
            metavar="PROMQL",
            help="Expression for --live: the GPUs in use, one series for each pool.",
            show_default=False,
        ),
    ] = None,
    timezone: Annotated[
        str,
        typer.Option(
            metavar="ZONE",
            help="Time zone whose clock the users follow, for example Europe/Berlin.",
        ),
    ] = "UTC",
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Forecast the next seven days of each pool. When it is full, and what more nodes cost."""
    from gpuyard_advisor.cli.exports import query_export, read_export
    from gpuyard_advisor.cli.views.forecast import forecast_document, show_forecast
    from gpuyard_advisor.usage.fleet import forecast_pools
    from gpuyard_core.today import today

    if (export is None) == (live is None) or (live is None) != (query is None):
        raise UsageError("write either --from EXPORT, or --live URL with --query PROMQL")
    zone = time_zone(timezone)
    judged = validate_stack(stack)
    if judged.plan is None:
        return reject("forecast", judged, format, forecast=None)
    read = query_export(live, query) if live and query else read_export(export or "")
    result = forecast_pools(judged.plan, read, zone)
    if format is Format.JSON:
        write(as_json(document("forecast", judged, forecast=forecast_document(result, read))))
    else:
        show_forecast(result, read, zone, today(), results())
    return OK
