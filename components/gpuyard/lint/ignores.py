"""Comments that let a rule pass at one place: `# gpuyard: ignore GPU-TEN-02 because REASON`.

On the line itself or on the one above; `ignore-file` holds for the whole file. Without a reason a comment
ignores nothing, and is said.
"""

import re
from dataclasses import dataclass, field

_COMMENT = re.compile(
    r"(?:^|\s)(?:#|//)\s*gpuyard:\s*ignore(?P<file>-file)?\s+(?P<rules>[A-Z0-9, -]+?)"
    r"(?:\s+because\s+(?P<reason>\S.*?))?\s*$"
)
WHOLE_FILE = 0
"""The line under which a comment for the whole file is kept."""


@dataclass(frozen=True, slots=True)
class NoReason:
    """A comment that does not say why."""

    file: str
    line: int
    rules: str


@dataclass(frozen=True, slots=True)
class Ignores:
    """What comments let pass, by file, line and rule."""

    reasons: dict[tuple[str, int, str], str] = field(default_factory=dict)
    without_reason: tuple[NoReason, ...] = ()

    def reason(self, file: str, line: int, rule: str) -> str | None:
        """Why a rule need not hold at a line; None when nobody says so."""
        for where in (line, line - 1, WHOLE_FILE):
            if where >= WHOLE_FILE and (found := self.reasons.get((file, where, rule))):
                return found
        return None

    def __add__(self, other: "Ignores") -> "Ignores":
        return Ignores(self.reasons | other.reasons, self.without_reason + other.without_reason)


NOTHING_IGNORED = Ignores()


def ignores_in(data: bytes, file: str) -> Ignores:
    """The comments of one file."""
    if b"gpuyard:" not in data:
        return Ignores()
    reasons: dict[tuple[str, int, str], str] = {}
    bare: list[NoReason] = []
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        match = _COMMENT.search(line)
        if match is None:
            continue
        rules = match["rules"].replace(",", " ").split()
        if match["reason"] is None:
            bare.append(NoReason(file, number, " ".join(rules)))
            continue
        where = WHOLE_FILE if match["file"] else number
        reasons.update({(file, where, rule): match["reason"] for rule in rules})
    return Ignores(reasons, tuple(bare))
