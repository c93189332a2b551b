"""`gpuyard readiness`: the production readiness checks of a platform."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from gpuyard.cli.exit_codes import ENVIRONMENT_MISSING, FINDINGS, OK
from gpuyard.cli.options import ContextOption, StackArgument, check_context
from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.terminal.console import diagnostics, results, write
from gpuyard.cli.views.documents import as_json
from gpuyard.cli.views.findings import document, show_rejection

if TYPE_CHECKING:
    from gpuyard.readiness.inputs import ClusterObjects


class ReadinessFormat(StrEnum):
    """Output format of the assessment."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def readiness(
    stack: StackArgument,
    live: Annotated[
        bool,
        typer.Option(
            "--live", help="Also query the cluster with kubectl and its kubeconfig. Read-only."
        ),
    ] = False,
    context: ContextOption = None,
    threshold: Annotated[
        int,
        typer.Option(
            min=0, max=100, help="Lowest score, in percent, that does not exit with code 3."
        ),
    ] = 0,
    format: Annotated[  # noqa: A002  the option's name
        ReadinessFormat, typer.Option("--format", help="Output format.")
    ] = ReadinessFormat.TEXT,
) -> int:
    """Assess production readiness. PASS, FAIL or NOT RUN for 61 checks, each with its evidence.

    Exits with code 4 when --live cannot reach the cluster; its checks are NOT RUN then.
    """
    from gpuyard.cli.views.readiness import (
        readiness_document,
        readiness_markdown,
        show_readiness,
    )
    from gpuyard.readiness.assessment import assess_readiness

    check_context(context, live=live)
    judged = validate_stack(stack)
    if judged.plan is None:
        if format is ReadinessFormat.JSON:
            write(as_json(document("readiness", judged, readiness=None)))
        else:
            show_rejection(judged)
        return FINDINGS
    cluster, silent = _cluster(context) if live else (None, "")
    result = assess_readiness(judged.plan, judged.findings, cluster)
    match format:
        case ReadinessFormat.JSON:
            assessment = readiness_document(result, threshold, silent)
            write(as_json(document("readiness", judged, readiness=assessment)))
        case ReadinessFormat.MARKDOWN:
            write(readiness_markdown(result, judged.plan.name))
        case ReadinessFormat.TEXT:
            show_readiness(result, results())
    if silent:
        diagnostics().print_wrapped(silent, first="SKIPPED    ", style="yellow")
    return ENVIRONMENT_MISSING if silent else FINDINGS if result.score < threshold else OK


def _cluster(context: str | None) -> "tuple[ClusterObjects, str]":
    """Read the objects of the cluster; also why the reading stopped early."""
    from gpuyard.cli.live import read_lists
    from gpuyard.readiness.inputs import LISTED_KINDS, ClusterObjects

    read = read_lists(context, LISTED_KINDS)
    seen = ClusterObjects(
        objects=read.objects, unreadable=read.unread, absent=frozenset(read.absent)
    )
    return seen, read.stop_reason
