"""Rows of a table with a header: CSV, Parquet, and the export of Slurm."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from gpuyard_advisor.traces.collect import FIELDS, UNITS, JobCollector, shorten
from gpuyard_advisor.traces.records import InvalidTrace, ReadOptions, TraceProblem, TraceReading
from gpuyard_core.catalogue.tables import load_yaml
from gpuyard_core.errors import EnvironmentMissing, UsageError
from gpuyard_core.findings import format_list

_LINE_LIMIT = 1024 * 1024
"""Characters of one line: more is not a table."""
_DELIMITERS = ",;\t|"
_REQUIRED = (
    ("the submission time", ("submitted",)),
    ("the run time or the end", ("run", "ended")),
    ("the number of GPUs", ("gpus", "total_gpus")),
)

Row = Sequence[object]
Rows = Iterable[tuple[int, Row]]
"""Line and cells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Columns of a table of a public trace or of a tool."""

    name: str
    marks: frozenset[str]
    columns: Mapping[str, tuple[str, ...]]
    """By field, the alternative columns."""
    may_lack: frozenset[str]
    unused: frozenset[str]


@cache
def dialects() -> tuple[Dialect, ...]:
    """The known dialects; the last has common names of columns and applies to any table."""
    return tuple(map(_dialect, load_yaml(Path(__file__).with_name("dialects.yaml"))))


def _dialect(value: Mapping[str, Any]) -> Dialect:
    columns = {
        field: tuple(names) if isinstance(names, list) else (names,)
        for field, names in value["columns"].items()
    }
    return Dialect(
        name=value["name"],
        marks=frozenset(value["marks"]),
        columns=columns,
        may_lack=frozenset(value.get("may_lack", ())),
        unused=frozenset(value.get("unused", ())),
    )


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the fields of a table are."""

    dialect: Dialect
    columns: Mapping[str, tuple[str, float]]
    """By field, the column's name and factor."""
    cells: Callable[[Row], dict[str, object]]
    unused: tuple[str, ...]


def read_table(
    header: Sequence[str], rows: Rows, options: ReadOptions, format_: str
) -> TraceReading:
    """Read the jobs of a table."""
    layout = _layout(header, options)
    jobs = JobCollector(options, layout.columns, layout.dialect.may_lack & layout.columns.keys())
    if layout.unused:
        jobs.notes[f"columns that are not used: {format_list(layout.unused)}"] = 0
    width = len(header)
    for line, row in rows:
        if jobs.stops():
            break
        if len(row) != width:
            jobs.refuse(
                TraceProblem(
                    line,
                    "",
                    f"the row has {len(row)} cells and the header {width}",
                    fix="quote cells that contain the delimiter, or use --skip-invalid",
                )
            )
        else:
            jobs.add(line, layout.cells(row))
    return jobs.finish(f"{format_} of {layout.dialect.name}" if layout.dialect.name else format_)


def _layout(header: Sequence[str], options: ReadOptions) -> _Layout:
    """Recognise the columns; InvalidTrace if one is missing that every job needs."""
    names = [name.strip() for name in header]
    if twice := [name for number, name in enumerate(names) if name in names[:number]]:
        raise InvalidTrace(
            TraceProblem(
                1, twice[0], "two columns have this name", fix="rename or remove one of them"
            )
        )
    known = frozenset(names)
    common = dialects()[-1]
    dialect = next(d for d in dialects() if d.marks <= known)
    found: dict[str, str] = {}
    for field in FIELDS:
        if field in options.columns:
            if given := options.columns[field]:
                found[field] = given
            continue
        alternatives = dialect.columns.get(
            field, () if dialect.name else common.columns.get(field, ())
        )
        for column in alternatives:
            if set(_split(column)[0]) <= known:
                found[field] = column
                break
    _check(found, names, options)
    if "run" in found and "run" not in options.columns and "ended" in options.columns:
        del found["run"]
    if "gpus" in found and "total_gpus" in found:
        del found["gpus" if "total_gpus" in options.columns else "total_gpus"]
    parts = {field: _split(column) for field, column in found.items()}
    used = {name for columns, _ in parts.values() for name in columns} | dialect.unused
    return _Layout(
        dialect,
        {field: ("+".join(columns), UNITS[unit]) for field, (columns, unit) in parts.items()},
        _cells({field: [names.index(c) for c in columns] for field, (columns, _) in parts.items()}),
        tuple(name for name in names if name and name not in used),
    )


def _cells(places: Mapping[str, Sequence[int]]) -> Callable[[Row], dict[str, object]]:
    """A function from a row to the cells of its fields."""
    single = {field: where[0] for field, where in places.items() if len(where) == 1}
    joined = {field: where for field, where in places.items() if len(where) > 1}
    fields = tuple(single)
    pick = itemgetter(*single.values(), -1)  # two or more, so that it returns a tuple

    def cells(row: Row) -> dict[str, object]:
        result: dict[str, object] = dict(zip(fields, pick(row), strict=False))
        for field, where in joined.items():
            result[field] = "/".join(str(row[n]) for n in where)
        return result

    return cells


def _split(column: str) -> tuple[list[str], str]:
    """The columns of `A`, `A:UNIT` or `A+B`, and the unit."""
    name, mark, unit = column.rpartition(":")
    if not mark or unit not in UNITS:
        name, unit = column, ""
    return name.split("+"), unit


def _check(found: Mapping[str, str], names: Sequence[str], options: ReadOptions) -> None:
    """Refuse columns that the table lacks, and a table without a column that every job needs."""
    problems = [
        _no_column(field, name, names)
        for field, column in options.columns.items()
        for name in (_split(column)[0] if column else ())
        if name not in names
    ]
    for meaning, fields in _REQUIRED:
        if not any(field in found for field in fields):
            common = dialects()[-1].columns
            accepted = [_split(c)[0][0] for field in fields for c in common[field]]
            nearest = [m for a in accepted for m in get_close_matches(a, names, 1)]
            problems.append(
                TraceProblem(
                    1,
                    "",
                    f"no column has {meaning}",
                    format_list(names),
                    format_list(accepted),
                    f"name it with --columns {fields[0]}={nearest[0] if nearest else 'COLUMN'}",
                )
            )
    if problems:
        raise InvalidTrace(*problems)


def _no_column(field: str, name: str, names: Sequence[str]) -> TraceProblem:
    nearest = get_close_matches(name, names, 1)
    fix = f"write --columns {field}={nearest[0]}" if nearest else ""
    return TraceProblem(1, name, "the trace has no such column", name, format_list(names), fix)


def parse_columns(texts: Iterable[str]) -> dict[str, str]:
    """The values of --columns: `run=minutes:min,gpus=n`; `image=` uses no column."""
    result: dict[str, str] = {}
    for each in (part for text in texts for part in text.split(",")):
        field, equals, column = (part.strip() for part in each.partition("="))
        if not equals or field not in FIELDS:
            nearest = get_close_matches(field, FIELDS, 1)
            hint = f" Did you mean {nearest[0]}?" if nearest else ""
            raise UsageError(
                f"--columns {each.strip()}: write FIELD=COLUMN or FIELD=COLUMN:UNIT. Fields are "
                f"{', '.join(FIELDS)}; units are {', '.join(u for u in UNITS if u)}.{hint}"
            )
        result[field] = column
    return result


def read_csv(text: TextIO, options: ReadOptions) -> TraceReading:
    """Read CSV: the delimiter is the one that the header has most often."""
    lines = text_lines(text)
    head = next((line for line in lines if line.strip()), "")
    if not head:
        raise InvalidTrace(TraceProblem(0, "", "the file is empty"))
    delimiter = max(_DELIMITERS, key=head.count)
    header = next(csv.reader([head], delimiter=delimiter))
    return read_table(header, csv_rows(lines, delimiter), options, "CSV")


def csv_rows(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Line and cells of each row after the header; lines without a cell are skipped."""
    reader = csv.reader(lines, delimiter=delimiter)
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise InvalidTrace(
                TraceProblem(reader.line_num + 1, "", f"not CSV: {error}", fix="correct its quotes")
            ) from None
        if row is None:
            return
        if row:
            yield reader.line_num + 1, row


def text_lines(text: TextIO) -> Iterator[str]:
    """The lines of a text; InvalidTrace with the line that is not UTF-8 or too long."""
    number = 0
    while line := text.readline(_LINE_LIMIT):
        number += 1
        check_utf8(line, number)
        if len(line) == _LINE_LIMIT:
            problem = f"the line has more than {_LINE_LIMIT:,} characters: is it a table?"
            raise InvalidTrace(TraceProblem(number, "", problem, shorten(line)))
        yield line


def check_utf8(text: str, line: int) -> None:
    """Refuse bytes that are not UTF-8, in a text that starts at a line and has them as surrogates."""
    if text.isascii():
        return
    place = next((n for n, c in enumerate(text) if "\ud800" <= c <= "\udfff"), None)
    if place is not None:
        raise InvalidTrace(
            TraceProblem(
                line + text.count("\n", 0, place),
                "",
                f"byte 0x{ord(text[place]) - 0xDC00:02x} is not UTF-8",
                fix="convert the file, for example with `iconv -f ISO-8859-1 -t UTF-8`",
            )
        )


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
