"""`gpuyard explain`: would a job start, where, on what condition, or why never."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer

from gpuyard.cli.exit_codes import FINE, FOUND
from gpuyard.cli.job_files import no_workload, objects_in, read_documents, read_dump, unread_in
from gpuyard.cli.live import ClusterSays, ask_cluster
from gpuyard.cli.options import (
    ContextOption,
    Format,
    FormatOption,
    Job,
    StackArgument,
    check_context,
)
from gpuyard.cli.stacks import judge_stack
from gpuyard.cli.terminal.console import Column, Console, asides, results, table, write
from gpuyard.cli.terminal.text import many
from gpuyard.cli.views.documents import as_json, tree
from gpuyard.cli.views.findings import document, refused
from gpuyard.errors import UsageError
from gpuyard.explain import Explanation, Verdict
from gpuyard.explain import explain as explain_job
from gpuyard.explain.answer import team_of
from gpuyard.explain.running import read_running
from gpuyard.judging import Judged
from gpuyard.manifests.quantities import show_amount
from gpuyard.manifests.workloads import JobRead, read_job
from gpuyard.plan.records import PlatformPlan
from gpuyard.scheduler.desk import EMPTY, PlatformState

_STYLES = {Verdict.STARTS: "bold green", Verdict.WAITS: "bold yellow", Verdict.NEVER: "bold red"}


def explain(
    stack: StackArgument,
    job: Job,
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
            help="Running workloads: manifests, lines of your own, or `kubectl get "
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
    judged = judge_stack(stack)
    if judged.plan is None:
        return refused("explain", judged, format, running=None, live=None, jobs=[])
    plan = judged.plan
    shown, documents = read_documents(job)
    values = objects_in(documents)
    jobs = [found for value in values if (found := read_job(value)) is not None]
    if not jobs:
        raise UsageError(no_workload(shown, values))
    _check_teams(plan, jobs, team, shown)
    says = ask_cluster(context) if live else None
    state, beside = _live_state(plan, says) if says else (_state(plan, running), ())
    answers = [explain_job(plan, one, state, team) for one in jobs]
    answers = [replace(one, cautions=(*one.cautions, *beside)) for one in answers]
    code = FOUND if any(e.verdict is Verdict.NEVER for e in answers) else FINE
    if format is Format.JSON:
        write(as_json(_document(judged, shown, answers, running, says)))
        return code
    _show_all(answers)
    if says is not None:
        asides().tell(f"read from {_cluster(says)}: {_counts(says)}")
    for each in unread_in(values):
        asides().tell(each, first="! ")
    if skipped := len(values) - len(jobs):
        asides().tell(f"{many(skipped, 'other object')} in {shown} left out: no workload")
    return code


def _check_source(running: str | None, context: str | None, *, live: bool) -> None:
    """What runs comes from one place."""
    if live and running is not None:
        raise UsageError("--live asks the cluster, --running reads a file. Give one of the two.")
    check_context(context, live=live)


def _check_teams(plan: PlatformPlan, jobs: Sequence[JobRead], team: str | None, shown: str) -> None:
    """Whose a job is must be said once, and not twice differently."""
    names = [t.name for t in plan.teams]
    if team is not None and team not in names:
        raise UsageError(f"--team {team}: no such team. Teams are {', '.join(names) or 'none'}.")
    for job in jobs:
        title = f"{job.kind} {job.name or '(no name)'} in {shown}"
        if not job.namespace and team is None:
            raise UsageError(
                f"{title} has no metadata.namespace, so nobody knows whose it is. Write one, or give"
                f" --team with one of {', '.join(names) or 'no teams: the stack has none'}."
            )
        home = team_of(plan, job.namespace, team)
        if team is not None and job.namespace and (home is None or home.name != team):
            owner = f"team {home.name}" if home else "no team"
            raise UsageError(
                f"{title} is in the namespace {job.namespace} of {owner}, and --team says {team}."
                " Leave one of the two out."
            )


def _state(plan: PlatformPlan, running: str | None) -> PlatformState:
    """What runs, from a file: objects of a cluster, manifests, or lines of one's own."""
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


def _live_state(plan: PlatformPlan, says: ClusterSays) -> tuple[PlatformState, tuple[str, ...]]:
    """The state of a cluster, and what must be said of it beside every answer."""
    all_nodes = "nodes" in says.read
    state, problems = read_running(plan, says.objects, all_nodes=all_nodes)
    beside = [*says.unread, *problems[:_PROBLEMS_SHOWN]]
    if (more := len(problems) - _PROBLEMS_SHOWN) > 0:
        beside.append(f"and {more:,} more such")
    if all_nodes and not state.nodes and not plan.queueing.dispatch:
        beside.append(
            f"no node of {_cluster(says)} belongs to a pool of this platform: is it the right cluster?"
        )
    return state, tuple(beside)


def _cluster(says: ClusterSays) -> str:
    return f"context {says.context}" if says.context else "the cluster"


def _counts(says: ClusterSays) -> str:
    return ", ".join(many(count, name.removesuffix("s")) for name, count in says.read.items())


def _show_all(answers: Sequence[Explanation]) -> None:
    console = results()
    for number, one in enumerate(answers):
        if number:
            console.say()
        show_explanation(one, console)


def show_explanation(one: Explanation, console: Console) -> None:
    """One answer, for reading."""
    where = f" in {', '.join(one.pools)}" if one.pools and one.verdict is Verdict.STARTS else ""
    title = f"{one.kind} {one.name or '(no name)'}"
    console.say((title, "bold"), "  ", (f"{one.verdict.value}{where}", _STYLES[one.verdict]))
    console.tell(f"{one.says}.", indent=2)
    rows: list[tuple[str, str]] = [("asks", _asks(one)), ("queue", _queue(one))]
    rows += [("condition", text) for text in one.conditions]
    rows += [("evicts", f"{p.team}: {p.name} ({p.why})") for p in one.preempts]
    if one.meanwhile:
        rows.append(("meanwhile", one.meanwhile))
    # two changes are needed both: one that suffices is looked for first
    rows += [("and" if number else "change", c.says) for number, c in enumerate(one.changes)]
    if one.stack_change:
        rows.append(("or in stack", one.stack_change))
    console.show(table([Column(""), Column("", wraps=True)], rows))
    if any(r.why not in one.says for r in one.reasons):
        console.say()
        columns = [Column("pool", name=True), Column(""), Column("because", wraps=True)]
        lines = [(r.pool, "yes" if r.taken else "no", r.why) for r in one.reasons]
        console.show(table(columns, lines))
    for caution in one.cautions:
        console.tell(caution, first="! ", style="yellow", indent=2)


def _asks(one: Explanation) -> str:
    amounts = ", ".join(show_amount(r, n) for r, n in one.asks.items()) or "nothing"
    return f"{amounts} in {many(one.pods, 'pod')}"


def _queue(one: Explanation) -> str:
    if one.queue is None:
        return f"none (namespace {one.namespace})"
    return f"{one.queue} in namespace {one.namespace}, of team {one.team}"


def _document(
    judged: Judged,
    shown: str,
    found: list[Explanation],
    running: str | None,
    says: ClusterSays | None,
) -> dict[str, Any]:
    jobs = [{**tree(one), "from_zero": one.from_zero} for one in found]
    live = (
        {"context": says.context, "read": says.read, "unread": list(says.unread)} if says else None
    )
    return document("explain", judged, file=shown, running=running, live=live, jobs=jobs)
