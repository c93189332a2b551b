"""`gpuyard metrics`: recording rules and alerts of a stack as a Prometheus rule file, and what they need."""

from pathlib import Path
from typing import Annotated

import typer

from gpuyard.cli.options import StackArgument
from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.views.findings import reject, write_document
from gpuyard_core.names import CLASS_LABEL
from gpuyard_core.terminal.console import write
from gpuyard_core.terminal.exit_codes import OK
from gpuyard_core.terminal.options import Format, FormatOption


def metrics(
    stack: StackArgument,
    dashboards: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Also write the Grafana dashboards to this folder: new, empty, or written by this command before.",
            show_default=False,
        ),
    ] = None,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Print the recording rules and alerts of a stack. The text is a Prometheus rule file."""
    import yaml

    from gpuyard.cli.folder import write_folder
    from gpuyard.render.observability.counters import counter_list
    from gpuyard.render.observability.dashboards import dashboard_files
    from gpuyard.render.observability.facts import node_labels
    from gpuyard.render.observability.rules import rule_groups

    judged = validate_stack(stack)
    if judged.plan is None:
        return reject("metrics", judged, format, groups=None)
    groups, labels = rule_groups(judged.plan), node_labels(judged.plan)
    if dashboards is not None:
        files = dashboard_files(judged.plan)
        write_folder(dashboards, files, by="gpuyard metrics", give="Give --dashboards")
    if format is Format.JSON:
        write_document(
            "metrics",
            judged,
            groups=groups,
            node_labels=labels,
            counters=[each.name for each in counter_list()],
        )
    else:
        write(
            f"# Rules of {judged.plan.name}. docs/guides/metrics.md describes the scrape configuration that they need.\n"
            f"# kube-state-metrics: --metric-labels-allowlist=nodes=[{','.join(labels)}],pods=[{CLASS_LABEL}]\n"
        )
        write(yaml.safe_dump({"groups": groups}, sort_keys=False, width=110))
    return OK
