"""Errors for rejected platforms: all findings, without a traceback.

`pulumi.RunError` ends a program with its message alone. For programs in other languages the
findings become errors of the inputs that they are about (`gpuyard.resources.hosting`).
"""

from collections.abc import Sequence

import pulumi

from gpuyard_core.errors import PlanRejected, UsageError
from gpuyard_core.findings import Diagnostic, format_findings
from gpuyard_core.suggestions import nearest_name


class PlatformRejected(pulumi.RunError, PlanRejected):
    """A component rejects its arguments; `findings` lists every reason."""

    def __init__(self, what: str, findings: Sequence[Diagnostic]) -> None:
        self.findings = tuple(findings)
        super().__init__(f"{what} is rejected:\n{format_findings(findings)}")


class UnknownPart(pulumi.RunError, KeyError):
    """A platform has no pool or team of this name."""

    def __init__(self, platform: str, kind: str, name: object, known: Sequence[str]) -> None:
        suggestion = nearest_name(name, list(known)) if isinstance(name, str) else None
        message = f"{platform}.{kind}s[{name!r}]: the platform has no {kind} of this name"
        allowed = f", allowed: {', '.join(known) or f'none, it has no {kind}s'}"
        fix = f"; fix: write {suggestion!r}" if suggestion else ""
        super().__init__(message + allowed + fix)

    def __str__(self) -> str:  # KeyError shows a representation
        return str(self.args[0])


class OutputUnavailable(pulumi.RunError, UsageError):
    """An output that this kind of platform does not have."""
