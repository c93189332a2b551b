"""Short ways to write findings."""

from collections.abc import Iterable

from gpuyard.findings import Finding, Fix, Path, Severity

_SHOWN = 12
"""Names in one finding: a thousand of them, in a thousand findings, help nobody."""


def listed(names: Iterable[str]) -> str:
    """`a, b, c`; of very many the first, and how many more there are."""
    every = list(names)
    more = len(every) - _SHOWN
    return ", ".join(every if more <= 1 else [*every[:_SHOWN], f"… ({len(every):,} in all)"])


def refuse(
    kind: str,
    path: Path,
    problem: str,
    *,
    given: str = "",
    allowed: str = "",
    fix: Fix | None = None,
) -> Finding:
    """A finding that stops the plan."""
    return Finding(
        id=kind,
        severity=Severity.REFUSE,
        path=path,
        problem=problem,
        given=given,
        allowed=allowed,
        fix=fix,
    )


def note(kind: str, path: Path, problem: str, *, given: str = "") -> Finding:
    """A finding that is good to know."""
    return Finding(id=kind, severity=Severity.NOTE, path=path, problem=problem, given=given)


def warn(
    kind: str,
    path: Path,
    problem: str,
    *,
    given: str = "",
    allowed: str = "",
    fix: Fix | None = None,
) -> Finding:
    """A finding that does not stop the plan, but somebody should act on."""
    return Finding(
        id=kind,
        severity=Severity.WARN,
        path=path,
        problem=problem,
        given=given,
        allowed=allowed,
        fix=fix,
    )
