"""Match items of a query result to resources."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.adopting.lookup_commands import LookupCommand
from gpuyard.preflight.probes import UNEXPECTED_FORMAT, ProbeAnswer

_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Match:
    """The item of the resource, or why there is none."""

    item: Any = None
    id: str = ""
    why: str = ""

    def at(self, path: str) -> Any:
        """The value at a path of the item."""
        return value_at(self.item, path)


def value_at(value: Any, path: str) -> Any:
    """The value at a path of field names and indices; None if absent."""
    for step in path.split(".") if path else ():
        if isinstance(value, list):
            value = value[int(step)] if step.isdigit() and int(step) < len(value) else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return value


def match_resource(
    look: LookupCommand, answer: ProbeAnswer, inputs: Mapping[str, Any], called: str, known: str
) -> Match:
    """Match by common fields; among several, by the tag Name and by the generated name.

    `called` is the name in the program, `known` the id if already known.
    """
    if answer.error:
        return Match(why=f"not found ({answer.error})")
    listed = value_at(answer.value, look.items)
    items = [listed] if isinstance(listed, Mapping) else listed
    if not isinstance(items, list):
        return Match(why=UNEXPECTED_FORMAT)
    candidates = [each for each in items if _fits(look, each, inputs)]
    for narrow, strict in _narrowing(look, inputs, called, known):
        narrowed = [each for each in candidates if narrow(each)]
        candidates = narrowed if narrowed or strict else candidates
    if len(candidates) == 1:
        return Match(candidates[0], id_of(look, candidates[0]))
    if not candidates:
        return Match(why=f"not found among {len(items)}")
    some = ", ".join(id_of(look, each) for each in candidates[:_SHOWN])
    return Match(why=f"{len(candidates)} candidates: {some}")


def id_of(look: LookupCommand, item: Any) -> str:
    """The id of an item."""
    if isinstance(item, str):
        return item
    return str(value_at(item, look.id) or "") if look.id else ""


def last_part(identity: str) -> str:
    """The last part of `lab:train` and `projects/p/global/networks/lab`."""
    return re.split(r"[:/]", identity)[-1]


def _fits(look: LookupCommand, item: Any, inputs: Mapping[str, Any]) -> bool:
    has_outputs = all(value_at(item, path) == value for path, value in look.required_values.items())
    pairs = ((value_at(inputs, name), value_at(item, at)) for name, at in look.matches.items())
    return has_outputs and all(
        expected is None or str(expected) == str(actual) for expected, actual in pairs
    )


NarrowingFilter = tuple[Callable[[Any], bool], bool]
"""Whether an item may match, and whether it matches exclusively."""


def _narrowing(
    look: LookupCommand, inputs: Mapping[str, Any], called: str, known: str
) -> Iterator[NarrowingFilter]:
    if look.listed:
        # an id with slashes, such as that of a log group, is compared as a whole
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
