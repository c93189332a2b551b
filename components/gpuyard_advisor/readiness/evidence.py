"""Observations of checks, and the diagnostics that they become."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gpuyard_core.findings import Diagnostic, Severity

_SHOWN = 3
"""Maximum names shown; JSON has all."""


class CheckStatus(StrEnum):
    """Status of a check. NOT RUN is not passed."""

    PASS = "PASS"  # noqa: S105  a word, not a password
    FAIL = "FAIL"
    NOT_RUN = "NOT RUN"


SEVERITIES = {
    CheckStatus.PASS: Severity.INFO,
    CheckStatus.FAIL: Severity.ERROR,
    CheckStatus.NOT_RUN: Severity.WARNING,
}
"""The severity of a diagnostic by the status that it states."""
STATUSES = {severity: status for status, severity in SEVERITIES.items()}


@dataclass(frozen=True, slots=True)
class Observation:
    """One observation, or one reason why there is none, before its check gives it an id."""

    status: CheckStatus
    location: str = ""
    """A field of the plan, or an object in the cluster."""
    value: str = ""
    reason: str = ""
    applies: bool = True

    def diagnostic(self, check: str) -> Diagnostic:
        """The diagnostic of a check; its problem is the reason, and "" if it passes."""
        path, severity = (self.location,) if self.location else (), SEVERITIES[self.status]
        return Diagnostic(check, path, self.reason, severity=severity, given=self.value)


def passing(where: str, value: object) -> Observation:
    """An observation that passes."""
    return Observation(CheckStatus.PASS, where, str(value))


def failing(where: str, value: object, why: str) -> Observation:
    """An observation that fails."""
    return Observation(CheckStatus.FAIL, where, str(value), why)


def unknown(why: str, where: str = "", value: object = "") -> Observation:
    """An observation that cannot be evaluated."""
    return Observation(CheckStatus.NOT_RUN, where, str(value), why)


def not_applicable(why: str) -> Observation:
    """The check does not apply to the platform."""
    return Observation(CheckStatus.NOT_RUN, reason=why, applies=False)


def observe(where: str, value: object, why: str) -> Observation:
    """A failing observation if `why` is set, else a passing one."""
    return failing(where, value, why) if why else passing(where, value)


def combine(statuses: Iterable[CheckStatus]) -> CheckStatus:
    """One failure fails the check, one unknown or no observation leaves it NOT RUN."""
    of_it = set(statuses)
    return next(
        (r for r in (CheckStatus.FAIL, CheckStatus.NOT_RUN, CheckStatus.PASS) if r in of_it),
        CheckStatus.NOT_RUN,
    )


def reasons(seen: Iterable[Diagnostic], ready: CheckStatus) -> Iterator[str]:
    """The reasons of a status, each once with its locations."""
    places: dict[str, list[str]] = {}
    for each in seen:
        if each.severity is SEVERITIES[ready] and each.problem:
            places.setdefault(each.problem, []).append(each.location)
    for why, result in places.items():
        where = format_some([place for place in result if place])
        yield f"{where}: {why}" if where else why


def format_some(names: Sequence[str]) -> str:
    """The first names, and the number of others."""
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
