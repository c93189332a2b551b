"""Bad traces: every problem with its line, column, allowed values and what to do."""

import gzip
import io

import pytest

from gpuyard_advisor.traces import InvalidTrace, ReadOptions, TraceProblem, read_trace, records
from kit.every import every

HEAD = "name,submitted_seconds,run_seconds,gpus"
SKIP = "correct the value, or leave out such rows with --skip-invalid"
TIME = "seconds from 0, or a date and time as in ISO 8601"


def problems(text, **options):
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(InvalidTrace) as refused:
        read_trace(io.BytesIO(data), ReadOptions(**options))
    return refused.value.problems


ROWS = {
    "a hole": ("a,0,,1", TraceProblem(2, "run_seconds", "no value", "", "seconds from 0", SKIP)),
    "no time": ("a,,60,1", TraceProblem(2, "submitted_seconds", "no value", "", TIME, SKIP)),
    "no GPUs": (
        "a,0,60,NaN",
        TraceProblem(2, "gpus", "no value", "", "GPUs from 0, or a fraction of one", SKIP),
    ),
    "a negative time": (
        "a,-5,60,1",
        TraceProblem(2, "submitted_seconds", "a negative time", "-5", TIME, SKIP),
    ),
    "an infinite time": (
        "a,inf,60,1",
        TraceProblem(2, "submitted_seconds", "not a time", "inf", TIME, SKIP),
    ),
    "a negative run time": (
        "a,0,-60,1",
        TraceProblem(2, "run_seconds", "negative", "-60", "seconds from 0", SKIP),
    ),
    "words": (
        "a,0,an hour,1",
        TraceProblem(2, "run_seconds", "not a number", "an hour", "seconds from 0", SKIP),
    ),
    "no date": (
        "a,2026-13-45,60,1",
        TraceProblem(2, "submitted_seconds", "not a time", "2026-13-45", TIME, SKIP),
    ),
    "too many GPUs": (
        "a,0,60,1e9",
        TraceProblem(2, "gpus", "not allowed", "1e9", "GPUs from 0, or a fraction of one", SKIP),
    ),
    "too few cells": (
        "a,0",
        TraceProblem(
            2,
            "",
            "the row has 2 cells and the header 4",
            fix="quote cells that contain the delimiter, or use --skip-invalid",
        ),
    ),
}


@every("row, problem", ROWS.values(), ROWS)
def test_a_bad_row_is_named_by_line_and_column(row, problem):
    assert problems(f"{HEAD}\n{row}\n") == (problem,)


def test_an_end_before_the_start_and_duplicate_names_are_refused():
    text = "name,submitted,started,ended,gpus,pods,utilisation\na,5,9,7,1,1,\na,0,0,7,1,1.5,\nb,0,0,7,1,1,95\n"
    text += "c,0,0,7,1,1,\nc,0,,7,1,1,\nd,8,,7,1,1,\n"
    assert problems(text) == (
        TraceProblem(2, "ended", "the end is before column started", "7", "a time from 9", SKIP),
        TraceProblem(3, "pods", "not a whole number", "1.5", "a whole number from 1", SKIP),
        TraceProblem(
            4,
            "utilisation",
            "not allowed",
            "95",
            "a share from 0 to 1; with the unit percent, from 0 to 100",
            SKIP,
        ),
        TraceProblem(
            6,
            "name",
            "line 5 has the same job name",
            "c",
            "unique names",
            "rename one, or leave it out with --skip-invalid",
        ),
        TraceProblem(7, "ended", "the end is before column submitted", "7", "a time from 8", SKIP),
    )


def test_an_empty_number_of_all_gpus_is_a_hole():
    (problem,) = problems("submitted,run_seconds,total_gpus,pods\n0,1,,2\n")
    assert problem == TraceProblem(2, "total_gpus", "no value", "", "GPUs from 0", SKIP)


def test_problems_end_at_the_maximum_and_are_counted_when_skipped():
    text = f"{HEAD}\n" + "".join(f"j{n},{n},{'x' if n % 2 else 1},1\n" for n in range(100))
    assert len(problems(text)) == 20
    result = read_trace(io.BytesIO(text.encode()), ReadOptions(skip_invalid=True, max_problems=3))
    assert (len(result.jobs), result.skipped, len(result.problems)) == (50, 50, 3)
    assert result.problems[0].place == "line 3, column run_seconds"


def test_a_trace_without_a_valid_row_is_refused_although_they_are_skipped():
    first, second = problems(f"{HEAD}\na,x,1,1\n", skip_invalid=True)
    assert (first.problem, second.line) == ("no row of 1 is a job", 2)


HEADS = {
    "unknown columns": (
        "alpha,submit,secs\n",
        [
            TraceProblem(
                1,
                "",
                "no column has the submission time",
                "alpha, submit, secs",
                "submitted_seconds, submitted, submitted_at, submit_time, submission_time, creation_time",
                "name it with --columns submitted=submit",
            ),
            TraceProblem(
                1,
                "",
                "no column has the run time or the end",
                "alpha, submit, secs",
                "run_seconds, duration, duration_seconds, run_time, runtime, ended_seconds, ended, ended_at, end_time",
                "name it with --columns run=COLUMN",
            ),
            TraceProblem(
                1,
                "",
                "no column has the number of GPUs",
                "alpha, submit, secs",
                "gpus, gpu, gpus_per_pod, total_gpus, num_gpus, gpu_num",
                "name it with --columns gpus=COLUMN",
            ),
        ],
        {},
    ),
    "a column that does not exist": (
        f"{HEAD}\n",
        [
            TraceProblem(
                1,
                "run_second",
                "the trace has no such column",
                "run_second",
                "name, submitted_seconds, run_seconds, gpus",
                "write --columns run=run_seconds",
            )
        ],
        {"run": "run_second"},
    ),
    "two equal columns": (
        "gpus,gpus\n",
        [TraceProblem(1, "gpus", "two columns have this name", fix="rename or remove one of them")],
        {},
    ),
    "no rows": (f"{HEAD}\n", [TraceProblem(0, "", "it has no rows")], {}),
    "an empty file": ("", [TraceProblem(0, "", "the file is empty")], {}),
    "blank lines": ("\n \n", [TraceProblem(0, "", "the file is empty")], {}),
}


@every("text, expected, columns", HEADS.values(), HEADS)
def test_a_table_without_the_necessary_columns_is_refused(text, expected, columns):
    assert list(problems(text, columns=columns)) == expected


FILES = {
    "ISO 8859-1": (
        f"{HEAD},user\na,0,1,1,u\nb,1,1,1,J\xfcrgen\n".encode("latin-1"),
        TraceProblem(
            3,
            "",
            "byte 0xfc is not UTF-8",
            fix="convert the file, for example with `iconv -f ISO-8859-1 -t UTF-8`",
        ),
    ),
    "UTF-16": (
        HEAD.encode("utf-16"),
        TraceProblem(0, "", "the file is UTF-16, not UTF-8 text", fix="convert it to UTF-8"),
    ),
    "a ZIP archive": (
        b"PK\x03\x04....",
        TraceProblem(0, "", "the file is a ZIP archive, not UTF-8 text", fix="decompress it"),
    ),
    "a line without an end": (
        HEAD.encode() + b"\n" + b"a" * (2 * 1024 * 1024),
        TraceProblem(
            2, "", "the line has more than 1,048,576 characters: is it a table?", f"{'a' * 40}…"
        ),
    ),
    "a cell without an end": (
        f'{HEAD}\n"a,0,1,1\n{"b,0,1,1" * 30_000}\n'.encode(),
        TraceProblem(
            3, "", "not CSV: field larger than field limit (131072)", fix="correct its quotes"
        ),
    ),
    "truncated gzip": (
        gzip.compress(f"{HEAD}\na,0,1,1\n".encode())[:-12],
        TraceProblem(
            0,
            "",
            "the gzip file is truncated or damaged: Compressed file ended before the end-of-stream marker was reached",
            fix="copy it again; `gzip --test FILE` shows whether it is whole",
        ),
    ),
}


@every("data, problem", FILES.values(), FILES)
def test_a_file_that_is_no_table_is_refused(data, problem):
    assert problems(data) == (problem,)


def test_more_jobs_than_are_read_end_with_the_line_and_what_to_do(monkeypatch):
    monkeypatch.setattr("gpuyard_advisor.traces.collect.MAX_JOBS", 3)
    text = f"{HEAD}\n" + "".join(f"j{n},{n},1,1\n" for n in range(4))
    assert problems(text) == (
        TraceProblem(
            5,
            "",
            "the trace has more than 3 jobs",
            fix="read its first jobs with --limit 3, or select some by time",
        ),
    )
    assert records.MAX_JOBS == 2_000_000


def test_the_message_has_every_place():
    with pytest.raises(InvalidTrace) as refused:
        read_trace(io.BytesIO(f"{HEAD}\na,x,1,1\nb,1,y,1\n".encode()))
    assert str(refused.value) == (
        "line 2, column submitted_seconds: not a time; line 3, column run_seconds: not a number"
    )
