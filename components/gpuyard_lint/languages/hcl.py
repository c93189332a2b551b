"""A parser for HCL, the language of Terraform files: blocks and expressions with a line for each.

It reads the whole file, so that nothing hides what follows, and no further than needed: operators and
`for` give an expression of unknown value.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gpuyard_core.yaml.parse_budget import BUDGET_EXCEEDED, ParseBudgetExceeded, parse_budget

MAX_DEPTH = 100
OF_A_TERM, OF_A_BLOCK = 2, 16
"""Shares of the parse budget of a run: an expression with its value and place, and a block with its item."""
_AT_ONCE = 64
_SPACE = re.compile(r"(?:[ \t\r\ufeff]+|#[^\n]*|//[^\n]*|/\*.*?(?:\*/|\Z))*", re.DOTALL)
_LINES = re.compile(r"(?:\s+|\ufeff|#[^\n]*|//[^\n]*|/\*.*?(?:\*/|\Z))*", re.DOTALL)
"""A comment that never ends extends to the end of the file: do not search it again for each line."""
_IDENT = re.compile(r"[^\W\d][\w-]*")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_HEREDOC = re.compile(r"<<(-?)([^\W\d][\w-]*)[ \t\r]*\n")
_FOR = re.compile(r"[\[{]\s*for\b")
_LITERAL = re.compile(r"[^\"\\$%\n]+")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_ENDS = frozenset(",]})\n:~")
_OPEN = {"[": "]", "{": "}", "(": ")"}
_TWO = ("==", "!=", ">=", "<=", "=>", "&&", "||")


class HclError(Exception):
    """A text is not HCL: the line, and what was expected."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"not HCL: line {line}: {problem}")
        self.line = line


class HclForm(StrEnum):
    """The kind of an expression."""

    LITERAL = "literal"
    TEMPLATE = "template"
    LIST = "list"
    OBJECT = "object"
    REFERENCE = "reference"
    CALL = "call"
    OTHER = "other"
    """Any other expression: an operator, a condition, a `for`."""


@dataclass(frozen=True, slots=True)
class HclTerm:
    """An expression and its start."""

    form: HclForm
    line: int
    column: int
    value: Any = None
    """A literal's value; steps of a reference, the first a name; the name of a function."""
    parts: tuple[Any, ...] = ()
    """Parts of a template, items of a list, pairs of an object, arguments of a call."""
    heredoc: bool = False
    indent: int = 0
    """For a heredoc: the number of columns to remove from each line."""


@dataclass(frozen=True, slots=True)
class HclAttribute:
    """A name with its value."""

    line: int
    column: int
    value: HclTerm


@dataclass(slots=True)
class HclBlock:
    """A block: its type, its labels, and its content."""

    type: str
    labels: tuple[str, ...]
    line: int
    column: int
    attributes: dict[str, HclAttribute] = field(default_factory=dict[str, HclAttribute])
    blocks: list["HclBlock"] = field(default_factory=list["HclBlock"])


def parse_hcl(text: str) -> HclBlock:
    """The whole file as one block without a type; HclError if it is not HCL."""
    reader = _Reader(text)
    result = HclBlock("", (), 1, 1)
    reader.body(result)
    if reader.at < len(text):
        raise reader.error("a name")
    reader.pay()
    return result


class _Reader:
    """Parses the text once, and recursively for nested parts."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.room, self.owed = parse_budget(), 0
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]

    # ── position ──

    def place(self) -> tuple[int, int]:
        line = bisect_right(self.starts, self.at)
        return line, self.at - self.starts[line - 1] + 1

    def error(self, expected: str) -> HclError:
        last = self.text.rstrip().count("\n") + 1
        return HclError(min(self.place()[0], last), f"{expected} was expected")

    def skip(self, *, lines: bool) -> str:
        """Skips whitespace and comments; the next character, "" at the end."""
        match = (_LINES if lines else _SPACE).match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.text[self.at : self.at + 1]

    def expect(self, sign: str, *, lines: bool = True) -> None:
        if self.skip(lines=lines) != sign:
            raise self.error(f"`{sign}`")
        self.at += 1

    def take(self, pattern: re.Pattern[str]) -> str:
        """The text that matches here, "" if none does."""
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return match[0] if match else ""

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise HclError(self.place()[0], f"nested more than {MAX_DEPTH} deep")

    # ── parse budget ──

    def owe(self, parts: int) -> None:
        self.owed += parts
        if self.owed >= _AT_ONCE:
            self.pay()

    def pay(self) -> None:
        if self.room and not self.room.take(self.owed):
            raise ParseBudgetExceeded(BUDGET_EXCEEDED)
        self.owed = 0

    # ── blocks and attributes ──

    def body(self, into: HclBlock) -> None:
        """Attributes and blocks until a closing brace, or the end."""
        self.deeper()
        while self.skip(lines=True) not in {"", "}"}:
            line, column = self.place()
            name = self.take(_IDENT)
            if not name:
                raise self.error("a name")
            if self.skip(lines=False) == "=":
                self.at += 1
                self.skip(lines=False)
                into.attributes[name] = HclAttribute(line, column, self.expression(inside=False))
            else:
                into.blocks.append(self.block(name, line, column))
        self.depth -= 1

    def block(self, type_: str, line: int, column: int) -> HclBlock:
        self.owe(OF_A_BLOCK)
        labels: list[str] = []
        while (sign := self.skip(lines=False)) != "{":
            if sign == '"':
                label_text = self.quoted()
                labels.append("".join(part for part in label_text.parts if isinstance(part, str)))
            elif label := self.take(_IDENT):
                labels.append(label)
            else:
                raise self.error("`=` or `{`")
        self.at += 1
        result = HclBlock(type_, tuple(labels), line, column)
        self.body(result)
        self.expect("}")
        return result

    # ── expressions ──

    def expression(self, *, inside: bool) -> HclTerm:
        """One that ends with its line, or inside brackets at a delimiter."""
        self.deeper()
        self.owe(OF_A_TERM)
        line, column = self.place()
        result = self.primary()
        if not self.ended(inside=inside):
            self.over(inside=inside)
            result = HclTerm(HclForm.OTHER, line, column)
        self.depth -= 1
        return result

    def ended(self, *, inside: bool) -> bool:
        sign = self.skip(lines=inside)
        one = self.text[self.at : self.at + 2] not in _TWO
        return not sign or sign in _ENDS or (sign == "=" and one) or self.arrow()

    def arrow(self) -> bool:
        return self.text.startswith("=>", self.at)

    def primary(self) -> HclTerm:
        line, column = self.place()
        sign = self.text[self.at : self.at + 1]
        match = _HEREDOC.match(self.text, self.at)
        if sign == '"' or match:
            return self.heredoc(match) if match else self.quoted()
        if sign in {"[", "{"}:
            return self.collection(sign, line, column)
        if sign == "(":
            self.at += 1
            self.skip(lines=True)
            result = self.expression(inside=True)
            self.expect(")")
            return result
        if word := self.take(_NUMBER):
            return HclTerm(HclForm.LITERAL, line, column, _number(word))
        return self.signed(line, column) if sign in {"-", "!"} else self.named(line, column)

    def collection(self, sign: str, line: int, column: int) -> HclTerm:
        if _FOR.match(self.text, self.at):
            self.balanced()
            return HclTerm(HclForm.OTHER, line, column)
        return self.listed() if sign == "[" else self.pairs()

    def signed(self, line: int, column: int) -> HclTerm:
        """A negative number, or an operator with the rest."""
        negative = self.text[self.at] == "-"
        self.at += 1
        self.skip(lines=False)
        if negative and (word := self.take(_NUMBER)):
            return HclTerm(HclForm.LITERAL, line, column, -_number(word))
        self.primary()
        return HclTerm(HclForm.OTHER, line, column)

    def named(self, line: int, column: int) -> HclTerm:
        """A keyword, a call, or a reference."""
        name = self.take(_IDENT)
        if not name:
            raise self.error("a value")
        if name in _WORDS:
            return HclTerm(HclForm.LITERAL, line, column, _WORDS[name])
        if self.text.startswith(("(", "::"), self.at):
            return self.call(name, line, column)
        steps: list[str | int] = [name]
        while (step := self.step()) is not None:
            steps.append(step)
        return HclTerm(HclForm.REFERENCE, line, column, tuple(steps))

    def step(self) -> str | int | None:
        """One step of a reference; None at its end, also if no name follows."""
        if self.text.startswith(".", self.at):
            for pattern in (_IDENT, _NUMBER):
                if match := pattern.match(self.text, self.at + 1):
                    self.at = match.end()
                    return match[0] if pattern is _IDENT else int(min(float(match[0]), _LARGEST))
        elif self.text.startswith("[", self.at):
            before = self.at
            self.at += 1
            self.skip(lines=True)
            if not self.text.startswith("*", self.at):
                inner = self.expression(inside=True)
                self.expect("]")
                if (key := _plain(inner)) is not None:
                    return key
            self.at = before
        return None

    def call(self, name: str, line: int, column: int) -> HclTerm:
        if self.text.startswith("::", self.at):  # a provider function: its value is unknown
            while self.take(re.compile("::")):
                self.take(_IDENT)
            name = ""
        self.expect("(", lines=False)
        results: list[HclTerm] = []
        while self.skip(lines=True) != ")":
            results.append(self.expression(inside=True))
            if self.text.startswith("...", self.at):
                self.at += 3
                name = ""
            self.comma(")")
        self.at += 1
        return HclTerm(HclForm.CALL, line, column, name, tuple(results))

    def comma(self, end: str) -> None:
        sign = self.skip(lines=True)
        if sign == ",":
            self.at += 1
        elif sign != end:
            raise self.error(f"`,` or `{end}`")

    def listed(self) -> HclTerm:
        line, column = self.place()
        self.at += 1
        results: list[HclTerm] = []
        while self.skip(lines=True) != "]":
            results.append(self.expression(inside=True))
            self.comma("]")
        self.at += 1
        return HclTerm(HclForm.LIST, line, column, parts=tuple(results))

    def pairs(self) -> HclTerm:
        """Keys and values; without a comma, the end of a line ends a value."""
        line, column = self.place()
        self.at += 1
        results: list[tuple[HclTerm, HclTerm]] = []
        while self.skip(lines=True) != "}":
            key = self.key()
            if self.skip(lines=False) not in {"=", ":"}:
                raise self.error("`=`")
            self.at += 1
            self.skip(lines=False)
            results.append((key, self.expression(inside=False)))
            if self.skip(lines=False) == ",":
                self.at += 1
            elif self.skip(lines=True) != "}":
                self.line_began()
        self.at += 1
        return HclTerm(HclForm.OBJECT, line, column, parts=tuple(results))

    def line_began(self) -> None:
        """After a value without a comma, the next one must be on a separate line."""
        begun = self.starts[bisect_right(self.starts, self.at) - 1]
        if (match := _LINES.match(self.text, begun)) is None or match.end() < self.at:
            raise self.error("`,` or a new line")

    def key(self) -> HclTerm:
        """A bare name is the key itself, even if it is also a variable."""
        line, column = self.place()
        if match := _IDENT.match(self.text, self.at):
            rest = _SPACE.match(self.text, match.end())
            after = self.text[rest.end() : rest.end() + 1] if rest else ""
            if after in {"=", ":"}:
                self.at = match.end()
                self.owe(OF_A_TERM)
                return HclTerm(HclForm.LITERAL, line, column, match[0])
        return self.expression(inside=False)

    # ── skipping unknown values ──

    def over(self, *, inside: bool) -> None:
        """To the end of an expression."""
        questions = 0
        while sign := self.skip(lines=inside):
            pair = self.text[self.at : self.at + 2]
            if pair == "::" or (pair in _TWO and pair != "=>"):
                self.at += 1
            elif sign == "?":
                questions += 1
            elif sign == ":" and questions:
                questions -= 1
            elif sign in _ENDS or sign == "=" or self.text.startswith("...", self.at):
                return
            elif sign in _OPEN:
                self.balanced()
                continue
            elif self.text_here():
                continue
            self.at += 1

    def balanced(self) -> None:
        """Skips a bracket and its content."""
        self.deeper()
        end = _OPEN[self.text[self.at]]
        self.at += 1
        while (sign := self.skip(lines=True)) != end:
            if not sign or sign in _OPEN.values():
                raise self.error(f"`{end}`")
            if sign in _OPEN:
                self.balanced()
            elif not self.text_here():
                self.at += 1
        self.at += 1
        self.depth -= 1

    def text_here(self) -> bool:
        """Skips a text that starts here."""
        if self.text.startswith('"', self.at):
            self.quoted()
        elif match := _HEREDOC.match(self.text, self.at):
            self.heredoc(match)
        else:
            return False
        return True

    # ── texts ──

    def quoted(self) -> HclTerm:
        line, column = self.place()
        self.at += 1
        parts: list[Any] = []
        while not self.text.startswith('"', self.at):
            if literal := self.take(_LITERAL):
                parts.append(literal)
            elif match := _ESCAPE.match(self.text, self.at):
                self.at = match.end()
                code = match[1] or match[2]
                parts.append(
                    chr(min(int(code, 16), 0x10FFFF)) if code else _ESCAPES.get(match[3], match[3])
                )
            else:
                self.special(parts, '"')
        self.at += 1
        return HclTerm(HclForm.TEMPLATE, line, column, parts=tuple(parts))

    def special(self, parts: list[Any], what: str) -> None:
        """A character that may start a template sequence."""
        three, two = self.text[self.at : self.at + 3], self.text[self.at : self.at + 2]
        if three in {"$${", "%%{"}:
            parts.append(three[1:])
            self.at += 3
        elif two == "${":
            self.at += 2
            self.at += self.text.startswith("~", self.at)
            self.skip(lines=True)
            parts.append(self.expression(inside=True))
            self.at += self.text.startswith("~", self.at)
            self.expect("}")
        elif two == "%{":
            self.at += 1
            self.balanced()
            parts.append(None)
        elif two[:1] in {"$", "%"}:
            parts.append(two[:1])
            self.at += 1
        else:
            raise self.error(f"`{what}`")

    def heredoc(self, match: re.Match[str]) -> HclTerm:
        line, column = self.place()
        ended = re.compile(rf"^[ \t]*{re.escape(match[2])}[ \t\r]*$", re.MULTILINE)
        end = ended.search(self.text, match.end())
        if end is None:
            raise self.error(f"the line `{match[2]}` after it")
        raw = self.text[match.end() : end.start()]
        written = [each for each in raw.splitlines() if each.strip()]
        most = min((len(each) - len(each.lstrip(" \t")) for each in written), default=0)
        self.at = match.end()
        parts: list[Any] = []
        plain = re.compile(r"[^$%]+")
        while self.at < end.start():
            if literal := plain.match(self.text, self.at, end.start()):
                parts.append(literal[0])
                self.at = literal.end()
            else:
                self.special(parts, match[2])
        self.at = end.end()
        indent = most if match[1] else 0
        return HclTerm(
            HclForm.TEMPLATE, line, column, parts=tuple(parts), heredoc=True, indent=indent
        )


_MOST_DIGITS, _LARGEST = 18, 1e18
"""Python rejects an `int` of some thousand digits."""
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}


def _number(word: str) -> int | float:
    return int(word) if word.isdecimal() and len(word) <= _MOST_DIGITS else float(word)


def _plain(expression: HclTerm) -> str | int | None:
    """A literal key."""
    if expression.form is HclForm.LITERAL and isinstance(expression.value, int):
        return int(expression.value)
    if expression.form is HclForm.TEMPLATE and all(isinstance(p, str) for p in expression.parts):
        return "".join(expression.parts)
    return None
