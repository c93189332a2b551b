"""Short ways to write findings."""

from gpuyard.findings import Finding, Fix, Path, Severity


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
