"""PromQL expressions: metrics that they read, and what they do with them; words are read, not meaning."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

_TOKEN = re.compile(
    r"""
    (?P<skip>\s+|\#[^\n]*|<<[^<>]*>>)
    |(?P<string>"(?:\\.|[^"\\])*(?:"|\\?\Z)|'(?:\\.|[^'\\])*(?:'|\\?\Z)|`[^`]*(?:`|\Z))
    |(?P<variable>\$\{[^{}]*\}|\[\[[^\[\]]*\]\]|\$\w+)
    |(?P<range>\[[^\[\]]*\])
    |(?P<number>(?:0x[0-9a-fA-F]+|\d[\w.]*))
    |(?P<name>[A-Za-z_:][\w:]*)
    |(?P<other>=~|!~|!=|==|>=|<=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_LISTS = frozenset({"by", "without", "on", "ignoring", "group_left", "group_right"})
"""Words before a list of labels."""
_OF_GROUPS = frozenset({"by", "without"})
"""Those of an aggregation, before what it aggregates or after it; the others are of two sides."""
_WORDS = frozenset({"and", "or", "unless", "offset", "bool", "atan2", "inf", "nan", "start", "end"})
_NAME_LABEL = "__name__"
DEEPEST = 100
"""How many parentheses may be open at one place: reading each selector takes time for all around it."""


@dataclass(frozen=True, slots=True)
class Selector:
    """One place where an expression reads a metric."""

    metric: str
    labels: Mapping[str, str]
    """By label, what it must equal; labels that are matched otherwise have their pattern."""
    ranged: bool
    """True when it reads a stretch of time, as rate() wants it."""
    functions: tuple[str, ...]
    """What is done with it, the nearest first."""
    before: str
    """The operator between it and the metric to its left, "" where more than that stands between them."""
    grouped: frozenset[str] = frozenset()
    """The labels that what it is part of is grouped and joined by."""


@dataclass(frozen=True, slots=True)
class Expression:
    """What an expression reads, and the labels that it groups and joins by."""

    selectors: tuple[Selector, ...]
    grouped: frozenset[str]
    whole: bool = True
    """False where more than DEEPEST parentheses are open: the expression is read up to there."""


@dataclass(slots=True)
class _Reader:
    """Goes through the words once."""

    words: list[tuple[str, str]]
    at: int = 0
    ended: int = 0
    """Where the selector before ended."""
    stack: list[str] = field(default_factory=list)
    groups: list[int] = field(default_factory=lambda: [0])
    """Parentheses that are open, each with a number of its own; 0 is the whole."""
    opened: int = 0
    closed: int = 0
    """How many there were, and which was closed last."""
    found: list[tuple[Selector, frozenset[int]]] = field(default_factory=list)
    grouped: dict[int, set[str]] = field(default_factory=dict)
    """By parentheses, the labels that hold for what is in them."""

    def read(self) -> None:
        while self.at < len(self.words) and len(self.stack) <= DEEPEST:
            kind, word = self.words[self.at]
            self.at += 1
            if kind == "name":
                self._name(word)
            elif word == "{":
                self._select("")
            elif word == "(":
                self._open("")
            elif word == ")" and self.stack:
                self.stack.pop()
                self.closed = self.groups.pop()

    def _open(self, function: str) -> None:
        self.stack.append(function)
        self.opened += 1
        self.groups.append(self.opened)

    def _group(self, by: int) -> None:
        self.grouped.setdefault(by, set()).update(self._labels())

    def labels_of(self, group: int) -> set[str]:
        """What holds for all in these parentheses."""
        return self.grouped.get(group, set())

    def _name(self, word: str) -> None:
        low = word.lower()
        if low in _LISTS:
            after = low in _OF_GROUPS and self.at > 1 and self.words[self.at - 2][1] == ")"
            self._group(self.closed if after else self.groups[-1])
        elif self._next() == "(":
            self.at += 1
            self._open(low)
        elif low in _WORDS:
            return
        elif self._is_aggregation():
            self._grouped_first(low)
        else:
            self._select(word)

    def _is_aggregation(self) -> bool:
        """True for `sum by (pod) (…)`, where the labels come first."""
        return self._next().lower() in _OF_GROUPS

    def _grouped_first(self, function: str) -> None:
        self.at += 1
        self._group(self.opened + 1)
        if self._next() == "(":
            self.at += 1
            self._open(function)

    def _next(self) -> str:
        return self.words[self.at][1] if self.at < len(self.words) else ""

    def _labels(self) -> Iterator[str]:
        """The labels of a list in parentheses; none where no list follows."""
        if self._next() != "(":
            return
        while self.at < len(self.words):
            kind, word = self.words[self.at]
            self.at += 1
            if kind == "name":
                yield word
            if word == ")":
                return

    def _select(self, metric: str) -> None:
        """A selector whose name, if it has one before the braces, has been read."""
        begun = self.at - 1
        labels: dict[str, str] = {}
        if metric and self._next() == "{":
            self.at += 1
            labels = self._matchers()
        elif not metric:
            labels = self._matchers()
        before = self.words[begun - 1][1] if begun > 1 and begun - 1 == self.ended else ""
        name = metric or labels.pop(_NAME_LABEL, "")
        ranged = self.at < len(self.words) and self.words[self.at][0] == "range"
        self.ended = self.at + ranged
        functions = tuple(each for each in reversed(self.stack) if each)
        if name:
            selector = Selector(name, labels, ranged, functions, before)
            self.found.append((selector, frozenset(self.groups)))

    def _matchers(self) -> dict[str, str]:
        labels: dict[str, str] = {}
        label = ""
        while self.at < len(self.words):
            kind, word = self.words[self.at]
            self.at += 1
            if word == "}":
                break
            if kind == "name":
                label = word
            elif kind == "string" and label:
                labels[label], label = word[1:-1], ""
            elif kind == "string":
                labels[_NAME_LABEL] = word[1:-1]  # {"a.metric"}, as Prometheus 3 has it
        return labels


def read_promql(text: str) -> Expression:
    """The selectors of an expression; text that is none has words that look like some."""
    words = [
        (str(match.lastgroup), match[0])
        for match in _TOKEN.finditer(text)
        if match.lastgroup != "skip"
    ]
    reader = _Reader(words)
    reader.read()
    selectors = tuple(
        replace(each, grouped=frozenset().union(*map(reader.labels_of, groups)))
        for each, groups in reader.found
    )
    grouped = frozenset[str]().union(*reader.grouped.values())
    return Expression(selectors, grouped, whole=len(reader.stack) <= DEEPEST)
