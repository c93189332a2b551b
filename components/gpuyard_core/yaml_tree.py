"""YAML as the Pulumi engine reads it, with a line for every value, and safe on any input.

PyYAML's loaders follow YAML 1.1 (`on` is true, `1:30` is ninety), take the last of two equal keys, and
expand anchors without limit. The engine reads YAML 1.2. This reader processes libyaml's events itself: no
recursion, no constructors, limits on depth and expanded size.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from gpuyard_core.errors import UsageError
from gpuyard_core.findings import Path, show_path
from gpuyard_core.yaml.parse_budget import BUDGET_EXCEEDED, ParseBudgetExceeded, parse_budget
from gpuyard_core.yaml.positions import Marks, Positions

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 60
MAX_VALUES = 300_000
"""Maximum values after anchors are expanded; without anchors a file of 1 MiB has fewer than half of it."""
MORE_VALUES = 10
"""Maximum multiple of MAX_VALUES for any text: 1 GB of memory."""
MAX_DOCUMENTS = 100_000

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
_OF_NUMBERS = frozenset("+-.0123456789")
"""First characters of numbers."""
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "Null": None, "NULL": None} | {
    word: value
    for value, words in ((True, "true True TRUE"), (False, "false False FALSE"))
    for word in words.split()
}


_BLOCKS = frozenset("|>")
_SHORT = 64
"""Texts up to this length are interned, because they repeat."""


@dataclass(slots=True)
class Document:
    """The value of a YAML text and the position of each part (the first line is 1)."""

    value: Any
    lines: Mapping[Path, int]
    columns: Mapping[Path, int] = field(default_factory=dict[Path, int])
    """Column of each part; only of documents that were read by `parse_documents`."""
    blocks: AbstractSet[Path] = frozenset()
    """Paths of block scalars, whose lines are lines of the file; only of the same documents."""
    duplicates: Sequence[tuple[Path, int]] = ()
    """Duplicate keys of a mapping. `parse_yaml` keeps the first; `parse_documents` the last, as kubectl and
    helm do."""

    def line_of(self, path: Path) -> int | None:
        """The line of a path, or of the nearest parent with a position."""
        nearest = self.nearest_located_path(path)
        return None if nearest is None else self.lines[nearest]

    def nearest_located_path(self, path: Path) -> Path | None:
        """The path, or its nearest parent with a known position."""
        ends = range(len(path), -1, -1)
        return next((path[:end] for end in ends if path[:end] in self.lines), None)


def parse_yaml(data: bytes, name: str) -> Document:
    """Read one YAML document; otherwise UsageError with the reason."""
    return _parse(data, name, _Builder(name))[-1]


def parse_documents(data: bytes, name: str, times: int = 1) -> list[Document]:
    """Read every non-empty YAML document of a text, within `times` the limits of one document."""
    within = parse_budget()
    if within is not None and (before := within.cached(data, times)) is not None:
        return [*before]
    builder = _Builder(name, many=True, times=times)
    results = [d for d in _parse(data, name, builder) if d.value is not None]
    if within is not None:
        within.cache(data, times, builder.count, results)
    return results


def _parse(data: bytes, name: str, builder: "_Builder") -> list[Document]:
    if len(data) > MAX_BYTES * builder.times:
        what = "at most" if builder.many else "a stack file has at most"
        raise UsageError(
            f"{name}: {len(data):,} bytes; {what} {MAX_BYTES * builder.times:,}. Is it the right file?"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise UsageError(
            f"{name}: not text (byte {e.start} is not UTF-8). Is it the right file?"
        ) from None
    try:
        return builder.build(_LOADER(text))
    except yaml.YAMLError as e:
        raise UsageError(f"{name}: not YAML: {_yaml_problem(e, text)}") from None


def _yaml_problem(error: yaml.YAMLError, text: str) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = (
        getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
    )
    where = _where(mark, text) if mark else ""
    tab = (
        " (a tab: YAML is indented with spaces)" if mark and text[mark.index :][:1] == "\t" else ""
    )
    return f"{where}{problem}{tab}"


def _where(mark: yaml.Mark, text: str) -> str:
    """The position of a mark; errors at the end of the text are reported on its last line."""
    last = max(1, len(text.splitlines()))
    return (
        f"line {mark.line + 1}, column {mark.column + 1}: "
        if mark.line < last
        else f"line {last}, at its end: "
    )


_MERGE = "<<"
_MOST_TWICE = 100
"""Maximum duplicate keys of a document that are tracked."""
_DROPPED = -1
"""The mark of a dropped value: a duplicate key."""


@dataclass(slots=True)
class _Open:
    """A mapping or sequence that is not closed yet."""

    value: Any
    number: int
    """Number of its mark; _DROPPED if it is dropped."""
    first: int
    """The number of the first mark below it."""
    anchor: str | None
    is_list: bool
    key: Any = None
    has_key: bool = False
    marked: int = 0
    """The number of the key's mark."""


class _Builder:
    """Builds values from events with an explicit stack."""

    def __init__(self, name: str, *, many: bool = False, times: int = 1) -> None:
        self.name = name
        self.many = many
        self.times = times
        self.most = MAX_VALUES * min(times, MORE_VALUES)
        self.room = parse_budget()
        self.fits = self.most if self.room is None else min(self.most, self.room.left)
        self.positions = Positions()
        self.blocks: set[Path] = set()
        self.duplicates: list[tuple[Path, int]] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.stack: list[_Open] = []
        self.root: Any = None
        self.count = 0
        self.documents = 0
        self.done: list[Document] = []

    def build(self, loader: Any) -> list[Document]:
        next_event = loader.get_event
        while (event := next_event()) is not None:
            if isinstance(event, ScalarEvent):  # first, because most are
                self._place_scalar(event)
            else:
                self._take(event)
        if self.room is not None:
            self.room.take(self.count)
        return [*self.done, self._document()]

    def _document(self) -> Document:
        positions = self.positions
        positions.done(self.root)
        lines, columns = Marks(positions, positions.lines), Marks(positions, positions.columns)
        blocks_and_duplicates = (
            frozenset(self.blocks),
            tuple(self.duplicates),
        )  # empty ones take no memory
        if not self.many:  # callers of `parse_yaml` may modify the value
            return Document(self.root, lines.by_path(), {}, *blocks_and_duplicates)
        return Document(self.root, lines, columns, *blocks_and_duplicates)

    def _next_document(self, event: Event) -> None:
        """Reset for the next document, except the count: the limit applies to the whole text."""
        self.documents += 1
        if self.documents == 1:
            return
        if not self.many:
            self._refuse(event, "a second document; a stack file has only one")
        if self.documents > MAX_DOCUMENTS:
            self._refuse(event, f"more than {MAX_DOCUMENTS:,} documents")
        self.done.append(self._document())
        self.root, self.positions, self.duplicates, self.anchors = None, Positions(), [], {}
        self.blocks = set()

    def _take(self, event: Event) -> None:
        match event:
            case MappingStartEvent():
                self._open({}, event)
            case SequenceStartEvent():
                self._open([], event)
            case MappingEndEvent() | SequenceEndEvent():
                self._close(event)
            case DocumentStartEvent():
                self._next_document(event)
            case AliasEvent():
                self._alias(event)
            case _:
                pass

    def _alias(self, event: AliasEvent) -> None:
        anchor = str(event.anchor)
        if anchor not in self.anchors:
            self._refuse(event, f"*{anchor} has no complete anchor &{anchor} before it")
        value, size = self.anchors[anchor]
        self._place(value, event, size=size)

    def _open(self, value: Any, event: NodeEvent) -> None:
        if len(self.stack) >= MAX_DEPTH:
            self._refuse(event, f"nested more than {MAX_DEPTH} deep")
        number = self._place(value, event, size=1)
        anchor = getattr(event, "anchor", None)
        is_list = isinstance(value, list)
        self.stack.append(_Open(value, number, len(self.positions.lines), anchor, is_list))

    def _close(self, event: Event) -> None:
        done = self.stack.pop()
        if isinstance(done.value, dict) and _MERGE in done.value:
            self._merge(done, event)
        if done.number == _DROPPED:
            self.positions.drop(done.first)
        else:
            self.positions.close(done.number)
        if done.anchor:
            self.anchors[done.anchor] = (done.value, _size(done.value))

    def _merge(self, into: _Open, event: Event) -> None:
        """Merge `<<` as the Pulumi engine, kubectl and helm do: only keys that the mapping lacks."""
        merged_value = into.value[_MERGE]
        sources = merged_value if isinstance(merged_value, list) else [merged_value]
        if not all(isinstance(each, dict) for each in sources):
            return
        self._remove_key(into, _MERGE)
        for source in sources:
            self.count += len(source)
            if self.count > self.fits:
                self._refuse_more(event)
            for key, value in source.items():
                into.value.setdefault(key, value)  # merged values have no marks

    def _place_scalar(self, event: ScalarEvent) -> None:
        """A faster `_place` for scalars, which are most events; keys are kept as text."""
        self.count += 1
        if self.count > self.fits:
            self._refuse_more(event)
        if event.anchor:
            self.anchors[event.anchor] = (_scalar(event), 1)
        container = self.stack[-1] if self.stack else None
        if container is None:
            self.root = _scalar(event)
            self._mark(event)
        elif container.is_list:
            container.value.append(_scalar(event))
            self._mark(event)
        elif not container.has_key:
            self._place_key(container, event.value, event)
        else:
            self._place_in_mapping(container, _scalar(event))
            if self.many and event.style in _BLOCKS and container.marked != _DROPPED:
                self.blocks.add(self._path())

    def _place(self, value: Any, event: NodeEvent, size: int) -> int:
        """Add the value to its container; returns the number of its mark."""
        self.count += size
        if self.count > self.fits:
            self._refuse_more(event)
        if not self.stack:
            self.root = value
            return self._mark(event)
        container = self.stack[-1]
        if container.is_list:
            container.value.append(value)
            return self._mark(event)
        if container.has_key:
            return self._place_in_mapping(container, value)
        return self._place_key(container, value, event)

    def _place_key(self, container: _Open, key: Any, event: NodeEvent) -> int:
        if not isinstance(key, str):
            self._refuse(event, f"a mapping or list as a key below {show_path(self._path()[:-1])}")
        container.key = sys.intern(key)
        container.has_key = True
        if key in container.value:
            self.duplicates.append((self._path(), _line(event)))
            if not self.many or len(self.duplicates) > _MOST_TWICE:
                container.marked = _DROPPED
                return _DROPPED
            self._forget_first(container, key)
        container.marked = self._mark(event)
        return container.marked

    def _forget_first(self, container: _Open, key: str) -> None:
        """Drop the earlier value of a duplicate key."""
        self._remove_key(container, key)
        path = self._path()
        self.blocks = {each for each in self.blocks if each[: len(path)] != path}

    def _place_in_mapping(self, container: _Open, value: Any) -> int:
        container.has_key = False
        if container.marked != _DROPPED:
            container.value[container.key] = value
        return container.marked

    def _remove_key(self, container: _Open, key: str) -> None:
        """Remove a key and its marks; the other marks keep the order of the text."""
        number = container.first
        for _ in takewhile(key.__ne__, container.value):
            number = self.positions.ends[number]
        self.positions.truncate(number)
        del container.value[key]

    def _path(self) -> Path:
        """Path of the value that is being added."""
        return tuple(len(each.value) - 1 if each.is_list else each.key for each in self.stack)

    def _mark(self, event: NodeEvent) -> int:
        mark: Any = event.start_mark  # the reader gives one to each
        return self.positions.add(mark.line + 1, mark.column + 1)

    def _refuse_more(self, event: Event) -> None:
        if self.room is not None and self.count <= self.most:
            self.room.short = True
            raise ParseBudgetExceeded(f"{self.name}: {BUDGET_EXCEEDED}")
        self._refuse(event, f"more than {self.most:,} values once anchors are expanded")

    def _refuse(self, event: Event, why: str) -> None:
        raise UsageError(f"{self.name}: line {_line(event)}: {why}")


def _line(event: Event) -> int:
    """The line in which an event starts; libyaml always reports it."""
    return event.start_mark.line + 1 if event.start_mark else 1


def _size(value: Any) -> int:
    """The number of values below, itself included."""
    total, todo = 0, [value]
    while todo and total <= MAX_VALUES:
        total += 1
        item = todo.pop()
        if isinstance(item, dict):
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)
    return total


def _scalar(event: ScalarEvent) -> Any:
    """A plain scalar by YAML 1.2's core schema; anything quoted is text."""
    text: str = event.value if len(event.value) > _SHORT else sys.intern(event.value)
    tag = event.tag
    if event.style or (tag and tag != "!" and tag.endswith(":str")):
        return text
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _OF_NUMBERS:
        return text
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text
