"""PromQL expressions: the metrics that they read and how. A tokenizer, not an evaluator."""

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
"""Keywords before a list of labels."""
_OF_GROUPS = frozenset({"by", "without"})
"""Keywords of an aggregation, before or after its operand; the others are of binary operators."""
_WORDS = frozenset({"and", "or", "unless", "offset", "bool", "atan2", "inf", "nan", "start", "end"})
_NAME_LABEL = "__name__"
DEEPEST = 100
"""Maximum number of nested parentheses: the time to read a selector grows with the depth."""


@dataclass(frozen=True, slots=True)
class Selector:
    """One selector of an expression."""

    metric: str
    labels: Mapping[str, str]
    """By label, the required value; other matchers have their pattern."""
    ranged: bool
    """True for a range selector, as rate() needs it."""
    functions: tuple[str, ...]
    """The enclosing functions, innermost first."""
    preceding_operator: str
    """The operator between it and the metric to its left, "" if more than that is between them."""
    grouping_labels: frozenset[str] = frozenset()
    """The labels by which the enclosing expression groups and joins."""


@dataclass(frozen=True, slots=True)
class Expression:
    """The selectors of an expression, and the labels by which it groups and joins."""

    selectors: tuple[Selector, ...]
    grouping_labels: frozenset[str]
    is_fully_read: bool = True
    """False if more than DEEPEST parentheses are nested: the expression is read up to there."""


@dataclass(slots=True)
class _Reader:
    """Reads the tokens once."""

    words: list[tuple[str, str]]
    at: int = 0
    ended: int = 0
    """The end of the previous selector."""
    stack: list[str] = field(default_factory=list)
    groups: list[int] = field(default_factory=lambda: [0])
    """Open parentheses, each with its number; 0 is the whole expression."""
    opened: int = 0
    closed: int = 0
    """The number of parentheses so far, and the one closed last."""
    found: list[tuple[Selector, frozenset[int]]] = field(default_factory=list)
    grouped: dict[int, set[str]] = field(default_factory=dict)
    """By parentheses, the labels that apply to their content."""

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
        """The labels that apply to everything in these parentheses."""
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
        """The labels of a list in parentheses; none if no list follows."""
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
        """A selector whose name, if it precedes the braces, has been read."""
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
                labels[_NAME_LABEL] = word[1:-1]  # {"a.metric"}, as in Prometheus 3
        return labels


def read_promql(text: str) -> Expression:
    """The selectors of an expression; text that is not PromQL gives meaningless selectors."""
    words = [
        (str(match.lastgroup), match[0])
        for match in _TOKEN.finditer(text)
        if match.lastgroup != "skip"
    ]
    reader = _Reader(words)
    reader.read()
    selectors = tuple(
        replace(each, grouping_labels=frozenset().union(*map(reader.labels_of, groups)))
        for each, groups in reader.found
    )
    grouped = frozenset[str]().union(*reader.grouped.values())
    return Expression(selectors, grouped, is_fully_read=len(reader.stack) <= DEEPEST)
