"""Positions of the parts of a YAML document: numbers in the order of the text, resolved by walking the value.

A dictionary from every path to its line takes several times the memory of the values. Here a part takes
twelve bytes, and a query takes the time of the walk.
"""

from array import array
from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.findings import Path

_WIDE = 64
"""Parts with more children cache their positions on the first query."""


def _numbers() -> "array[int]":
    return array("I")


class Positions:
    """A mark for every part of one document, in the order of the text.

    A part of a mapping is marked at its key. The value must not be modified.
    """

    __slots__ = ("_wide", "columns", "ends", "lines", "value")

    def __init__(self) -> None:
        self.value: Any = None
        self.lines = _numbers()
        self.columns = _numbers()
        self.ends = _numbers()
        """The number of the first part that is not below this one."""
        self._wide: dict[int, Mapping[Any, int]] = {}

    def add(self, line: int, column: int) -> int:
        """Mark the next part without children; returns its number."""
        self.lines.append(line)
        self.columns.append(column)
        end = len(self.lines)
        self.ends.append(end)
        return end - 1

    def close(self, number: int) -> None:
        """Close a part: everything marked since is below it."""
        self.ends[number] = len(self.lines)

    def drop(self, first: int) -> None:
        """Remove all marks from this number on."""
        for numbers in (self.lines, self.columns, self.ends):
            del numbers[first:]

    def truncate(self, number: int) -> None:
        """Remove the marks of a part and everything below it."""
        end = self.ends[number]
        for numbers in (self.lines, self.columns, self.ends):
            del numbers[number:end]
        for after in range(number, len(self.ends)):
            self.ends[after] -= end - number

    def done(self, value: Any) -> None:
        """Finish: release unused memory."""
        self.value = value
        self.lines, self.columns, self.ends = self.lines[:], self.columns[:], self.ends[:]

    def position_index(self, path: Path) -> int | None:
        """The number of a part; None if it has no mark, as below an alias."""
        number: int | None = 0 if self.ends else None
        value = self.value
        for step in path:
            number = None if number is None else self._below(number, value).get(step)
            if number is None:
                return None
            value = value[step]
        return number

    def position_indexes(self) -> Iterator[tuple[Path, int]]:
        """Every marked part and its number, in the order of the text."""
        todo: list[tuple[Path, int, Any]] = [((), 0, self.value)] if self.ends else []
        while todo:
            path, number, value = todo.pop()
            yield path, number
            below = [((*path, k), n, value[k]) for k, n in self._below(number, value).items()]
            todo.extend(reversed(below))

    def _below(self, number: int, value: Any) -> Mapping[Any, int]:
        if (children := self._wide.get(number)) is not None:
            return children
        if self.ends[number] == number + 1:
            return {}  # parts below an alias have no marks
        results: dict[Any, int] = {}
        part, end = number + 1, self.ends[number]
        for step in range(len(value)) if isinstance(value, list) else value:
            if part >= end:
                break  # the rest was merged from elsewhere
            results[step] = part
            part = self.ends[part]
        if len(results) > _WIDE:
            self._wide[number] = results
        return results


class Marks(Mapping[Path, int]):
    """Lines, or columns, by path."""

    __slots__ = ("_numbers", "_positions")

    def __init__(self, positions: Positions, numbers: "array[int]") -> None:
        self._positions = positions
        self._numbers = numbers

    def __getitem__(self, path: Path) -> int:
        number = self._positions.position_index(path)
        if number is None:
            raise KeyError(path)
        return self._numbers[number]

    def __iter__(self) -> Iterator[Path]:
        return (path for path, _ in self._positions.position_indexes())

    def by_path(self) -> dict[Path, int]:
        """All marks at once: faster than single queries, but needs more memory."""
        return {path: self._numbers[number] for path, number in self._positions.position_indexes()}

    def __len__(self) -> int:
        return len(self._numbers)
