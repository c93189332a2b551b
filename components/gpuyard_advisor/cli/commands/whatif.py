"""`gpuyard whatif`: what the jobs of a trace would have done on a stack, or on two."""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from gpuyard.cli.options import StackArgument
from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.views.findings import reject
from gpuyard_advisor.cli.views.times import progress_bar
from gpuyard_advisor.traces.records import MAX_JOBS
from gpuyard_core.errors import UsageError
from gpuyard_core.local_files import read_regular, shown_path, write_file
from gpuyard_core.stack_files import complete_stacks
from gpuyard_core.terminal.console import Console, diagnostics, results, write
from gpuyard_core.terminal.documents import as_json
from gpuyard_core.terminal.exit_codes import OK, USAGE
from gpuyard_core.terminal.findings import show_verdict
from gpuyard_core.terminal.options import Format

if TYPE_CHECKING:
    from gpuyard.stack_validation import ValidatedStack
    from gpuyard_advisor.cli.views.whatif import ReplayedStack
    from gpuyard_advisor.replay import Replay, SubmittedJob
    from gpuyard_advisor.replay.accounts import Outcome
    from gpuyard_advisor.replay.scaling import ScalingPolicy
    from gpuyard_advisor.traces import ReadOptions, TraceReading

_TEAMS_LIMIT = 1024 * 1024


class WhatifFormat(StrEnum):
    """Output format of an outcome."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


class _Assumptions(NamedTuple):
    """How the jobs are mapped and replayed."""

    team_of: dict[str, str]
    time_scale: float
    seed: int
    image_gb: float
    policies: bool
    preemption_ratio: float | None
    """None: no predictions."""


def whatif(  # noqa: PLR0913, PLR0917  an option is a parameter
    stack: StackArgument,
    trace: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Jobs with their times: CSV, Parquet, the Workloads of a cluster as JSON or YAML, or an export of "
            "Slurm's sacct; also with gzip.",
            show_default=False,
        ),
    ],
    against: Annotated[
        str | None,
        typer.Option(
            metavar="STACK",
            help="Compare with this stack.",
            autocompletion=complete_stacks,
            show_default=False,
        ),
    ] = None,
    team_of: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEAM=TEAM",
            help="Team of the trace and team of the stack, `*=TEAM` for all others, or a CSV file with both in "
            "each line. Repeatable.",
            show_default=False,
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=COLUMN",
            help="Column of a field, with its unit: run=minutes:min,gpus=n. FIELD= uses none. Repeatable.",
            show_default=False,
        ),
    ] = None,
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="Leave out rows that cannot be read.")
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, max=MAX_JOBS, metavar="N", help="Read the first N jobs.", show_default=False
        ),
    ] = None,
    time_scale: Annotated[
        float,
        typer.Option(
            min=0.001, max=1000.0, metavar="FACTOR", help="Submit the jobs this many times as fast."
        ),
    ] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of interruptions.")] = 0,
    image_gb: Annotated[
        float,
        typer.Option(
            min=0.0,
            metavar="GB",
            help="Size of the image that a new node pulls before its first job.",
        ),
    ] = 0.0,
    policies: Annotated[
        bool,
        typer.Option(
            "--policies", help="Replay with other scaling policies as well, and compare them."
        ),
    ] = False,
    predict: Annotated[
        bool,
        typer.Option(
            "--predict",
            help="Predict durations at submission, and replay with the shortest predicted jobs first.",
        ),
    ] = False,
    preemption_ratio: Annotated[
        float,
        typer.Option(
            min=0.0,
            metavar="RATIO",
            help="With --predict: advise to preempt jobs that have more left than the duration of a waiting job "
            "divided by this.",
        ),
    ] = 0.3,
    format: Annotated[  # noqa: A002  the option's name
        WhatifFormat, typer.Option("--format", help="Output format.")
    ] = WhatifFormat.TEXT,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write to this file, not to standard output.", show_default=False
        ),
    ] = None,
) -> int:
    """Replay a trace of jobs on a stack. Utilisation, waits, cost, preemptions, or a comparison."""
    from gpuyard_advisor.cli.views.whatif import show_invalid_trace
    from gpuyard_advisor.traces import InvalidTrace, ReadOptions
    from gpuyard_advisor.traces.tables import parse_columns

    names = [stack] if against is None else [against, stack]
    options = ReadOptions(
        columns=parse_columns(columns or ()), limit=limit, skip_invalid=skip_invalid
    )
    assumptions = _Assumptions(
        team_of=_read_teams(team_of or ()),
        time_scale=time_scale,
        seed=seed,
        image_gb=image_gb,
        policies=policies,
        preemption_ratio=preemption_ratio if predict else None,
    )
    every = [validate_stack(name) for name in names]
    for judged in every:
        if judged.plan is None:
            form = Format.JSON if format is WhatifFormat.JSON else Format.TEXT
            return reject("whatif", judged, form, trace=None, stacks=[], differences=None)
    shown = shown_path(Path(trace))
    try:
        reading = _read(trace, options)
    except InvalidTrace as error:
        show_invalid_trace(shown, error, diagnostics())
        return USAGE
    titles = _titles(names)
    replayed = [_replay(*each, reading, assumptions) for each in zip(titles, every, strict=True)]
    _show(format, output, shown, reading, replayed)
    return OK


def _titles(names: Sequence[str]) -> Sequence[str]:
    """Short names of stacks: of a path, the name of the file; as given if two are the same."""
    short = [Path(name).name.removesuffix(".yaml").removeprefix("Pulumi.") for name in names]
    return short if len(set(short)) == len(short) else names


def _read_teams(texts: Sequence[str]) -> dict[str, str]:
    """The values of --team-of: by the team of the trace, the team of the stack."""
    result: dict[str, str] = {}
    for text in texts:
        lines = [text]
        if "=" not in text:
            data = read_regular(Path(text), _TEAMS_LIMIT, "a CSV file with two teams in each line")
            lines = [
                each.replace(",", "=", 1) for each in data.decode(errors="replace").split("\n")
            ]
        for number, line in enumerate(filter(str.strip, lines), 1):
            given, mark, team = (part.strip() for part in line.rpartition("="))
            if not mark:
                where = f"{text}: line {number}" if "=" not in text else f"--team-of {text}"
                raise UsageError(f"{where}: write the team of the trace and the team of the stack")
            result[given] = team
    return result


def _read(name: str, options: "ReadOptions") -> "TraceReading":
    """Read a trace with a progress bar by the bytes of the file."""
    from gpuyard_advisor.traces import read_trace

    path = Path(name)
    # checked before it is opened, because opening a FIFO blocks
    if path.exists() and not path.is_file():
        raise UsageError(f"{shown_path(path)}: not a file. Give the path of a trace.")
    try:
        with path.open("rb") as file, progress_bar(f"reading {path.name}") as bar:
            if bar is not None:
                size = path.stat().st_size
                options = replace(options, progress=lambda _: bar(file.tell(), size))
            return read_trace(file, options)
    except OSError as error:
        reason = (error.strerror or "it can't be read").lower()
        raise UsageError(f"{shown_path(path)}: can't be read: {reason}") from None


def _replay(
    name: str, judged: "ValidatedStack", reading: "TraceReading", assumptions: _Assumptions
) -> "ReplayedStack":
    """Replay the jobs of a trace on one stack."""
    from gpuyard.spec.pools import Scaling
    from gpuyard_advisor.cli.views.whatif import ReplayedStack
    from gpuyard_advisor.replay import NoConvergence, replay
    from gpuyard_advisor.replay.mapping import map_jobs
    from gpuyard_advisor.replay.options import ReplayOptions
    from gpuyard_advisor.replay.predicted import order_by_prediction, predict_replay
    from gpuyard_advisor.replay.scaling import SCALING_POLICIES

    assert judged.plan is not None  # noqa: S101  a rejected stack ends the command before
    plan = judged.plan
    mapped = map_jobs(plan, reading.jobs, assumptions.team_of, assumptions.time_scale)
    options = ReplayOptions(
        nodes=True, interruptions=True, seed=assumptions.seed, image_gb=assumptions.image_gb
    )

    def run(
        jobs: "Sequence[SubmittedJob]", scaling: "ScalingPolicy | None" = None, how: str = ""
    ) -> "Replay":
        with progress_bar(f"replaying on {name}{how}") as bar:
            try:
                return replay(plan, jobs, options=replace(options, scaling=scaling, progress=bar))
            except NoConvergence as error:
                raise UsageError(f"the replay on {name}{how} does not end: {error}") from None

    result = run(mapped.jobs)
    compared: dict[str, Outcome] = {}
    cautions = result.cautions
    if assumptions.policies and all(pool.scaling is Scaling.FIXED for pool in plan.pools):
        cautions = (*cautions, "no pool scales: scaling policies are not compared")
    elif assumptions.policies:
        compared = {"of the stack": result.outcome} | {
            policy: run(mapped.jobs, make(), f" with policy {policy}").outcome
            for policy, make in SCALING_POLICIES.items()
        }
    predicted = ordered = None
    if assumptions.preemption_ratio is not None:
        predicted = predict_replay(reading.jobs, result.courses, assumptions.preemption_ratio)
        jobs = order_by_prediction(mapped.jobs, predicted.predictions)
        ordered = run(jobs, how=", shortest predicted first").outcome
    return ReplayedStack(
        name=name,
        judged=judged,
        plan=plan,
        mapped=mapped,
        outcome=result.outcome,
        cautions=cautions,
        policies=compared,
        predicted=predicted,
        shortest_first=ordered,
    )


def _show(
    form: WhatifFormat,
    output: str | None,
    file: str,
    reading: "TraceReading",
    stacks: "Sequence[ReplayedStack]",
) -> None:
    """Write the outcome in a format, to a file or to standard output."""
    from gpuyard_advisor.cli.views.whatif import show_whatif, whatif_document, whatif_page

    if form is WhatifFormat.TEXT and output is None:
        show_whatif(file, reading, stacks, results())
        return
    if form is WhatifFormat.JSON:
        text = as_json(whatif_document(file, reading, stacks))
    elif form is WhatifFormat.HTML:
        text = whatif_page(file, reading, stacks)
    else:
        buffer = StringIO()
        show_whatif(file, reading, stacks, Console(buffer))
        text = buffer.getvalue()
    if output is None:
        write(text)
        return
    write_file(Path(output), text)
    names = " and ".join(stack.name for stack in stacks)
    show_verdict("ok", f"{output}: {file} on {names}", results())
