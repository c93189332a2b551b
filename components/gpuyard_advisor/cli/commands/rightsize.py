"""`gpuyard rightsize`: workloads that fit a smaller slice or share, from recorded series."""

import time

from gpuyard.cli.options import StackArgument
from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.views.findings import document, reject
from gpuyard_advisor.cli.options import ExportOption, PrometheusOption, check_source
from gpuyard_core.terminal.console import results, write
from gpuyard_core.terminal.documents import as_json
from gpuyard_core.terminal.exit_codes import OK
from gpuyard_core.terminal.options import Format, FormatOption

_DAYS = 28


def rightsize(
    stack: StackArgument,
    export: ExportOption = None,
    live: PrometheusOption = None,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Show workloads that fit a smaller slice. Memory and activity, the money saved, and the confidence."""
    from gpuyard_advisor.cli.exports import query_metrics, read_export
    from gpuyard_advisor.cli.views.rightsize import rightsize_document, show_rightsize
    from gpuyard_advisor.usage.hours import HOUR
    from gpuyard_advisor.usage.rightsize import METRICS
    from gpuyard_advisor.usage.rightsize import rightsize as advise

    check_source(export, live)
    judged = validate_stack(stack)
    if judged.plan is None:
        return reject("rightsize", judged, format, workloads=None)
    if live:
        end = time.time() // HOUR * HOUR
        read = query_metrics(live, (end - _DAYS * 24 * HOUR, end), METRICS)
    else:
        read = read_export(export or "", metrics=METRICS)
    result = advise(judged.plan, read)
    if format is Format.JSON:
        write(as_json(document("rightsize", judged, **rightsize_document(result, read))))
    else:
        show_rightsize(result, read, results())
    return OK
