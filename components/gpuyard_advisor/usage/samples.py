"""Samples of a Prometheus export, in the order of the file.

Two formats: the JSON of `/api/v1/query_range`, and the OpenMetrics text of `promtool tsdb dump-openmetrics`.
Both are read in chunks: at most one chunk, one label set or one line is in memory.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from gpuyard_core.errors import UsageError

Labels = tuple[tuple[str, str], ...]
"""The labels of a series in the order of their names, `__name__` included."""
Sample = tuple[Labels, float, float]
"""The series, the time in seconds since 1970, and the value."""

_LIMIT = 1024 * 1024
"""Characters of one label set or line: more is not a Prometheus export."""
_PAIR = re.compile(r'\s*\[\s*(-?[\d.eE+-]+)\s*,\s*"([^"\\]*)"\s*\]\s*([,\]])')
_SPACE = re.compile(r"\s*")
_LABEL = re.compile(r'\s*([a-zA-Z_][\w.]*|"(?:[^"\\]|\\.)*")\s*=\s*"((?:[^"\\]|\\.)*)"\s*(,|$)')
_LINE = re.compile(
    r'([a-zA-Z_:][\w:]*)?(?:\{((?:[^"{}]|"(?:[^"\\]|\\.)*")*)\})?\s+(\S+)(?:\s+([^\s#]+))?\s*(?:#.*)?'
)
_ESCAPE = re.compile(r"\\(.)")
_MAX_TIME = 10_000_000_000
"""Seconds: a larger time is in milliseconds."""


def read_samples(chunks: Iterable[str]) -> Iterator[Sample]:
    """The samples of an export in either format; UsageError where the text is neither."""
    parts = iter(chunks)
    first = next((part for part in parts if part.strip()), "")
    if not first:
        raise UsageError("the export is empty")
    all_parts = chain([first], parts)
    return _json_samples(all_parts) if first.lstrip()[0] == "{" else _text_samples(all_parts)


def _text_samples(chunks: Iterable[str]) -> Iterator[Sample]:
    """The samples of OpenMetrics text."""
    known: dict[str, Labels] = {}
    ended = False
    for number, line in enumerate(_lines(chunks), 1):
        if not (text := line.strip()):
            continue
        if ended:
            raise UsageError(f"line {number}: text after `# EOF`")
        if text.startswith("#"):
            ended = text == "# EOF"
            continue
        yield _text_sample(text, number, known)
    if not ended:
        raise UsageError("the export has no `# EOF` at its end: it is incomplete")


def _lines(chunks: Iterable[str]) -> Iterator[str]:
    rest = ""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split("\n")
        yield from lines
        if len(rest) > _LIMIT:
            raise UsageError(f"a line has more than {_LIMIT:,} characters")
    yield rest


def _text_sample(text: str, number: int, known: dict[str, Labels]) -> Sample:
    match = _LINE.fullmatch(text)
    if match is None:
        raise UsageError(f"line {number}: not a sample of OpenMetrics")
    name, inner, value, when = match.groups()
    if when is None:
        raise UsageError(
            f"line {number}: the sample has no time. Export with `promtool tsdb dump-openmetrics`."
        )
    key = f"{name or ''}{{{inner or ''}}}"
    labels = known.get(key)
    if labels is None:
        labels = known[key] = _text_labels(name, inner or "", number)
    try:
        return labels, _seconds(float(when)), float(value)
    except ValueError:
        raise UsageError(f"line {number}: not a number") from None


def _text_labels(name: str | None, inner: str, number: int) -> Labels:
    found = {"__name__": name} if name else {}
    at = 0
    while inner[at:].strip():
        match = _LABEL.match(inner, at)
        if match is None or match[1] in found:
            raise UsageError(f"line {number}: its labels cannot be read")
        found[match[1]] = _ESCAPE.sub(lambda e: "\n" if e[1] == "n" else e[1], match[2])
        at = match.end()
    return tuple(sorted(found.items()))


def _seconds(time: float) -> float:
    if not 0 <= time < _MAX_TIME:
        raise UsageError(f"{time:g} is not a time in seconds since 1970")
    return time


def _json_samples(chunks: Iterable[str]) -> Iterator[Sample]:
    """The samples of a range query's response."""
    text = _JsonText(chunks)
    has_result = False
    for key in text.each_key():
        if key == "data":
            for inner in text.each_key():
                if inner == "result":
                    has_result = True
                    yield from _series(text)
                else:
                    _check_type(inner, text.value())
        else:
            _check_status(key, text.value())
    if not has_result:
        raise UsageError("the export has no `data.result`: it is not the response of a range query")
    text.check_end()


def _check_type(key: str, value: Any) -> None:
    if key == "resultType" and value != "matrix":
        raise UsageError(f"the export is a {value}, not a matrix. Query `/api/v1/query_range`.")


def _check_status(key: str, value: Any) -> None:
    if key == "status" and value != "success":
        raise UsageError(f"the query ended with status {value}")


def _series(text: "_JsonText") -> Iterator[Sample]:
    """The samples of each series of `result`."""
    for _ in text.each_item():
        labels: Labels | None = None
        for key in text.each_key():
            if key == "values":
                if labels is None:
                    raise UsageError("a series has `values` before `metric`")
                yield from ((labels, time, value) for time, value in text.pairs())
            elif key == "metric":
                labels = _json_labels(text.value())
            elif key == "value":
                raise UsageError("the export is of one instant. Query `/api/v1/query_range`.")
            elif key == "histograms":
                raise UsageError("native histograms are not read. Query a number.")
            else:
                text.value()


def _json_labels(value: Any) -> Labels:
    if not isinstance(value, dict):
        raise UsageError("`metric` is not a mapping of labels")
    return tuple(sorted((str(k), str(v)) for k, v in value.items()))


class _JsonText:
    """A cursor in JSON text that arrives in chunks."""

    def __init__(self, chunks: Iterable[str]) -> None:
        self._chunks = iter(chunks)
        self._text = ""
        self._at = 0

    def _more(self) -> bool:
        """Drop what is read and add a chunk; False at the end of the text."""
        chunk = next(self._chunks, None)
        if chunk is None:
            return False
        self._text, self._at = self._text[self._at :] + chunk, 0
        return True

    def _peek(self) -> str:
        """The next character that is no space; "" at the end."""
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _take(self, expected: str) -> str:
        found = self._peek()
        if not found:
            raise UsageError("the export ends in the middle: it is incomplete")
        if found not in expected:
            raise UsageError(f"not JSON: {found!r} instead of {' or '.join(expected)}")
        self._at += 1
        return found

    def each_item(self) -> Iterator[None]:
        """Once for each element of an array; the caller reads it."""
        yield from self._parts("[", "]")

    def each_key(self) -> Iterator[str]:
        """Each key of an object; the caller reads its value."""
        for _ in self._parts("{", "}"):
            key = self.value()
            self._take(":")
            yield str(key)

    def _parts(self, start: str, end: str) -> Iterator[None]:
        self._take(start)
        if self._peek() == end:
            self._take(end)
            return
        while True:
            yield
            if self._take(f",{end}") == end:
                return

    def value(self) -> Any:
        """One whole value, of at most a label set's size."""
        self._peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError:
                value, end = None, len(self._text)
            # a number at the end of a chunk may go on in the next
            if end < len(self._text):
                self._at = end
                return value
            if len(self._text) - self._at > _LIMIT or not self._more():
                raise UsageError("the export has a value that is incomplete or not JSON")

    def pairs(self) -> Iterator[tuple[float, float]]:
        """The times and values of a series."""
        self._take("[")
        if self._peek() == "]":
            self._take("]")
            return
        while True:
            match = _PAIR.match(self._text, self._at)
            if match is None:
                if len(self._text) - self._at > _LIMIT or not self._more():
                    raise UsageError(
                        'a series has a value that is incomplete or not `[time, "value"]`'
                    )
                continue
            self._at = match.end()
            try:
                yield _seconds(float(match[1])), float(match[2])
            except ValueError:
                raise UsageError(f"not a number: {match[2][:40]!r}") from None
            if match[3] == "]":
                return

    def check_end(self) -> None:
        """Refuse text after the document."""
        if self._peek():
            raise UsageError("the export has text after its end: are these two exports?")


_DECODER = json.JSONDecoder()
