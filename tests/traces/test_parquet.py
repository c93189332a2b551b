"""Parquet, with the extra `parquet`."""

import io
import sys
from datetime import UTC, date, datetime

import pytest

from gpuyard_advisor.traces import InvalidTrace, TraceJob, TraceProblem, read_trace
from gpuyard_core.errors import EnvironmentMissing


def parquet(**columns):
    import pyarrow as pa
    from pyarrow.parquet import write_table

    file = io.BytesIO()
    write_table(pa.table(columns), file)
    file.seek(0)
    return file


def test_a_table_with_types_is_read():
    file = parquet(
        name=["a", "b"],
        submitted=[datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 1, 0, 1, tzinfo=UTC)],
        run_seconds=[60, 90],
        gpus=[1.0, 0.5],
        team=["ml", None],
    )
    result = read_trace(file)
    assert result.format == "Parquet"
    assert result.jobs == (
        TraceJob(name="a", submitted_seconds=0, run_seconds=60, gpus=1, team="ml", line=1),
        TraceJob(name="b", submitted_seconds=60, run_seconds=90, gpus=0.5, line=2),
    )
    days = parquet(
        submitted=[date(2026, 11, 1), date(2026, 11, 2)], run_seconds=[1, 1], gpus=[1, 1]
    )
    assert [j.submitted_seconds for j in read_trace(days).jobs] == [0, 86400]


def test_bad_rows_and_files_are_named():
    with pytest.raises(InvalidTrace) as refused:
        read_trace(parquet(submitted=[1, None], run_seconds=["x", "1"], gpus=[1, 1]))
    assert [(p.line, p.column) for p in refused.value.problems] == [
        (1, "run_seconds"),
        (2, "submitted"),
    ]
    with pytest.raises(InvalidTrace) as refused:
        read_trace(io.BytesIO(b"PAR1 and no more"))
    assert refused.value.problems == (
        TraceProblem(
            0,
            "",
            (
                "not Parquet: Parquet magic bytes not found in footer. Either the file is corrupted or "
                "this is not a parquet file."
            ),
        ),
    )


def test_without_pyarrow_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(EnvironmentMissing) as missing:
        read_trace(io.BytesIO(b"PAR1"))
    assert str(missing.value) == (
        "Parquet needs pyarrow, which is not installed. Install the extra: pip install 'gpuyard[parquet]'. Or "
        "convert the trace to CSV."
    )
