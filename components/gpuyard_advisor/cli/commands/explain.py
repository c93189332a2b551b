"""`gpuyard explain`: whether a job would start, where, on which conditions, or why not."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer

from gpuyard.cli.options import StackArgument
from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.views.findings import document, reject
from gpuyard.plan.records import PlatformPlan
from gpuyard.stack_validation import ValidatedStack
from gpuyard_advisor.cli.job_files import (
    no_workload_error,
    objects_in,
    read_documents,
    read_dump,
    skipped_objects,
)
from gpuyard_advisor.cli.live import ClusterListing, query_cluster
from gpuyard_advisor.cli.options import ContextOption, JobArgument, check_context
from gpuyard_advisor.explain import Explanation, Verdict
from gpuyard_advisor.explain import explain as explain_job
from gpuyard_advisor.explain.answer import team_of
from gpuyard_advisor.explain.running import read_running
from gpuyard_advisor.scheduler.model import EMPTY, PlatformState
from gpuyard_advisor.workloads import ParsedWorkload, read_job
from gpuyard_core.errors import UsageError
from gpuyard_core.manifests.quantities import format_amount
from gpuyard_core.terminal.console import Column, Console, diagnostics, results, table, write
from gpuyard_core.terminal.documents import as_json, tree
from gpuyard_core.terminal.exit_codes import FINDINGS, OK
from gpuyard_core.terminal.options import Format, FormatOption
from gpuyard_core.terminal.text import pluralize

_STYLES = {Verdict.STARTS: "bold green", Verdict.WAITS: "bold yellow", Verdict.NEVER: "bold red"}


def explain(
    stack: StackArgument,
    job: JobArgument,
    team: Annotated[
        str | None,
        typer.Option(
            metavar="TEAM",
            help="Team of jobs that name no namespace.",
            show_default=False,
        ),
    ] = None,
    running: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Running workloads: manifests, a list of your own, or `kubectl get "
            "pods,workloads,nodes -A -o json`. Default: none.",
            show_default=False,
        ),
    ] = None,
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help="Query the cluster for running workloads and nodes, with kubectl and its "
            "kubeconfig. Read-only.",
        ),
    ] = False,
    context: ContextOption = None,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Explain whether a job would start. Names pool, conditions and preemptions, or the reason why not."""
    _check_source(running, context, live=live)
    judged = validate_stack(stack)
    if judged.plan is None:
        return reject("explain", judged, format, running=None, live=None, jobs=[])
    plan = judged.plan
    shown, documents = read_documents(job)
    values = objects_in(documents)
    jobs = [result for value in values if (result := read_job(value)) is not None]
    if not jobs:
        raise UsageError(no_workload_error(shown, values))
    check_teams(plan, jobs, team, shown)
    listing = query_cluster(context) if live else None
    state, remarks = _live_state(plan, listing) if listing else (_state(plan, running), ())
    answers = [explain_job(plan, one, state, team) for one in jobs]
    answers = [replace(one, cautions=(*one.cautions, *remarks)) for one in answers]
    code = FINDINGS if any(e.verdict is Verdict.NEVER for e in answers) else OK
    if format is Format.JSON:
        write(as_json(_document(judged, shown, answers, running, listing)))
        return code
    _show_all(answers)
    if listing is not None:
        diagnostics().print_wrapped(f"read from {_cluster(listing)}: {_counts(listing)}")
    for each in skipped_objects(values):
        diagnostics().print_wrapped(each, first="! ")
    if skipped := len(values) - len(jobs):
        diagnostics().print_wrapped(
            f"{pluralize(skipped, 'other object')} in {shown} skipped: not a workload"
        )
    return code


def _check_source(running: str | None, context: str | None, *, live: bool) -> None:
    """Reject --live with --running, and --context without --live."""
    if live and running is not None:
        raise UsageError("--live queries the cluster, --running reads a file. Use one of the two.")
    check_context(context, live=live)


def check_teams(
    plan: PlatformPlan, jobs: Sequence[ParsedWorkload], team: str | None, shown: str
) -> None:
    """Reject jobs whose team is unknown or contradicts --team."""
    names = [t.name for t in plan.teams]
    if team is not None and team not in names:
        raise UsageError(f"--team {team}: no such team. Teams are {', '.join(names) or 'none'}.")
    for job in jobs:
        title = f"{job.kind} {job.name or '(no name)'} in {shown}"
        if not job.namespace and team is None:
            raise UsageError(
                f"{title} has no metadata.namespace, so its team is unknown. Set one, or add"
                f" --team with one of {', '.join(names) or 'no teams: the stack has none'}."
            )
        home = team_of(plan, job.namespace, team)
        if team is not None and job.namespace and (home is None or home.name != team):
            owner = f"team {home.name}" if home else "no team"
            raise UsageError(
                f"{title} is in the namespace {job.namespace} of {owner}, and --team is {team}."
                " Remove one of the two."
            )


def _state(plan: PlatformPlan, running: str | None) -> PlatformState:
    """Read the running workloads from a file: cluster objects, manifests, or a list."""
    if running is None:
        return EMPTY
    shown, objects = read_dump(running)
    values: list[Any] = []
    for value in objects:
        lines = value.get("running") if isinstance(value, dict) and "kind" not in value else value
        values += lines if isinstance(lines, list) else [value]
    state, problems = read_running(plan, values)
    if problems:
        raise UsageError(f"{shown}: " + "; ".join(problems))
    return state


_PROBLEMS_SHOWN = 3


def _live_state(
    plan: PlatformPlan, listing: ClusterListing
) -> tuple[PlatformState, tuple[str, ...]]:
    """The state of a cluster, and remarks that apply to every answer."""
    all_nodes = "nodes" in listing.read
    state, problems = read_running(plan, listing.objects, all_nodes=all_nodes)
    remarks = [*listing.unreadable, *problems[:_PROBLEMS_SHOWN]]
    if (more := len(problems) - _PROBLEMS_SHOWN) > 0:
        remarks.append(f"and {more:,} more")
    if all_nodes and not state.nodes and not plan.queueing.dispatch:
        remarks.append(
            f"no node of {_cluster(listing)} belongs to a pool of this platform. Check that it is the right cluster."
        )
    return state, tuple(remarks)


def _cluster(listing: ClusterListing) -> str:
    return f"context {listing.context}" if listing.context else "the cluster"


def _counts(listing: ClusterListing) -> str:
    return ", ".join(
        pluralize(count, name.removesuffix("s")) for name, count in listing.read.items()
    )


def _show_all(answers: Sequence[Explanation]) -> None:
    console = results()
    for number, one in enumerate(answers):
        if number:
            console.print()
        show_explanation(one, console)


def show_explanation(one: Explanation, console: Console) -> None:
    """Print one explanation."""
    where = f" in {', '.join(one.pools)}" if one.pools and one.verdict is Verdict.STARTS else ""
    title = f"{one.kind} {one.name or '(no name)'}"
    console.print((title, "bold"), "  ", (f"{one.verdict.value}{where}", _STYLES[one.verdict]))
    console.print_wrapped(f"{one.message}.", indent=2)
    rows: list[tuple[str, str]] = [("requests", _requests(one)), ("queue", _queue(one))]
    rows += [("condition", text) for text in one.conditions]
    rows += [("evicts", f"{p.team}: {p.name} ({p.why})") for p in one.preempts]
    if one.meanwhile:
        rows.append(("meanwhile", one.meanwhile))
    # Two changes are both needed: a single one that suffices is searched for first.
    rows += [("and" if number else "change", c.message) for number, c in enumerate(one.changes)]
    if one.stack_change:
        rows.append(("or in stack", one.stack_change))
    console.show(table([Column(""), Column("", wraps=True)], rows))
    if any(r.reason not in one.message for r in one.reasons):
        console.print()
        columns = [Column("pool", name=True), Column(""), Column("because", wraps=True)]
        lines = [(r.pool, "yes" if r.is_chosen else "no", r.reason) for r in one.reasons]
        console.show(table(columns, lines))
    for caution in one.cautions:
        console.print_wrapped(caution, first="! ", style="yellow", indent=2)


def _requests(one: Explanation) -> str:
    amounts = ", ".join(format_amount(r, n) for r, n in one.requests.items()) or "nothing"
    return f"{amounts} in {pluralize(one.pods, 'pod')}"


def _queue(one: Explanation) -> str:
    if one.queue is None:
        return f"none (namespace {one.namespace})"
    return f"{one.queue} in namespace {one.namespace}, of team {one.team}"


def explanation_document(one: Explanation) -> dict[str, Any]:
    """One explanation as a document."""
    return {**tree(one), "from_zero": one.scales_from_zero}


def _document(
    judged: ValidatedStack,
    shown: str,
    results: list[Explanation],
    running: str | None,
    listing: ClusterListing | None,
) -> dict[str, Any]:
    jobs = list(map(explanation_document, results))
    live = (
        {"context": listing.context, "read": listing.read, "unreadable": list(listing.unreadable)}
        if listing
        else None
    )
    return document("explain", judged, file=shown, running=running, live=live, jobs=jobs)
