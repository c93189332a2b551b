"""A finding: one thing to know about a stack file, with everything needed to act on it.

Every floor that can say no returns findings instead of raising, so that a user sees all of them at
once. A finding's path points into the `gpuyard:platform` value of the stack file.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

Path = tuple[str | int, ...]

_SHOWN = 12
"""Names in one finding: a thousand of them, in a thousand findings, help nobody."""


class Severity(StrEnum):
    """How much a finding matters: refuse stops a plan, warn and note do not."""

    REFUSE = "refuse"
    WARN = "warn"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """Order for `--fail-on`: a larger rank is worse."""
        return {"note": 0, "warn": 1, "refuse": 2}[self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """The nearest change that removes a finding; with `at`, it can be applied by a program.

    `value` None with a path means: delete what stands at that path.
    """

    says: str
    at: Path | None = None
    value: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What is wrong (or worth knowing), where, with the numbers, what is allowed, and what to do."""

    id: str
    severity: Severity
    path: Path
    problem: str
    given: str = ""
    allowed: str = ""
    fix: Fix | None = None

    @property
    def where(self) -> str:
        """The path as a reader writes it: `pools[1].sharing.mig`."""
        return show_path(self.path)

    @property
    def more(self) -> str:
        """The command that shows the page about it."""
        return f"gpuyard why {self.id}"

    def __str__(self) -> str:
        parts = [f"{self.where}: {self.problem}"]
        if self.given:
            parts.append(f"given: {self.given}")
        if self.allowed:
            parts.append(f"allowed: {self.allowed}")
        if self.fix is not None:
            parts.append(f"fix: {self.fix.says}")
        return "\n  ".join(parts)


def _found(
    severity: Severity,
    kind: str,
    path: Path,
    problem: str,
    *,
    given: str = "",
    allowed: str = "",
    fix: Fix | None = None,
) -> Finding:
    return Finding(
        id=kind,
        severity=severity,
        path=path,
        problem=problem,
        given=given,
        allowed=allowed,
        fix=fix,
    )


refuse = partial(_found, Severity.REFUSE)
"""A finding that stops the plan."""
warn = partial(_found, Severity.WARN)
"""A finding that does not stop the plan, but somebody should act on."""
note = partial(_found, Severity.NOTE)
"""A finding that is good to know."""


def show_path(path: Path) -> str:
    """Write a path the way people and `jq` do; the root is `(platform)`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif text:
            text += f".{step}"
        else:
            text = step
    return text or "(platform)"


def refused(findings: Iterable[Finding]) -> bool:
    """True when a finding stops the plan."""
    return any(f.severity is Severity.REFUSE for f in findings)


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Gravest first, then in the order of the file; ties keep their order."""
    return sorted(findings, key=lambda f: (-f.severity.rank, _sort_key(f.path), f.id))


def _sort_key(path: Path) -> tuple[tuple[int, int, str], ...]:
    return tuple((0, s, "") if isinstance(s, int) else (1, 0, s) for s in path)


def show(findings: Sequence[Finding]) -> str:
    """All findings as plain text, for messages that have no screen of their own."""
    return "\n".join(f"{f.severity.value} {f.id} {f}" for f in in_order(findings))


def listed(names: Iterable[str]) -> str:
    """`a, b, c`; of very many the first, and how many more there are."""
    every = list(names)
    more = len(every) - _SHOWN
    return ", ".join(every if more <= 1 else [*every[:_SHOWN], f"… ({len(every):,} in all)"])
