"""A request, checked against the cloud's model: no unknown, missing or out-of-range field."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from testbed.plugins.cloud.opinions.bodies import model, requests

_TYPES: Mapping[str, tuple[type, ...]] = {
    "text": (str,),
    "flag": (bool,),
    "whole": (int,),
    "number": (int, float),
}


def said_against(kind: str, inputs: Mapping[str, Any]) -> list[str]:
    """Errors of a resource by the models, by operation and path."""
    cloud = model(kind.partition(":")[0])
    first = next(iter(requests(kind, inputs)), "")
    return [
        f"{call}: {each}"
        for call, body in requests(kind, inputs).items()
        for each in _walk(cloud["shapes"], cloud["calls"][call], body, "", whole=call == first)
    ]


def _walk(
    shapes: Mapping[str, Any], shape: str, value: Any, at: str, *, whole: bool = True
) -> Iterator[str]:
    """`whole` is False for a part of a request, where no field is required."""
    facts = shapes[shape]
    if "members" in facts:
        yield from _structure(shapes, facts, value, at, whole=whole)
    elif "each" in facts:
        yield from _items(shapes, facts, value, at)
    elif "values" in facts:
        yield from _mapping(shapes, facts, value, at)
    else:
        yield from _scalar(facts, value, at)


def _structure(
    shapes: Mapping[str, Any], facts: Mapping[str, Any], value: Any, at: str, *, whole: bool
) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{at}: a structure is required, not {value!r}"
        return
    for name, each in value.items():
        here = f"{at}.{name}".lstrip(".")
        if name not in facts["members"]:
            yield f"{here}: no such member; there are {', '.join(sorted(facts['members']))}"
        else:
            yield from _walk(shapes, facts["members"][name], each, here)
    for name in facts["required"] if whole else ():
        if name not in value and not _filled_in(name):
            yield f"{at}.{name}".lstrip(".") + ": required"


def _filled_in(name: str) -> bool:
    """Whether the provider or its plugin fills in this member."""
    return name in {
        *("clientRequestToken", "CreationToken", "ClientToken", "FileSystemType", "ResourceType"),
        *("tags", "VpcEndpointId"),
    }


def _items(
    shapes: Mapping[str, Any], facts: Mapping[str, Any], value: Any, at: str
) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{at}: a list is required, not {value!r}"
        return
    yield from _bounds(facts, len(value), at, "items")
    for index, each in enumerate(value):
        yield from _walk(shapes, facts["each"], each, f"{at}[{index}]")


def _mapping(
    shapes: Mapping[str, Any], facts: Mapping[str, Any], value: Any, at: str
) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{at}: a mapping is required, not {value!r}"
        return
    yield from _bounds(facts, len(value), at, "entries")
    for key, each in value.items():
        yield from _walk(shapes, facts["values"], each, f"{at}[{key}]")


def _scalar(facts: Mapping[str, Any], value: Any, at: str) -> Iterator[str]:
    if facts["is"] == "any":
        return
    if not isinstance(value, _TYPES[facts["is"]]) or (
        isinstance(value, bool) and facts["is"] != "flag"
    ):
        yield f"{at}: {facts['is']} is required, not {value!r}"
    elif "enum" in facts and value not in facts["enum"]:
        yield f"{at}: {value!r} is none of {', '.join(facts['enum'])}"
    elif "pattern" in facts and not re.search(_python(facts["pattern"]), str(value)):
        yield f"{at}: {value!r} is not of the form {facts['pattern']}"
    else:
        yield from _bounds(facts, _size(value), at, "characters" if isinstance(value, str) else "")


def _size(value: Any) -> float:
    return len(value) if isinstance(value, str) else value


_CLASSES = (
    (r"\p{L}", r"\w"),
    (r"\p{Z}", r"\s"),
    (r"\p{N}", r"\d"),
    (r"\p{M}", ""),
    (r"\p{S}", ""),
    (r"\p{P}", ""),
    (r"\p{ASCII}", r"\x00-\x7f"),
    (r"\uD800\uDC00-\uDBFF\uDFFF", r"\U00010000-\U0010ffff"),
)
"""Character classes of Java and RE2, and of Python."""


def _python(pattern: str) -> str:
    """A pattern in Python's syntax, for the whole text, as services match."""
    for theirs, ours in _CLASSES:
        pattern = pattern.replace(theirs, ours)
    return f"^(?:{pattern})$"


def _bounds(facts: Mapping[str, Any], size: float, at: str, of: str) -> Iterator[str]:
    low, high = facts.get("min"), facts.get("max")
    if (low is not None and size < low) or (high is not None and size > high):
        yield f"{at}: {size:g} {of}".rstrip() + f", {low} to {high} are allowed"
