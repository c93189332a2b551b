"""What was seen, where, and whether it is as it must be: the stuff that answers are made of."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

_SHOWN = 3
"""Of like things; a document has them all."""


class CheckStatus(StrEnum):
    """How a check is answered. What was not looked at is not passed."""

    PASS = "PASS"  # noqa: S105  a word, not a password
    FAIL = "FAIL"
    NOT_RUN = "NOT RUN"


@dataclass(frozen=True, slots=True)
class Observation:
    """One thing that was looked at, or one reason why nothing was."""

    status: CheckStatus
    location: str = ""
    """A field of the plan, or an object in the cluster."""
    value: str = ""
    reason: str = ""
    applies: bool = True


def passing(where: str, value: object) -> Observation:
    """As it must be."""
    return Observation(CheckStatus.PASS, where, str(value))


def failing(where: str, value: object, why: str) -> Observation:
    """Not as it must be."""
    return Observation(CheckStatus.FAIL, where, str(value), why)


def unknown(why: str, where: str = "", value: object = "") -> Observation:
    """Nobody can tell from here."""
    return Observation(CheckStatus.NOT_RUN, where, str(value), why)


def not_applicable(why: str) -> Observation:
    """The platform has nothing that this could be asked about."""
    return Observation(CheckStatus.NOT_RUN, reason=why, applies=False)


def observe(where: str, value: object, why: str) -> Observation:
    """Bad where there is a reason, else good."""
    return failing(where, value, why) if why else passing(where, value)


def combine(seen: Sequence[Observation]) -> CheckStatus:
    """One bad thing fails, one unknown leaves it open; nothing seen is nothing passed."""
    of_it = {each.status for each in seen}
    return next(
        (r for r in (CheckStatus.FAIL, CheckStatus.NOT_RUN, CheckStatus.PASS) if r in of_it),
        CheckStatus.NOT_RUN,
    )


def reasons(seen: Iterable[Observation], ready: CheckStatus) -> Iterator[str]:
    """Why it is answered so, each reason once with the places that it holds for."""
    places: dict[str, list[str]] = {}
    for each in seen:
        if each.status is ready and each.reason:
            places.setdefault(each.reason, []).append(each.location)
    for why, result in places.items():
        where = format_some([place for place in result if place])
        yield f"{where}: {why}" if where else why


def format_some(names: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
