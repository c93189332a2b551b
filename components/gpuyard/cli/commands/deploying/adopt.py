"""`gpuyard adopt`: import an existing cluster and its cloud resources into a stack."""

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpuyard import programs
from gpuyard.cli.late_values import read_ids
from gpuyard.cli.options import StackArgument
from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.views.findings import reject, write_document
from gpuyard_core.errors import UsageError
from gpuyard_core.local_files import write_file
from gpuyard_core.terminal.console import results
from gpuyard_core.terminal.exit_codes import ENVIRONMENT_MISSING, FINDINGS, OK
from gpuyard_core.terminal.options import Format, FormatOption
from gpuyard_core.terminal.text import pluralize

if TYPE_CHECKING:
    from gpuyard.adopting.resource_search import SearchResult
    from gpuyard.plan.records import PlatformPlan
    from gpuyard.render.cloud.graph import CloudGraph
    from gpuyard_core.terminal.console import Console

PROJECT = "client.project"
"""Name of the provider's project in a graph of Google Cloud."""
_WIDTH = 10


def adopt(  # noqa: PLR0913, PLR0917  each is an option
    stack: StackArgument,
    ids: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Known ids, as YAML or JSON: `vpc: vpc-0a1b…`, by the names this command shows; "
            "or - for standard input.",
            show_default=False,
        ),
    ] = None,
    ask: Annotated[
        bool, typer.Option("--ask", help="Look up the other ids with your aws or gcloud.")
    ] = False,
    project: Annotated[
        str,
        typer.Option(
            metavar="ID",
            help="Google Cloud project. Default: the project of gcloud.",
            show_default=False,
        ),
    ] = "",
    component: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the Platform resource in your program.")
    ] = "platform",
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the import file.", show_default=False),
    ] = None,
    into: Annotated[
        str,
        typer.Option(
            metavar="PULUMI_STACK",
            help="Run `pulumi import` on this stack of the project in this folder.",
            show_default=False,
        ),
    ] = "",
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Import an existing cluster into a stack. Writes the file for `pulumi import`; only reads the cloud."""
    from gpuyard.adopting.resource_search import import_file, search

    known_ids = read_ids(ids) if ids is not None else {}
    judged = validate_stack(stack)
    if judged.plan is None:
        return reject("adopt", judged, format)
    graph = judged.plan.provider.graph(judged.plan)
    if graph is None:
        raise UsageError(
            f"{judged.file}: cloud {judged.plan.cloud.value} creates no AWS or Google Cloud resources to"
            " import. To import objects inside a cluster, use `gpuyard recover`."
        )
    _reject_unknown_names(known_ids, graph)
    known_ids = _with_project(judged.plan, known_ids, project, ask=ask)
    result = search(
        judged.plan, graph, known_ids, programs.run_commands if ask else None, component
    )
    content = import_file(judged.plan, graph, result.ids, component)
    if out is not None:
        write_file(out, json.dumps(content, indent=2) + "\n")
    if into and not result.missing:
        _import(into, content)
    if format is Format.JSON:
        write_document("adopt", judged, **_document(result, content, into))
    else:
        _show(result, graph, results(), out, into)
    return ENVIRONMENT_MISSING if result.not_queried else FINDINGS if result.missing else OK


def _reject_unknown_names(known_ids: dict[str, str], graph: "CloudGraph") -> None:
    """Reject ids of resources that the stack does not have: they are typing errors."""
    known = {each.name for each in graph.resources}
    holders = known | {each.name for each in graph.calls}
    strangers = [
        name
        for name in known_ids
        if name not in known and ("." not in name or name.partition(".")[0] not in holders)
    ]
    if strangers:
        raise UsageError(
            f"--ids: {', '.join(strangers)}: this stack has no resource of this name. To list the names,"
            " run `gpuyard adopt` without --ids."
        )


def _with_project(
    plan: "PlatformPlan", known_ids: dict[str, str], project: str, *, ask: bool
) -> dict[str, str]:
    """Add the project, with which every Google Cloud id begins."""
    if not plan.provider.ids_have_project:
        if project:
            raise UsageError(f"--project {project} is for Google Cloud; this stack is on AWS.")
        return known_ids
    if project or PROJECT in known_ids:
        return {PROJECT: project, **known_ids} if project else known_ids
    if ask and (result := plan.provider.caller_project(programs.run_commands)):
        return {PROJECT: result, **known_ids}
    raise UsageError("every Google Cloud id begins with a project: add --project ID.")


# ── into the state ────────────────────────────────────────────────────────────────────────────────
def _import(name: str, content: dict[str, Any]) -> None:
    """Imported resources stay protected until the first `pulumi up` of the program."""
    from gpuyard.adopting.resource_search import with_explicit_names
    from gpuyard.recovery import PulumiStack

    stack = PulumiStack(name, Path.cwd(), os.environ)
    adopted = [each["logicalName"] for each in content["resources"] if "id" in each]
    with tempfile.TemporaryDirectory(prefix="gpuyard-") as folder:
        file = Path(folder) / "adopt.json"
        file.write_text(json.dumps(content), encoding="utf-8")
        stack.query(
            "import", "--file", str(file), "--generate-code=false", "--yes", "--skip-preview"
        )
    stack.edit(lambda deployment: with_explicit_names(deployment, adopted))


# ── output ────────────────────────────────────────────────────────────────────────────────────────
def _document(result: "SearchResult", content: dict[str, Any], into: str) -> dict[str, Any]:
    return {
        "ids": dict(result.ids),
        "missing": [{"name": name, "why": why} for name, why in result.missing.items()],
        "differs": [
            {"name": each.name, "field": each.field, "there": each.actual, "wanted": each.expected}
            for each in result.differences
        ],
        "not_asked": [{"about": about, "why": why} for about, why in result.not_queried.items()],
        "imported": bool(into) and not result.missing,
        "file": content,
    }


def _show(
    result: "SearchResult", graph: "CloudGraph", console: "Console", out: Path | None, into: str
) -> None:
    kinds = {each.name: each.kind for each in graph.resources}
    found = [f"{name}: {identity}" for name, identity in result.ids.items()]
    differs = [
        f"{each.name}: {each.field} is {each.actual}, the stack file has {each.expected}"
        for each in result.differences
    ]
    missing = [f"{name} ({kinds[name]}): {why}" for name, why in result.missing.items()]
    skipped = [f"{about}: {why}" for about, why in result.not_queried.items()]
    problems = {"DIFFERS": differs, "MISSING": missing, "SKIPPED": skipped}
    for word, texts in {"found": found, **problems}.items():
        for text in texts:
            style = "yellow" if word in problems else "dim"
            console.print_wrapped(text, first=word.ljust(_WIDTH), style=style)
    console.print()
    console.print(f"{pluralize(len(result.ids), 'id')} found, {len(result.missing)} missing.")
    if result.missing:
        console.print(
            "The next `pulumi up` would create the missing resources. Set their ids in a file for --ids, "
            "or use --ask to query the account."
        )
    elif into:
        console.print(f"Imported into {into}. Next: pulumi preview --stack {into}")
    elif out is not None:
        console.print(
            f"Wrote {out}. Next: run this command with --into PULUMI_STACK, or `pulumi import --file {out}`."
        )
