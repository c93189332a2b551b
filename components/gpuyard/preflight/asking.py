"""Questions to a cloud's own program, and its answers: a value, an error that tells something, or why not."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.findings import Finding


@dataclass(frozen=True, slots=True)
class Question:
    """One run of a program that changes nothing."""

    name: str
    about: str
    """What it is to tell, in words."""
    words: tuple[str, ...]

    @property
    def program(self) -> str:
        """Whom it is put to."""
        return self.words[0]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended: its exit code and words; or why it did not run to its end."""

    code: int = 0
    out: str = ""
    err: str = ""
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a question."""

    value: Any = None
    error: str = ""
    """The cloud's word for a refusal, such as ParameterNotFound: that is an answer too."""
    why: str = ""
    """Why nothing is known; empty where something is."""

    @property
    def is_denied(self) -> bool:
        """Nothing is known since who is signed in may not ask."""
        return self.why.startswith(_DENIED)


@dataclass(frozen=True, slots=True)
class Unasked:
    """Something that is not known: that is never the same as fine."""

    about: str
    why: str
    ours: bool = False
    """Nobody could be asked, whatever the environment: no fault of it."""


@dataclass(frozen=True, slots=True)
class Heard:
    """All that came of asking."""

    findings: tuple[Finding, ...] = ()
    unasked: tuple[Unasked, ...] = ()
    said: tuple[str, ...] = ()
    """What was asked and is as the plan wants it."""

    def __add__(self, other: "Heard") -> "Heard":
        return Heard(
            self.findings + other.findings, self.unasked + other.unasked, self.said + other.said
        )


AnswersByName = Mapping[str, Answer]
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


def read(ended: Ended) -> Answer:
    """What a program's end means."""
    if ended.failed:
        return Answer(why=ended.failed)
    if ended.code:
        return _complaint(ended.err)
    try:
        # What is asked for being there alone says nothing when it is.
        return Answer(value=json.loads(ended.out or "{}"))
    except (ValueError, RecursionError):
        return Answer(why="the program's answer is no JSON")


def _complaint(text: str) -> Answer:
    said, error = _last(text), _AWS_ERROR.search(text)
    if error is None and _NOT_THERE.search(text):
        return Answer(error=NOT_FOUND)
    judged = error.group(1) if error else text
    for reason, pattern in _REASONS.items():
        if found := re.search(pattern, judged):
            return Answer(why=f"{reason} ({said if error else _line(text, found.start())})")
    return Answer(error=error.group(1)) if error else Answer(why=said)


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
    found = at(value, *path)
    return found if isinstance(found, list) and all(isinstance(v, Mapping) for v in found) else None


NOT_FOUND = "NOT_FOUND"
"""Google's word for what is not there."""
NO_FORM = "the answer has a form that is not known"
