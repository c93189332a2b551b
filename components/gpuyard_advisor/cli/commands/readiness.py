"""`gpuyard readiness`: the production readiness checks of a platform."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpuyard.cli.options import StackArgument
from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.views.findings import document, show_rejection
from gpuyard_advisor.cli.options import ContextOption, check_context
from gpuyard_core.errors import EnvironmentMissing, UsageError
from gpuyard_core.terminal.console import diagnostics, results, write
from gpuyard_core.terminal.documents import as_json
from gpuyard_core.terminal.exit_codes import ENVIRONMENT_MISSING, FINDINGS, OK

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuyard.plan.records import PlatformPlan
    from gpuyard_advisor.cli.live import ReadLists
    from gpuyard_advisor.readiness.inputs import ClusterObjects


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
    prometheus: Annotated[
        str | None,
        typer.Option(
            "--prometheus",
            metavar="URL",
            help="With --live: also query the targets and rules of this Prometheus. A bearer token is "
            "read from GPUYARD_PROMETHEUS_TOKEN.",
            show_default=False,
        ),
    ] = None,
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

    Exits with code 4 when --live cannot reach the cluster or Prometheus; their checks are NOT RUN then.
    """
    from gpuyard_advisor.cli.views.readiness import (
        readiness_document,
        readiness_markdown,
        show_readiness,
    )
    from gpuyard_advisor.readiness.assessment import assess_readiness

    check_context(context, live=live)
    if prometheus is not None and not live:
        raise UsageError("--prometheus adds to --live. Add --live.")
    judged = validate_stack(stack)
    if judged.plan is None:
        if format is ReadinessFormat.JSON:
            write(as_json(document("readiness", judged, readiness=None)))
        else:
            show_rejection(judged)
        return FINDINGS
    cluster, silent = _cluster(judged.plan, context, prometheus) if live else (None, "")
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


def _cluster(
    plan: "PlatformPlan", context: str | None, prometheus: str | None
) -> "tuple[ClusterObjects, str]":
    """Read the objects of the cluster and the answers of Prometheus; also why the reading stopped early."""
    from gpuyard_advisor.cli.live import read_lists
    from gpuyard_advisor.cli.prometheus import Prometheus
    from gpuyard_advisor.readiness.inputs import LISTED_KINDS, ClusterObjects

    # An address that is none ends the command before the cluster is read.
    server = None if prometheus is None else Prometheus(prometheus)
    read = read_lists(context, LISTED_KINDS)
    reasons = [read.stop_reason]
    if not read.stop_reason:
        _read("Secret", lambda: _secrets(plan, context), read)
    if server is not None:
        reasons += [_read("Target", server.targets, read)]
        reasons += [_read("RuleGroup", server.rule_groups, read)]
    seen = ClusterObjects(
        objects=read.objects, unreadable=read.unread, absent=frozenset(read.absent)
    )
    return seen, "; ".join(dict.fromkeys(filter(None, reasons)))


def _read(kind: str, query: "Callable[[], list[Any]]", into: "ReadLists") -> str:
    """Read objects that are in no list of kubectl; the reason if they cannot be read."""
    try:
        into.objects[kind] = query()
    except EnvironmentMissing as silent:
        into.unread[kind] = str(silent)
    return into.unread.get(kind, "")


def _secrets(plan: "PlatformPlan", context: str | None) -> "list[Any]":
    """The Secrets of receivers that exist: their names and namespaces."""
    from gpuyard_advisor.cli.live import read_secret_names
    from gpuyard_advisor.readiness.delivery import receiver_secrets
    from gpuyard_advisor.readiness.inputs import Subject

    return [
        {"kind": "Secret", "metadata": {"name": name, "namespace": space}}
        for space, names in receiver_secrets(Subject(plan)).items()
        for name in read_secret_names(context, space, names)
    ]
