"""Comments that ignore a rule at one place: `# gpuyard: ignore GPU-TEN-02 because REASON`.

On the line itself or on the one above; `ignore-file` applies to the whole file. A comment without a reason
ignores nothing and is reported.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

_COMMENT = re.compile(
    r"(?:^|\s)(?:#|//)\s*gpuyard:\s*ignore(?P<file>-file)?\s+(?P<rules>[A-Z0-9, -]+?)"
    r"(?:\s+because\s+(?P<reason>\S.*?))?\s*$"
)
_WORD = b"gpuyard:"
_MOST = 10_000
"""Maximum number of comments per file."""
_MOST_LETTERS = 1000
"""Maximum length read on each side of the keyword."""
WHOLE_FILE = 0
"""The line under which a comment for the whole file is kept."""


@dataclass(frozen=True, slots=True)
class IgnoreComment:
    """A comment without an effect: it has no reason, or names an unknown rule."""

    file: str
    line: int
    rules: str


@dataclass(frozen=True, slots=True)
class Ignores:
    """Ignored rules by file, line and rule."""

    reasons: dict[tuple[str, int, str], str] = field(default_factory=dict)
    without_reason: tuple[IgnoreComment, ...] = ()
    rule_mentions: tuple[IgnoreComment, ...] = ()
    """Each rule that a comment names, known or not."""

    def reason(self, file: str, line: int, rule: str) -> str | None:
        """The reason why a rule is ignored at a line; None if it is not."""
        for where in (line, line - 1, WHOLE_FILE):
            if where >= WHOLE_FILE and (result := self.reasons.get((file, where, rule))):
                return result
        return None

    def __add__(self, other: "Ignores") -> "Ignores":
        return Ignores(
            self.reasons | other.reasons,
            self.without_reason + other.without_reason,
            self.rule_mentions + other.rule_mentions,
        )


NOTHING_IGNORED = Ignores()


def _lines(data: bytes) -> Iterator[tuple[int, str]]:
    """Lines that may contain a comment, with their numbers."""
    number, counted, at = 1, 0, data.find(_WORD)
    while at >= 0:
        start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        end = len(data) if end < 0 else end
        number += data.count(b"\n", counted, start)
        counted = start
        excerpt = data[max(start, at - _MOST_LETTERS) : min(end, at + _MOST_LETTERS)]
        yield number, excerpt.decode("utf-8", "replace").rstrip("\r")
        at = data.find(_WORD, end)


def parse_ignores(data: bytes, file: str) -> Ignores:
    """The comments of one file."""
    reasons: dict[tuple[str, int, str], str] = {}
    bare: list[IgnoreComment] = []
    named: list[IgnoreComment] = []
    for number, line in islice(_lines(data), _MOST):
        match = _COMMENT.search(line)
        if match is None:
            continue
        rules = match["rules"].replace(",", " ").split()
        named += [IgnoreComment(file, number, rule) for rule in rules]
        if match["reason"] is None:
            bare.append(IgnoreComment(file, number, " ".join(rules)))
            continue
        where = WHOLE_FILE if match["file"] else number
        reasons.update({(file, where, rule): match["reason"] for rule in rules})
    return Ignores(reasons, tuple(bare), tuple(named))
