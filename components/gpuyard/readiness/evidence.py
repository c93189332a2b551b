"""What was seen, where, and whether it is as it must be: the stuff that answers are made of."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

_SHOWN = 3
"""Of like things; a document has them all."""


class Ready(StrEnum):
    """How a check is answered. What was not looked at is not passed."""

    PASS = "PASS"  # noqa: S105  a word, not a password
    FAIL = "FAIL"
    NOT_RUN = "NOT RUN"


@dataclass(frozen=True, slots=True)
class ThingSeen:
    """One thing that was looked at, or one reason why nothing was."""

    ready: Ready
    where: str = ""
    """A field of the plan, or an object in the cluster."""
    value: str = ""
    why: str = ""
    applies: bool = True


def good(where: str, value: object) -> ThingSeen:
    """As it must be."""
    return ThingSeen(Ready.PASS, where, str(value))


def bad(where: str, value: object, why: str) -> ThingSeen:
    """Not as it must be."""
    return ThingSeen(Ready.FAIL, where, str(value), why)


def unknown(why: str, where: str = "", value: object = "") -> ThingSeen:
    """Nobody can tell from here."""
    return ThingSeen(Ready.NOT_RUN, where, str(value), why)


def outside(why: str) -> ThingSeen:
    """The platform has nothing that this could be asked about."""
    return ThingSeen(Ready.NOT_RUN, why=why, applies=False)


def judged(where: str, value: object, why: str) -> ThingSeen:
    """Bad where there is a reason, else good."""
    return bad(where, value, why) if why else good(where, value)


def together(seen: Sequence[ThingSeen]) -> Ready:
    """One bad thing fails, one unknown leaves it open; nothing seen is nothing passed."""
    of_it = {each.ready for each in seen}
    return next((r for r in (Ready.FAIL, Ready.NOT_RUN, Ready.PASS) if r in of_it), Ready.NOT_RUN)


def reasons(seen: Iterable[ThingSeen], ready: Ready) -> Iterator[str]:
    """Why it is answered so, each reason once with the places that it holds for."""
    places: dict[str, list[str]] = {}
    for each in seen:
        if each.ready is ready and each.why:
            places.setdefault(each.why, []).append(each.where)
    for why, found in places.items():
        where = some([place for place in found if place])
        yield f"{where}: {why}" if where else why


def some(names: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
