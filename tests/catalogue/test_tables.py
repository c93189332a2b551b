"""Every table matches its schema; an error has the file, the line and the column."""

import re
from dataclasses import dataclass
from datetime import date

import pytest
import yaml

import sizes
from gpuyard_core.catalogue.sources import find_source, source_ids
from gpuyard_core.catalogue.tables import FOLDER, TableError, read_rows, read_yaml
from kit.every import every


@dataclass(frozen=True)
class Row:
    name: str
    count: int
    sold: frozenset[str] = frozenset()
    limit: float | None = None
    exact: bool = False
    since: date | None = None


@dataclass(frozen=True)
class Entry:
    rows: tuple[Row, ...]
    pair: tuple[int, str] = (0, "")


def rows(tmp_path, *lines):
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return list(read_rows(str(tmp_path / "t"), Row))


def entry(tmp_path, content):
    (tmp_path / "t.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return read_yaml(str(tmp_path / "t"), Entry)


def test_the_types_of_the_fields_convert_the_cells(tmp_path):
    header = "name,count,sold,limit,exact,since"
    assert rows(tmp_path, header, "a,1,x y,2.5,yes,2026-11-29", "b,2,,,,") == [
        Row("a", 1, frozenset({"x", "y"}), 2.5, exact=True, since=date(2026, 11, 29)),
        Row("b", 2),
    ]


@every(
    ("lines", "message"),
    [
        (("name,count,size", "a,1,2"), "t.csv line 1: unknown column size"),
        (("name", "a"), "t.csv line 1: no column count"),
        (("name,count", "a,1", "b,many"), "t.csv line 3, column count: 'many': invalid literal"),
        (("name,count,exact", "a,1,maybe"), "t.csv line 2, column exact: 'maybe'"),
        (("name,count,since", "a,1,today"), "t.csv line 2, column since: 'today'"),
        (("name,count", "a"), "t.csv line 2, zip"),
    ],
)
def test_an_error_names_file_line_and_column(tmp_path, lines, message):
    with pytest.raises(TableError, match=message):
        rows(tmp_path, *lines)


def test_entries_are_nested(tmp_path):
    content = {"rows": [{"name": "a", "count": 1, "limit": 2}], "pair": [3, "c"]}
    assert entry(tmp_path, content) == Entry((Row("a", 1, limit=2.0),), (3, "c"))


@every(
    ("content", "message"),
    [
        ({"rows": [{"name": 1, "count": 1}]}, "t.yaml: rows: name: is not str"),
        ({"rows": [{"name": "a", "count": 1.5}]}, "t.yaml: rows: count: invalid literal"),
        ({"rows": [{"name": "a", "count": 1, "x": 1}]}, "t.yaml: rows: fields: unknown column x"),
        ({}, "t.yaml: fields: no column rows"),
    ],
)
def test_an_error_of_an_entry_names_its_path(tmp_path, content, message):
    with pytest.raises(TableError, match=message):
        entry(tmp_path, content)


def test_every_source_has_a_title_and_is_not_newer_than_its_reading():
    for each in map(find_source, source_ids()):
        assert each.title
        assert each.as_of <= each.checked_on


def test_every_source_is_used_and_exists():
    code = (sizes.ROOT / "components").rglob("*.py")
    tables = (path for path in FOLDER.glob("*.*") if path.name != "sources.csv")
    words = {
        word
        for path in (*code, *tables)
        for word in re.findall(r"[\w-]+(?:\.[\w-]+)*", path.read_text(encoding="utf-8"))
    }
    assert not set(source_ids()) - words
