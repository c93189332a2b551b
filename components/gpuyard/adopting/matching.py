"""Whose an item of an answer is."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.adopting.looks import CloudLook
from gpuyard.preflight.asking import NO_FORM, Answer

_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Matched:
    """The one item that is the resource's, or why there is none."""

    item: Any = None
    id: str = ""
    why: str = ""

    def at(self, path: str) -> Any:
        """What stands there in the item."""
        return value_at(self.item, path)


def value_at(value: Any, path: str) -> Any:
    """By names of fields and numbers of places; None where nothing is."""
    for step in path.split(".") if path else ():
        if isinstance(value, list):
            value = value[int(step)] if step.isdigit() and int(step) < len(value) else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return value


def matched(
    look: CloudLook, answer: Answer, inputs: Mapping[str, Any], called: str, known: str
) -> Matched:
    """By the fields that both have; of several by the tag Name, and by the name that the engine gives.

    `called` is the name in the program, `known` the id where it is known already.
    """
    if answer.error:
        return Matched(why=f"the cloud has none ({answer.error})")
    there = value_at(answer.value, look.items)
    items = [there] if isinstance(there, Mapping) else there
    if not isinstance(items, list):
        return Matched(why=NO_FORM)
    left = [each for each in items if _fits(look, each, inputs)]
    for narrow, strict in _narrowing(look, inputs, called, known):
        kept = [each for each in left if narrow(each)]
        left = kept if kept or strict else left
    if len(left) == 1:
        return Matched(left[0], id_of(look, left[0]))
    if not left:
        return Matched(why=f"the cloud has none: {len(items)} looked at")
    some = ", ".join(id_of(look, each) for each in left[:_SHOWN])
    return Matched(why=f"{len(left)} could be it: {some}")


def id_of(look: CloudLook, item: Any) -> str:
    """What the cloud calls an item."""
    if isinstance(item, str):
        return item
    return str(value_at(item, look.id) or "") if look.id else ""


def last_part(identity: str) -> str:
    """`lab:train` and `projects/p/global/networks/lab` without what they lie in."""
    return re.split(r"[:/]", identity)[-1]


def _fits(look: CloudLook, item: Any, inputs: Mapping[str, Any]) -> bool:
    said = all(value_at(item, path) == value for path, value in look.said.items())
    pairs = ((value_at(inputs, name), value_at(item, at)) for name, at in look.fits.items())
    return said and all(wanted is None or str(wanted) == str(there) for wanted, there in pairs)


Narrow = tuple[Callable[[Any], bool], bool]
"""Whether an item may be it, and whether no other may."""


def _narrowing(
    look: CloudLook, inputs: Mapping[str, Any], called: str, known: str
) -> Iterator[Narrow]:
    if look.listed:
        # an id that has slashes in itself, such as that of a log group, is there as a whole
        yield (
            lambda item: (
                id_of(look, item) == known or (last_part(id_of(look, item)) == last_part(known))
            ),
            True,
        )
    elif look.named:
        one = re.compile(rf"{re.escape(called)}(-[0-9a-f]{{7}})?")
        yield lambda item: one.fullmatch(last_part(id_of(look, item))) is not None, True
    if name := value_at(inputs, "tags.Name"):
        yield lambda item: name in _tags_name(item), False


def _tags_name(item: Any) -> list[Any]:
    tags = value_at(item, "Tags")
    return [each.get("Value") for each in tags or () if each.get("Key") == "Name"]
