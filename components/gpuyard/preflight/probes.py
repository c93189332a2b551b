"""Questions to a cloud's own program, and its answers: a value, an error that tells something, or why not."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.findings import Finding


@dataclass(frozen=True, slots=True)
class Probe:
    """One run of a program that changes nothing."""

    name: str
    subject: str
    """What it is to tell, in words."""
    words: tuple[str, ...]

    @property
    def program(self) -> str:
        """Whom it is put to."""
        return self.words[0]


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a program ended: its exit code and words; or why it did not run to its end."""

    code: int = 0
    out: str = ""
    err: str = ""
    failed: str = ""


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """What came of a question."""

    value: Any = None
    error: str = ""
    """The cloud's word for a refusal, such as ParameterNotFound: that is an answer too."""
    failure_reason: str = ""
    """Why nothing is known; empty where something is."""

    @property
    def is_denied(self) -> bool:
        """Nothing is known since who is signed in may not ask."""
        return self.failure_reason.startswith(_DENIED)


@dataclass(frozen=True, slots=True)
class SkippedProbe:
    """Something that is not known: that is never the same as fine."""

    subject: str
    reason: str
    is_expected: bool = False
    """Nobody could be asked, whatever the environment: no fault of it."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """All that came of asking."""

    findings: tuple[Finding, ...] = ()
    skipped: tuple[SkippedProbe, ...] = ()
    messages: tuple[str, ...] = ()
    """What was asked and is as the plan wants it."""

    def __add__(self, other: "ProbeResult") -> "ProbeResult":
        return ProbeResult(
            self.findings + other.findings,
            self.skipped + other.skipped,
            self.messages + other.messages,
        )


AnswersByName = Mapping[str, ProbeAnswer]
"""By the name of the question."""

# ── reading ───────────────────────────────────────────────────────────────────────────────────────
_AWS_ERROR = re.compile(r"An error occurred \(([\w.]+)\) when calling the \w+ operation")
_DENIED = "not allowed to ask"
_REASONS = {
    "the sign-in has ended": (
        "Expired|expired|Reauthentication|refreshing your current auth|invalid_grant"
    ),
    "nobody is signed in": (
        "Unable to locate credentials|active account selected|NoCredentials"
        "|InvalidClientTokenId|UnrecognizedClient"
    ),
    "the cloud wants fewer questions; ask again": (
        "Throttl|TooManyRequests|RequestLimitExceeded|RESOURCE_EXHAUSTED|rateLimitExceeded"
    ),
    _DENIED: (
        "AccessDenied|UnauthorizedOperation|PERMISSION_DENIED|AuthFailure|Required '.*' permission"
        "|does not have permission"
    ),
    "the API is off": "SERVICE_DISABLED|has not been used in project|is not enabled",
    "the cloud was not reached": "Could not connect|Connection was closed|Network is unreachable",
}
"""Why nothing is known, and how the clouds' programs say so; of AWS the word of its error alone counts."""
_NOT_THERE = re.compile(r"code=404|not found: 404|HTTPError 404")
"""How gcloud says that there is no such thing."""
_COMMAND = re.compile(r"^ERROR: \(gcloud[^)]*\) ")
_SHOWN = 160


def parse_answer(ended: CommandResult) -> ProbeAnswer:
    """What a program's end means."""
    if ended.failed:
        return ProbeAnswer(failure_reason=ended.failed)
    if ended.code:
        return _complaint(ended.err)
    try:
        # What is asked for being there alone says nothing when it is.
        return ProbeAnswer(value=json.loads(ended.out or "{}"))
    except (ValueError, RecursionError):
        return ProbeAnswer(failure_reason="the program's answer is no JSON")


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
    return _short(lines[-1]) if lines else "no word why"


def _line(text: str, at: int) -> str:
    """The line that says it, without the command's name, so that one reason is said once of all questions.

    gcloud goes on for a screen with how to sign in.
    """
    line = text[text.rfind("\n", 0, at) + 1 :].partition("\n")[0]
    return _short(_COMMAND.sub("", line.strip()))


def _short(line: str) -> str:
    return line.rstrip(".")[:_SHOWN]


def at(value: Any, *path: str) -> Any:
    """What stands at a path of an answer; None where it leads nowhere."""
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def items(value: Any, *path: str) -> list[Any] | None:
    """The list that stands there; None where the answer has another form."""
    result = at(value, *path)
    return (
        result if isinstance(result, list) and all(isinstance(v, Mapping) for v in result) else None
    )


NOT_FOUND = "NOT_FOUND"
"""Google's word for what is not there."""
UNEXPECTED_FORMAT = "the answer has a form that is not known"
