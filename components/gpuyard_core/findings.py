"""Diagnostics: what checks, rules, requirements and readiness checks report, with everything needed to act on it.

Every layer returns them instead of raising, so that a user sees all of them at once. Every view, as text or as
a document, reads them alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from functools import partial
from typing import Self

Path = tuple[str | int, ...]

_SHOWN = 12
"""Maximum number of names in one finding."""


class Severity(StrEnum):
    """Severity of a finding: an error stops the plan, a warning and an info do not."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """Order for `--fail-on`: a larger rank is more severe."""
        return {"info": 0, "warning": 1, "error": 2}[self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """The nearest change that removes a finding; with `at`, a program can apply it.

    `value` None with a path deletes the value at that path.
    """

    message: str
    at: Path | None = None
    value: object = None

    @classmethod
    def write(cls, value: object, at: Path) -> Self:
        """The fix that writes a value at a path."""
        return cls(message=f"write {value}", at=at, value=value)

    @classmethod
    def remove(cls, at: Path) -> Self:
        """The fix that removes the value at a path."""
        return cls(message="remove it", at=at)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One result of a check: problem, path, given value, allowed values, and fix."""

    id: str
    """Of the finding, the rule or the readiness check."""
    path: Path
    """In the `gpuyard:platform` value of the stack file, or in the object that was checked."""
    problem: str
    _: KW_ONLY
    severity: Severity
    given: str = ""
    allowed: str = ""
    fix: Fix | None = None

    @property
    def where(self) -> str:
        """The path in display form: `pools[1].sharing.mig`."""
        return show_path(self.path)

    @property
    def location(self) -> str:
        """The path in display form; "" for an object as a whole."""
        return show_path(self.path) if self.path else ""

    @property
    def fix_message(self) -> str:
        """The fix in words; "" if there is none."""
        return self.fix.message if self.fix is not None else ""

    @property
    def problem_and_fix(self) -> str:
        """The problem and the fix in one line."""
        return "; ".join(filter(None, (self.problem, self.fix_message)))

    @property
    def summary(self) -> str:
        """The id, the problem and the fix in one line."""
        return f"{self.id}: {self.problem_and_fix}"

    @property
    def docs_url(self) -> str:
        """The command that shows the page about this finding."""
        return f"gpuyard why {self.id}"

    def __str__(self) -> str:
        parts = [f"{self.where}: {self.problem}"]
        if self.given:
            parts.append(f"given: {self.given}")
        if self.allowed:
            parts.append(f"allowed: {self.allowed}")
        if self.fix_message:
            parts.append(f"fix: {self.fix_message}")
        return "\n  ".join(parts)


error = partial(Diagnostic, severity=Severity.ERROR)
"""A finding that stops the plan."""
warning = partial(Diagnostic, severity=Severity.WARNING)
"""A finding that does not stop the plan, but needs a change."""
info = partial(Diagnostic, severity=Severity.INFO)
"""A finding that only informs."""


def show_path(path: Path) -> str:
    """Format a path as `jq` does; the root is `(platform)`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif text:
            text += f".{step}"
        else:
            text = step
    return text or "(platform)"


def has_errors(findings: Iterable[Diagnostic]) -> bool:
    """True when a finding is an error."""
    return any(f.severity is Severity.ERROR for f in findings)


def sort_findings(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Most severe first, then in the order of the file; ties keep their order."""
    return sorted(findings, key=lambda f: (-f.severity.rank, _sort_key(f.path), f.id))


def _sort_key(path: Path) -> tuple[tuple[int, int, str], ...]:
    return tuple((0, s, "") if isinstance(s, int) else (1, 0, s) for s in path)


def format_findings(findings: Sequence[Diagnostic]) -> str:
    """All findings as plain text, for messages without a view of their own."""
    return "\n".join(f"{f.severity.value} {f.id} {f}" for f in sort_findings(findings))


def format_list(names: Iterable[str]) -> str:
    """`a, b, c`; of more than 12 the first, and the total."""
    every = list(names)
    more = len(every) - _SHOWN
    return ", ".join(every if more <= 1 else [*every[:_SHOWN], f"… ({len(every):,} in all)"])
