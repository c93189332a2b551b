"""Results of checks: five outcomes, one verdict, four exit codes; a skipped check never counts as passed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum


class Status(StrEnum):
    """The outcome of one check on one device."""

    PASS = "pass"  # noqa: S105  no password
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"
    """Not run: it does not apply, or the machine does not report a value that it needs."""
    ERROR = "error"
    """The check itself failed with an exception."""


class Action(StrEnum):
    """What a node needs."""

    NONE = "none"
    INVESTIGATE = "look"
    """A person must investigate: configuration, processes of others, a cable."""
    RESET = "reset"
    REBOOT = "reboot"
    REPLACE = "replace"


class Code(IntEnum):
    """Exit codes of the program."""

    PASSED = 0
    FAILED = 1
    NO_GPUS = 2
    """No check applied; not possible where validation is required."""
    CANNOT_RUN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The value of a check, its threshold, and the threshold's source."""

    status: Status
    value: object
    threshold: object
    source: str
    """The source of the threshold."""
    unit: str = ""
    reason: str = ""
    action: Action = Action.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One check on one device."""

    check: str
    scope: str
    """node, or gpu 3."""
    required: bool
    evidence: Evidence
    figure: str = ""
    """Name of the value among the measurements; the check's id by default."""

    @property
    def counts_against(self) -> bool:
        """True where the result prevents a pass."""
        status = self.evidence.status
        return status in (Status.FAIL, Status.ERROR) or (self.required and status is Status.SKIP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All results of one machine."""

    node: str
    pool: str
    source: str
    driver: str
    required: bool
    results: tuple[Result, ...]
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Versions that should be equal on all nodes of a pool, by part; several where the node's GPUs differ."""

    @property
    def blocking_results(self) -> tuple[Result, ...]:
        """Why the machine does not pass, most severe first."""
        order = list(Status)
        results = (r for r in self.results if r.counts_against)
        return tuple(
            sorted(results, key=lambda r: (order.index(r.evidence.status), r.check, r.scope))
        )

    @property
    def code(self) -> Code:
        """The exit code, which determines the verdict."""
        if self.blocking_results:
            return Code.FAILED
        if any(r.evidence.status is not Status.SKIP for r in self.results):
            return Code.PASSED
        return Code.FAILED if self.required else Code.NO_GPUS

    @property
    def verdict(self) -> str:
        """The verdict in a word."""
        return {Code.PASSED: "passed", Code.FAILED: "failed"}.get(self.code, "nothing checked")

    def count(self, status: Status) -> int:
        """The number of results with this status."""
        return sum(r.evidence.status is status for r in self.results)


def worst_action(results: Iterable[Result]) -> Action:
    """The action that covers all results: a reboot also resets GPUs."""
    order = list(Action)
    return max((r.evidence.action for r in results), key=order.index, default=Action.NONE)
