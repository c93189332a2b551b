"""Exports of Slurm's accounting."""

import io

import pytest

from gpuyard_advisor.traces import InvalidTrace, ReadOptions, TraceJob, TraceProblem, read_trace
from gpuyard_advisor.traces.kueue import COMMAND

HEAD = "JobID|User|Account|State|Submit|Start|End|Elapsed|NNodes|ReqTRES|AllocTRES"


def read(*rows, head=HEAD, **options):
    text = "\n".join([head, *rows, ""])
    return read_trace(io.BytesIO(text.encode()), ReadOptions(**options))


def row(
    name,
    resources,
    requested="",
    *,
    start="2026-11-01T10:01:00",
    end="2026-11-01T10:11:00",
    nodes=1,
):
    times = f"2026-11-01T10:00:00|{start}|{end}"
    return f"{name}|ada|ml|COMPLETED|{times}|00:10:00|{nodes}|{requested}|{resources}"


def test_jobs_are_read_and_steps_are_not():
    result = read(
        row("7", "billing=16,cpu=16,gres/gpu:a100=8,gres/gpu=8,mem=64G,node=2", nodes=2),
        row("7.batch", "cpu=8,gres/gpu=4,mem=32G,node=1"),
        row("7.0", "cpu=16,gres/gpu=8,mem=64G,node=2"),
        row("8_1", "cpu=2,gres/gpu:h100=1,mem=512M,node=1"),
        row("9", "", "cpu=2,gres/gpu=1,mem=1T,node=1"),
        row("10", "cpu=2,mem=2048K,node=1"),
    )
    common = {"submitted_seconds": 0, "run_seconds": 600, "user": "ada", "team": "ml"}
    assert (result.format, result.notes) == ("sacct of Slurm", ())
    assert list(result.jobs) == [
        TraceJob(
            name="7",
            gpus=4,
            pods=2,
            cpu_milli=8000,
            memory_mib=32768,
            gpu_model="a100",
            line=2,
            **common,
        ),
        TraceJob(
            name="8_1", gpus=1, cpu_milli=2000, memory_mib=512, gpu_model="h100", line=5, **common
        ),
        TraceJob(name="9", gpus=1, cpu_milli=2000, memory_mib=1024**2, line=6, **common),
        TraceJob(name="10", gpus=0, cpu_milli=2000, memory_mib=2, line=7, **common),
    ]


def test_jobs_that_have_not_run_to_their_end_are_counted():
    result = read(
        row("1", "cpu=1,gres/gpu=1"),
        row("2", "cpu=1,gres/gpu=1", end="Unknown"),
        row("3", "", "cpu=1,gres/gpu=1", start="None", end="2026-11-01T10:30:00"),
    )
    assert len(result.jobs) == 1
    assert sorted(result.notes) == [
        "rows without End, left out: 1",
        "rows without Start, left out: 1",
    ]


def test_bad_resources_and_rows_are_named():
    with pytest.raises(InvalidTrace) as refused:
        read(
            row("1", "cpu=1,gres/gpu=x"), row("2", "cpu=1,gres/gpu:a=y"), row("3", "mem=5Q"), "4|b"
        )
    assert [(p.line, p.column, p.given) for p in refused.value.problems] == [
        (2, "gres/gpu in TRES", "x"),
        (3, "gres/gpu in TRES", "cpu=1,gres/gpu:a=y"),
        (4, "mem in TRES", "5Q"),
        (5, "", ""),
    ]


def test_an_export_without_the_columns_is_refused_with_the_command():
    with pytest.raises(InvalidTrace) as refused:
        read("1|COMPLETED", head="JobID|State")
    fix = f"export with `{COMMAND}`"
    assert refused.value.problems == tuple(
        TraceProblem(1, name, "the export lacks this column", fix=fix)
        for name in ("Submit", "End", "AllocTRES")
    )
