"""Queries with a cloud's CLI, and their results: a value, a meaningful error, or why there is none."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuyard_core.findings import Diagnostic


@dataclass(frozen=True, slots=True)
class Probe:
    """One read-only command."""

    name: str
    subject: str
    """Its subject, for messages."""
    words: tuple[str, ...]
    check: "Check | None" = None
    """Findings from its result; None: the check of another query reads its result."""
    checks_failures: bool = False
    """Whether the check also reads why the query failed."""

    @property
    def program(self) -> str:
        """The CLI that runs it."""
        return self.words[0]


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Exit code and output of a command, or why it did not finish."""

    code: int = 0
    out: str = ""
    err: str = ""
    failed: str = ""


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """The result of a query."""

    value: Any = None
    error: str = ""
    """The cloud's error code, such as ParameterNotFound, which is a result too."""
    failure_reason: str = ""
    """Why the query failed; empty when it succeeded."""

    @property
    def is_denied(self) -> bool:
        """Whether the identity lacks permission for the query."""
        return self.failure_reason.startswith(_DENIED)


@dataclass(frozen=True, slots=True)
class SkippedProbe:
    """A query without a result, which never counts as ok."""

    subject: str
    reason: str
    is_expected: bool = False
    """The query is impossible in any environment."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Findings, messages and skipped queries."""

    findings: tuple[Diagnostic, ...] = ()
    skipped: tuple[SkippedProbe, ...] = ()
    messages: tuple[str, ...] = ()
    """Results that agree with the plan."""

    def __add__(self, other: "ProbeResult") -> "ProbeResult":
        return ProbeResult(
            self.findings + other.findings,
            self.skipped + other.skipped,
            self.messages + other.messages,
        )


def probe_result(*findings: Diagnostic, said: str = "") -> ProbeResult:
    """Findings, or a message when there are none."""
    return ProbeResult(findings, (), (said,) if said and not findings else ())


def skipped(subject: str, reason: str, *, is_expected: bool = False) -> ProbeResult:
    """One query without a result."""
    return ProbeResult(skipped=(SkippedProbe(subject, reason, is_expected),))


AnswersByName = Mapping[str, ProbeAnswer]
"""Results by query name."""
Check = Callable[[ProbeAnswer, AnswersByName], ProbeResult | None]
"""Findings from the result of a query and from the results of others; None: it has another form."""
RunProbes = Callable[[Sequence[Probe]], AnswersByName]
"""Runs queries concurrently, and returns a result for each."""


def list_check(check: Callable[[list[Any]], ProbeResult], *path: str) -> Check:
    """The check of the list at a path of a result."""

    def check_list(answer: ProbeAnswer, _others: AnswersByName) -> ProbeResult | None:
        listed = items(answer.value, *path)
        return None if listed is None else check(listed)

    return check_list


def evaluate(questions: Sequence[Probe], answers: AnswersByName) -> ProbeResult:
    """Findings from all results; a query without a usable one is skipped."""
    result = ProbeResult()
    for question in questions:
        if question.check is None:
            continue
        answer, found = answers[question.name], None
        if question.checks_failures or not answer.failure_reason:
            found = question.check(answer, answers)
        why = answer.failure_reason or answer.error or UNEXPECTED_FORMAT
        result += found or skipped(question.subject, why)
    return result


def skip_all(questions: Sequence[Probe], why: str, also: str) -> ProbeResult:
    """Skip all queries for one reason."""
    return ProbeResult(
        skipped=tuple(SkippedProbe(each, why) for each in (*(q.subject for q in questions), also))
    )


# ── parsing ───────────────────────────────────────────────────────────────────────────────────────
_AWS_ERROR = re.compile(r"An error occurred \(([\w.]+)\) when calling the \w+ operation")
_DENIED = "permission denied"
_REASONS = {
    "the credentials have expired": (
        "Expired|expired|Reauthentication|refreshing your current auth|invalid_grant"
    ),
    "no credentials found": (
        "Unable to locate credentials|active account selected|NoCredentials"
        "|InvalidClientTokenId|UnrecognizedClient"
    ),
    "the cloud throttles requests; try again": (
        "Throttl|TooManyRequests|RequestLimitExceeded|RESOURCE_EXHAUSTED|rateLimitExceeded"
    ),
    _DENIED: (
        "AccessDenied|UnauthorizedOperation|PERMISSION_DENIED|AuthFailure|Required '.*' permission"
        "|does not have permission"
    ),
    "the API is disabled": "SERVICE_DISABLED|has not been used in project|is not enabled",
    "the cloud is unreachable": "Could not connect|Connection was closed|Network is unreachable",
}
"""Reasons of failed queries, and the patterns of the CLIs' messages; for AWS only the error code counts."""
_NOT_THERE = re.compile(r"code=404|not found: 404|HTTPError 404")
"""gcloud's messages for "not found"."""
_COMMAND = re.compile(r"^ERROR: \(gcloud[^)]*\) ")
_SHOWN = 160


def parse_answer(ended: CommandResult) -> ProbeAnswer:
    """Parse the result of a command."""
    if ended.failed:
        return ProbeAnswer(failure_reason=ended.failed)
    if ended.code:
        return _complaint(ended.err)
    try:
        # A query for existence alone has no output on success.
        return ProbeAnswer(value=json.loads(ended.out or "{}"))
    except (ValueError, RecursionError):
        return ProbeAnswer(failure_reason="the output of the command is not JSON")


def _complaint(text: str) -> ProbeAnswer:
    message, error = _last(text), _AWS_ERROR.search(text)
    if error is None and _NOT_THERE.search(text):
        return ProbeAnswer(error=NOT_FOUND)
    judged = error.group(1) if error else text
    for reason, pattern in _REASONS.items():
        if match := re.search(pattern, judged):
            return ProbeAnswer(
                failure_reason=f"{reason} ({message if error else _line(text, match.start())})"
            )
    return ProbeAnswer(error=error.group(1)) if error else ProbeAnswer(failure_reason=message)


def _last(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return _short(lines[-1]) if lines else "no error message"


def _line(text: str, at: int) -> str:
    """The line with the error, without the command's name, so that equal reasons can be merged.

    gcloud adds long instructions on signing in.
    """
    line = text[text.rfind("\n", 0, at) + 1 :].partition("\n")[0]
    return _short(_COMMAND.sub("", line.strip()))


def _short(line: str) -> str:
    return line.rstrip(".")[:_SHOWN]


def at(value: Any, *path: str) -> Any:
    """The value at a path of a result; None if absent."""
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def items(value: Any, *path: str) -> list[Any] | None:
    """The list at a path; None if the result has another form."""
    result = at(value, *path)
    return (
        result if isinstance(result, list) and all(isinstance(v, Mapping) for v in result) else None
    )


NOT_FOUND = "NOT_FOUND"
"""Google's error code for "not found"."""
UNEXPECTED_FORMAT = "the response has an unknown format"
