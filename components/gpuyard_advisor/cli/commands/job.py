"""`gpuyard job`: manifests of jobs, notebooks and services that start, and what is wrong with one."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from pydantic_core import PydanticCustomError

from gpuyard.cli.options import StackArgument
from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.views.findings import document, reject
from gpuyard.plan.queueing.volcano import uses_volcano
from gpuyard.plan.records import PlatformPlan, TeamPlan
from gpuyard_advisor.cli.commands.explain import check_teams, explanation_document, show_explanation
from gpuyard_advisor.cli.job_files import (
    no_workload_error,
    objects_in,
    parse_job_file,
    read_job_file,
    skipped_objects,
)
from gpuyard_advisor.cli.options import JobArgument
from gpuyard_advisor.explain import Explanation, Verdict
from gpuyard_advisor.explain import explain as explain_job
from gpuyard_advisor.job_manifests import (
    WITHOUT_ADDON,
    WITHOUT_IMAGE,
    ManifestKind,
    ManifestRequest,
    default_image,
    default_kind,
    kind_obstacle,
    manifest_objects,
    manifest_text,
    place_shape,
)
from gpuyard_advisor.workload_lint import lint_workloads, object_title
from gpuyard_advisor.workloads import ParsedWorkload, read_job
from gpuyard_core.catalogue.software.addons import addon_facts
from gpuyard_core.errors import UsageError
from gpuyard_core.findings import Severity, format_list
from gpuyard_core.local_files import write_file
from gpuyard_core.manifests.fields import text
from gpuyard_core.manifests.quantities import format_amount
from gpuyard_core.manifests.queued import OPERATORS, QUEUED_KINDS
from gpuyard_core.models.values import parse_name
from gpuyard_core.suggestions import format_options, nearest_name
from gpuyard_core.terminal.console import Console, diagnostics, results, write
from gpuyard_core.terminal.documents import as_json
from gpuyard_core.terminal.exit_codes import FINDINGS, OK
from gpuyard_core.terminal.findings import show_verdict
from gpuyard_core.terminal.options import Format, FormatOption
from gpuyard_core.terminal.text import pluralize
from gpuyard_lint.cli.lint import rule_settings
from gpuyard_lint.cli.report import hit_document, show_hits
from gpuyard_lint.report import Report
from gpuyard_lint.rules.run import Finding


def controller_caution(plan: PlatformPlan, job: ParsedWorkload) -> str:
    """The controller that the cluster must have for a job; empty if the stack has it or Kubernetes does."""
    if operator := OPERATORS.get(job.kind):
        return f"gpuyard installs no {operator}: without one in the cluster, the {job.kind} has no pods"
    group = text(job.body, "apiVersion").rpartition("/")[0]
    found = QUEUED_KINDS.get(f"{group}/{job.kind}")
    names = [
        each.name
        for each in addon_facts().values()
        if found and found.plural in each.kinds.get(group, ())
    ]
    if not names or any(map(plan.has_addon, names)):
        return ""
    return (
        f"the stack has no add-on {names[0]}: without its controller in the cluster, the {job.kind} has"
        f" no pods. Add {names[0]} to `addons`"
    )


app = typer.Typer(help="Write the manifest of a job, or check one.", no_args_is_help=True)
_Answer = tuple[str, Explanation]
"""A workload as findings name it, and its explanation."""


@app.command()
def new(  # noqa: PLR0913, PLR0917  an option is a parameter
    stack: StackArgument,
    shape: Annotated[
        str, typer.Option(metavar="SHAPE", help="Shape of `shapes`.", show_default=False)
    ],
    team: Annotated[
        str, typer.Option(metavar="TEAM", help="Team that submits it.", show_default=False)
    ],
    kind: Annotated[
        ManifestKind | None,
        typer.Option(
            help="Kind of the workload. Default: for whole GPUs trainjob or jobset if the stack has "
            "its add-on, else job.",
            show_default=False,
        ),
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(
            metavar="REF",
            help="Container image. Default: PyTorch, Ray or Jupyter; a service needs one.",
            show_default=False,
        ),
    ] = None,
    command: Annotated[
        str,
        typer.Option(
            metavar="LINE",
            help="Command for the shell of the container. Default: for training a short test, such as "
            "an all-reduce over all GPUs; otherwise what the image starts.",
            show_default=False,
        ),
    ] = "",
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name of the workload. Default: that of the shape.",
            show_default=False,
        ),
    ] = None,
    queue: Annotated[
        str | None,
        typer.Option(
            metavar="QUEUE", help="LocalQueue. Default: that of the team.", show_default=False
        ),
    ] = None,
    home_gib: Annotated[
        int, typer.Option(metavar="GIB", min=1, help="Size of the home volume of a notebook.")
    ] = 20,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File to write. Default: standard output.", show_default=False
        ),
    ] = None,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Write the manifest of a workload that starts on a stack. `text` is YAML, `json` a List."""
    judged = validate_stack(stack)
    if judged.plan is None:
        return reject("job new", judged, format)
    plan = judged.plan
    request = _request(plan, shape, team, kind, image, command, name, queue, home_gib)
    objects = manifest_objects(plan, request)
    (answer,) = (_explain(plan, each) for each in map(read_job, objects) if each is not None)
    if _never(answer):
        show_explanation(answer, diagnostics())
        return FINDINGS
    text = (
        as_json({"apiVersion": "v1", "kind": "List", "items": objects})
        if format is Format.JSON
        else manifest_text(plan, request)
    )
    if out is None:
        write(text)
    else:
        write_file(out, text)
    diagnostics().print_wrapped(f"{answer.verdict.value}: {answer.message}")
    for caution in answer.cautions:
        diagnostics().print_wrapped(caution, first="! ")
    return OK


def _request(  # noqa: PLR0913, PLR0917
    plan: PlatformPlan,
    shape: str,
    team: str,
    kind: ManifestKind | None,
    image: str | None,
    command: str,
    name: str | None,
    queue: str | None,
    home_gib: int,
) -> ManifestRequest:
    """The options as a request; UsageError with the allowed values for one that the stack rejects."""
    if uses_volcano(plan.spec):
        raise UsageError(
            f"platform {plan.name} uses Volcano, and manifests of `gpuyard job new` are for Kueue. The"
            " guide `Use Volcano instead of Kueue` has one for Volcano."
        )
    _check_name("--shape", "shape", shape, [each.name for each in plan.shapes])
    _check_name("--team", "team", team, [each.name for each in plan.teams])
    owner = plan.team(team)
    placed = place_shape(plan, owner, shape)
    if placed is None:
        raise UsageError(_no_quota(plan, shape, team))
    kind = kind or default_kind(plan, owner, placed)
    reason, fix = kind_obstacle(plan, owner, placed, kind)
    if reason:
        kinds = [
            each
            for each in ManifestKind
            if each not in WITHOUT_ADDON and not kind_obstacle(plan, owner, placed, each)[0]
        ]
        raise UsageError(f"--kind {kind}: {reason}. {fix}, or use --kind {format_options(kinds)}.")
    mirrored = plan.spec.mirror is not None and kind is not ManifestKind.TRAINJOB
    if image is None and (kind in WITHOUT_IMAGE or mirrored):
        why = (
            "a server has no default image"
            if kind in WITHOUT_IMAGE
            else "nodes of the stack pull from a mirror"
        )
        raise UsageError(f"--kind {kind}: {why}. Add --image with one that nodes can pull.")
    if kind is ManifestKind.NOTEBOOK:
        _check_home(owner, home_gib)
    _check_name("--queue", f"queue of team {team}", queue or owner.local_queue, owner.queues)
    return ManifestRequest(
        kind=kind,
        name=_valid_name(name or shape),
        team=owner,
        shape=placed,
        queue=queue or owner.local_queue,
        image=image or default_image(kind),
        command=command,
        home_gib=home_gib,
    )


def _check_name(option: str, what: str, given: str, known: Iterable[str]) -> None:
    names = list(known)
    if given in names:
        return
    nearest = nearest_name(given, names)
    hint = f" Did you mean {nearest}?" if nearest else ""
    raise UsageError(
        f"{option} {given}: no such {what}. Known: {format_list(names) or 'none'}.{hint}"
    )


def _valid_name(name: str) -> str:
    try:
        return parse_name(name)
    except PydanticCustomError as problem:
        told = problem.context or {}
        fix = f" Instead, {told['fix']}." if told["fix"] else ""
        raise UsageError(f"--name {name}: {problem}: {told['allowed']}.{fix}") from None


def _check_home(team: TeamPlan, gib: int) -> None:
    most = team.default_namespace.limits.storage_gib
    if gib > most:
        raise UsageError(
            f"--home-gib {gib}: team {team.name} may claim {most} GiB in its namespace. Write less, or"
            " raise teams[].limits.storage_gib in the stack."
        )


def _no_quota(plan: PlatformPlan, name: str, team: str) -> str:
    shape = next(each for each in plan.shapes if each.name == name)
    need = format_amount(shape.resource, shape.per_node * shape.nodes)
    return (
        f"--team {team}: it has no quota for {need}, which shape {name} needs at once."
        f" Teams with enough: {format_list(shape.teams) or 'none'}. Or raise teams[].guarantee or borrow"
        f" of {plan.pool(shape.pool).stack_file_key(shape.resource)} in the stack."
    )


@app.command()
def check(
    stack: StackArgument,
    job: JobArgument,
    team: Annotated[
        str | None,
        typer.Option(
            metavar="TEAM", help="Team of objects that name no namespace.", show_default=False
        ),
    ] = None,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Check whether jobs start, and check them against the GPU rules. Exits with code 3 if one never starts."""
    judged = validate_stack(stack)
    if judged.plan is None:
        return reject("job check", judged, format, file=job, ok=False, jobs=[], hits=[])
    plan = judged.plan
    shown, data = read_job_file(job)
    values = objects_in(parse_job_file(shown, data))
    jobs = [(value, parsed) for value in values if (parsed := read_job(value)) is not None]
    if not jobs:
        raise UsageError(no_workload_error(shown, values))
    check_teams(plan, [parsed for _, parsed in jobs], team, shown)
    home = plan.team(team).default_namespace.name if team is not None else ""
    answers = [(object_title(value, home), _explain(plan, one, team)) for value, one in jobs]
    names = {one.team for _, one in answers}
    teams = [each for each in plan.teams if each.name in names]
    settings = rule_settings(None, stack)
    report = lint_workloads(plan, teams, data, shown, namespace=home, settings=settings)
    hits = _by_object(report, dict(answers))
    failed = report.is_failed(Severity.ERROR) or any(_never(one) for _, one in answers)
    if format is Format.JSON:
        checked = [
            {**explanation_document(one), "hits": list(map(hit_document, hits.get(title, ())))}
            for title, one in answers
        ]
        rest = list(map(hit_document, hits.get("", ())))
        write(
            as_json(
                document("job check", judged, file=shown, ok=not failed, jobs=checked, hits=rest)
            )
        )
    else:
        _show(answers, hits)
        for each in skipped_objects(values):
            diagnostics().print_wrapped(each, first="! ")
        results().print()
        summary = _summary([one for _, one in answers], report.open_findings)
        show_verdict("failed" if failed else "ok", f"{shown}: {summary}", results())
    return FINDINGS if failed else OK


def _explain(plan: PlatformPlan, job: ParsedWorkload, team: str | None = None) -> Explanation:
    """The explanation, with a caution if the controller of the kind may be missing."""
    answer = explain_job(plan, job, team=team)
    caution = controller_caution(plan, job)
    return replace(answer, cautions=(*answer.cautions, caution)) if caution else answer


def _never(one: Explanation) -> bool:
    return one.verdict is Verdict.NEVER


def _by_object(report: Report, titles: Collection[str]) -> dict[str, list[Finding]]:
    """The open findings of each workload, and with the key "" of all other objects; errors first."""
    hits: dict[str, list[Finding]] = {}
    for hit in sorted(report.open_findings, key=lambda hit: -hit.diagnostic.severity.rank):
        title = hit.resource_title
        hits.setdefault(title if title in titles else "", []).append(hit)
    return hits


def _show(answers: Sequence[_Answer], hits: Mapping[str, Sequence[Finding]]) -> None:
    """Each workload with its findings, then the findings of other objects."""
    console = results()
    for number, (title, one) in enumerate(answers):
        if number:
            console.print()
        show_explanation(one, console)
        _show_findings(hits.get(title, ()), console)
    _show_findings(hits.get("", ()), console)


def _show_findings(hits: Sequence[Finding], console: Console) -> None:
    for hit in hits:
        console.print()
        show_hits([hit], console)


def _summary(answers: Sequence[Explanation], hits: Sequence[Finding]) -> str:
    """`1 of 2 workloads never starts, 1 error`."""
    never, count = sum(map(_never, answers)), len(answers)
    starts = (
        f"{never} of {pluralize(count, 'workload')} never start{'s' if never == 1 else ''}"
        if never
        else f"{pluralize(count, 'workload')} can start"
    )
    words = (
        pluralize(n, severity.value) if severity is not Severity.INFO else f"{n} info"
        for severity in Severity
        if (n := sum(hit.diagnostic.severity is severity for hit in hits))
    )
    return f"{starts}, {', '.join(words) or 'no findings'}"
