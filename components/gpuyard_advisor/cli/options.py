"""Arguments and options that several commands share."""

from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from gpuyard_core.errors import UsageError

JobArgument = Annotated[
    str,
    typer.Argument(
        metavar="JOB",
        help="A file with Kubernetes workloads, or - for standard input.",
        show_default=False,
    ),
]
ExportOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="EXPORT",
        help="Samples of Prometheus: the JSON of a range query, or OpenMetrics text.",
        show_default=False,
    ),
]
PROMETHEUS = typer.Option(
    "--live",
    metavar="URL",
    help="Query this Prometheus, for example http://localhost:9090. A bearer token is read from "
    "GPUYARD_PROMETHEUS_TOKEN.",
    show_default=False,
)
PrometheusOption = Annotated[str | None, PROMETHEUS]
ContextOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="With --live: context of the kubeconfig. Default: the current one.",
        show_default=False,
    ),
]


def check_context(context: str | None, *, live: bool) -> None:
    """Reject --context without --live."""
    if context is not None and not live:
        raise UsageError("--context selects the cluster for --live. Add --live.")


def check_source(export: str | None, live: str | None) -> None:
    """Reject neither --from nor --live, and both."""
    if (export is None) == (live is None):
        raise UsageError("write either --from EXPORT or --live URL")


def time_zone(name: str) -> ZoneInfo:
    """The time zone of --timezone."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise UsageError(
            f"--timezone {name}: no such time zone on this machine. Write a name such as Europe/Berlin."
        ) from None
