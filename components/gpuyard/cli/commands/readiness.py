"""`gpuyard readiness`: what a platform must show before production, and whether it does."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from gpuyard.cli.exit_codes import FINE, FOUND, LACKS
from gpuyard.cli.options import ContextOption, StackArgument, check_context
from gpuyard.cli.stacks import judge_stack
from gpuyard.cli.terminal.console import asides, results, write
from gpuyard.cli.views.documents import as_json
from gpuyard.cli.views.findings import document, show_refusal

if TYPE_CHECKING:
    from gpuyard.readiness.subject import ClusterSeen


class ReadinessFormat(StrEnum):
    """How the list is written."""

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
    from gpuyard.readiness.asking import ask_readiness

    check_context(context, live=live)
    judged = judge_stack(stack)
    if judged.plan is None:
        if format is ReadinessFormat.JSON:
            write(as_json(document("readiness", judged, readiness=None)))
        else:
            show_refusal(judged)
        return FOUND
    cluster, silent = _cluster(context) if live else (None, "")
    found = ask_readiness(judged.plan, judged.findings, cluster)
    match format:
        case ReadinessFormat.JSON:
            made = readiness_document(found, threshold, silent)
            write(as_json(document("readiness", judged, readiness=made)))
        case ReadinessFormat.MARKDOWN:
            write(readiness_markdown(found, judged.plan.name))
        case ReadinessFormat.TEXT:
            show_readiness(found, results())
    if silent:
        asides().tell(silent, first="NOT ASKED  ", style="yellow")
    return LACKS if silent else FOUND if found.score < threshold else FINE


def _cluster(context: str | None) -> "tuple[ClusterSeen, str]":
    """What the cluster says, and why it said no more."""
    from gpuyard.cli.live import read_lists
    from gpuyard.readiness.subject import ASKED, ClusterSeen

    read = read_lists(context, ASKED)
    seen = ClusterSeen(objects=read.objects, unread=read.unread, absent=frozenset(read.absent))
    return seen, read.silent
