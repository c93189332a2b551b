"""Tables of facts: CSV files of flat rows, YAML files of nested entries, read as dataclasses.

The fields of the dataclass are the schema. An unknown or missing column and a value of another type are errors, with
file, line and column. In CSV, an empty cell is the default of the field, lists are separated by spaces, pairs
are `key=value`, and `yes` and `no` are booleans.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date
from enum import Enum
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin

FOLDER = Path(__file__).parent
_BOOLEANS: Mapping[object, bool] = {"yes": True, "no": False}
_Row = TypeVar("_Row")
_Convert = Callable[[Any], Any]


class TableError(ValueError):
    """A table does not match its schema."""


def read_rows(table: str, row: Callable[..., _Row]) -> Iterator[_Row]:
    """The rows of TABLE.csv."""
    return (each for _, each in _read(table, row, keys=0))


def read_keyed(table: str, row: Callable[..., _Row]) -> Iterator[tuple[str, _Row]]:
    """The rows of TABLE.csv with their first column, which is the key and no field of the row."""
    return _read(table, row, keys=1)


def _read(table: str, row: Callable[..., _Row], keys: int) -> Iterator[tuple[str, _Row]]:
    with (FOLDER / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        names = next(reader)[keys:]
        schema = _schema_of(row)
        _check_names(f"{table}.csv line 1", names, schema)
        columns = [(name, _Cells(name, *schema[name])) for name in names]
        for cells in reader:
            try:
                values = {
                    name: known[cell]
                    for (name, known), cell in zip(columns, cells[keys:], strict=True)
                }
            except ValueError as error:
                raise TableError(f"{table}.csv line {reader.line_num}, {error}") from error
            yield cells[0], row(**values)


class _Cells(dict[str, Any]):
    """The values of the cells of one column: equal cells are converted once."""

    def __init__(self, name: str, convert: _Convert, blank: Callable[[], Any] | None) -> None:
        self._name, self._convert = name, convert
        if blank:
            self[""] = blank()

    def __missing__(self, cell: str) -> Any:
        try:
            value = self[cell] = self._convert(cell)
        except (ValueError, LookupError) as error:
            raise TableError(f"column {self._name}: {cell!r}: {error}") from error
        return value


def load_yaml(file: Path) -> Any:
    """The content of a YAML file of a package. The C parser, where there is one, is eight times faster."""
    import yaml  # most commands need no YAML table

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(file.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506  a safe one


def read_yaml(table: str, kind: Any) -> Any:
    """The content of TABLE.yaml as a dataclass, or a mapping or tuple of them."""
    content = load_yaml(FOLDER / f"{table}.yaml")
    try:
        return _converter(kind)(content)
    except (TypeError, ValueError, LookupError) as error:
        raise TableError(f"{table}.yaml: {error}") from error


def _check_names(place: str, names: list[str], schema: Mapping[str, tuple[_Convert, Any]]) -> None:
    if unknown := [name for name in names if name not in schema]:
        raise TableError(f"{place}: unknown column {', '.join(unknown)}")
    needed = (name for name, (_, blank) in schema.items() if blank is None)
    if missing := [name for name in needed if name not in names]:
        raise TableError(f"{place}: no column {', '.join(missing)}")


@cache
def _schema_of(row: Any) -> Mapping[str, tuple[_Convert, Callable[[], Any] | None]]:
    """The conversion of each field, and its default; None if it must be given."""
    return {each.name: (_converter(each.type), _default(each)) for each in fields(row) if each.init}


def _default(each: Any) -> Callable[[], Any] | None:
    if each.default is not MISSING:
        return lambda: each.default
    if each.default_factory is not MISSING:
        factory: Callable[[], Any] = each.default_factory
        return factory
    return (lambda: None) if NoneType in get_args(each.type) else None


def _converter(kind: Any) -> _Convert:  # noqa: PLR0911  one line a type
    if hasattr(kind, "from_cell"):
        convert: _Convert = kind.from_cell
        return convert
    origin, inner = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return _optional(_converter(inner[0])) if inner[1:] == (NoneType,) else _one_of(inner)
    if origin is tuple and inner[1:] != (...,):
        each = [_converter(one) for one in inner]
        return lambda value: tuple(c(v) for c, v in zip(each, _items(value), strict=True))
    if origin in {tuple, frozenset}:
        item = _converter(inner[0])
        return lambda value: origin(map(item, _items(value)))
    if origin is Mapping:
        key, item = map(_converter, inner)
        return lambda value: {key(k): _within(k, item, v) for k, v in _pairs(value)}
    if origin is re.Pattern:
        return re.compile
    return _record(kind) if is_dataclass(kind) else _scalar(kind)


def _record(kind: Any) -> _Convert:
    schema = _schema_of(kind)

    def convert(given: Mapping[str, Any]) -> Any:
        _check_names("fields", list(given), schema)
        values = {name: _within(name, schema[name][0], value) for name, value in given.items()}
        return kind(**values)

    return convert


def _within(name: str, convert: _Convert, value: object) -> Any:
    """The converted value; an error has the path to it."""
    try:
        return convert(value)
    except (TypeError, ValueError, LookupError) as error:
        raise TableError(f"{name}: {error}") from error


def _scalar(kind: Any) -> _Convert:
    if kind is bool:
        return lambda value: value if isinstance(value, bool) else _BOOLEANS[value]
    if kind is date:
        return lambda value: value if isinstance(value, date) else date.fromisoformat(value)
    if kind in {int, float, Fraction} or issubclass(kind, Enum):
        return lambda value: kind(str(value))
    return _one_of((object if kind is Any else kind,))


def _optional(convert: _Convert) -> _Convert:
    return lambda value: None if value in {None, ""} else convert(value)


def _one_of(kinds: tuple[Any, ...]) -> _Convert:
    def convert(value: object) -> object:
        if object in kinds or isinstance(value, kinds):
            return value
        raise ValueError(f"is not {' or '.join(kind.__name__ for kind in kinds)}")

    return convert


def _items(value: Any) -> Any:
    return value.split() if isinstance(value, str) else value


def _pairs(value: Any) -> Any:
    return (each.split("=") for each in value.split()) if isinstance(value, str) else value.items()
