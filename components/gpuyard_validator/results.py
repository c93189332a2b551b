"""What came of the checks: five outcomes, one verdict, four exit codes; what was not run is never good."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum


class Status(StrEnum):
    """The outcome of one check on one device."""

    PASS = "pass"  # noqa: S105  no password
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"
    """Not run: it does not apply, or the machine does not say what it needs."""
    ERROR = "error"
    """The check itself broke down."""


class Action(StrEnum):
    """What a node needs."""

    NONE = "none"
    INVESTIGATE = "look"
    """Somebody has to look: configuration, other people's processes, a cable."""
    RESET = "reset"
    REBOOT = "reboot"
    REPLACE = "replace"


class Code(IntEnum):
    """Exit codes of the program."""

    PASSED = 0
    FAILED = 1
    NO_GPUS = 2
    """No check applied; never where the check is required."""
    CANNOT_RUN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a check saw, what it wanted, and who says so."""

    status: Status
    value: object
    threshold: object
    source: str
    """Where the floor comes from."""
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
    """What its value is called among the figures; the check, where nothing is said."""

    @property
    def counts_against(self) -> bool:
        """True where the machine cannot be called good because of it."""
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
    """Versions that nodes of one pool should have alike, by part; several where its GPUs differ."""

    @property
    def against(self) -> tuple[Result, ...]:
        """Why it does not pass, gravest first."""
        order = list(Status)
        results = (r for r in self.results if r.counts_against)
        return tuple(
            sorted(results, key=lambda r: (order.index(r.evidence.status), r.check, r.scope))
        )

    @property
    def code(self) -> Code:
        """The exit code, and with it the verdict."""
        if self.against:
            return Code.FAILED
        if any(r.evidence.status is not Status.SKIP for r in self.results):
            return Code.PASSED
        return Code.FAILED if self.required else Code.NO_GPUS

    @property
    def verdict(self) -> str:
        """The exit code in a word."""
        return {Code.PASSED: "passed", Code.FAILED: "failed"}.get(self.code, "nothing checked")

    def count(self, status: Status) -> int:
        """How many results are of this status."""
        return sum(r.evidence.status is status for r in self.results)


def worst_action(results: Iterable[Result]) -> Action:
    """What all of them together need: one reboot also resets."""
    order = list(Action)
    return max((r.evidence.action for r in results), key=order.index, default=Action.NONE)
