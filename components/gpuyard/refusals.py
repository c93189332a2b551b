"""Short ways to write findings."""

from collections.abc import Iterable
from functools import partial

from gpuyard.findings import Finding, Fix, Path, Severity

_SHOWN = 12
"""Names in one finding: a thousand of them, in a thousand findings, help nobody."""


def listed(names: Iterable[str]) -> str:
    """`a, b, c`; of very many the first, and how many more there are."""
    every = list(names)
    more = len(every) - _SHOWN
    return ", ".join(every if more <= 1 else [*every[:_SHOWN], f"… ({len(every):,} in all)"])


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
