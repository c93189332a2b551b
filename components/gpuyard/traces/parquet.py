"""Parquet, with the extra `parquet` (pyarrow)."""

from collections.abc import Iterator
from typing import Any, BinaryIO

from gpuyard.traces.records import InvalidTrace, ReadOptions, TraceProblem, TraceReading
from gpuyard.traces.tables import read_table
from gpuyard_core.errors import EnvironmentMissing

MAGIC = b"PAR1"
"""The first bytes of a file."""
_BATCH = 16_384


def read_parquet(file: BinaryIO, options: ReadOptions) -> TraceReading:
    """Read the rows of a file in batches; the line of a problem is its row."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise EnvironmentMissing(
            "Parquet needs pyarrow, which is not installed. Install the extra: pip install "
            "'gpuyard[parquet]'. Or convert the trace to CSV."
        ) from None
    try:
        table = ParquetFile(file)
        return read_table(table.schema_arrow.names, _rows(table), options, "Parquet")
    except (ArrowException, OSError) as error:
        text = str(error).partition("\n")[0]
        raise InvalidTrace(TraceProblem(0, "", f"not Parquet: {text}")) from None


def _rows(table: Any) -> Iterator[tuple[int, tuple[object, ...]]]:
    row = 0
    for batch in table.iter_batches(_BATCH):
        for cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            row += 1
            yield row, cells
