"""Unresolved placeholders: their values are unknown, never wrong."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from gpuyard_core.manifests.fields import UNKNOWN, PartlyKnown, PlaceholderText

_FORMS = re.compile(
    r"\$[({]?\w"  # of a shell, of envsubst, of Make
    r"|<[^<>]+>"
    r"|\{\{"
    r"|%\w+%"
    r"|__\w+__"
    r"|@[A-Z][A-Z0-9_]*@"
    r"|_placeholder\b"
    r"|x{5,}"
    r"|\b(?:replace[ds]?|your|change|todo|fixme|placeholder|filled)(?:\b|_)",
    re.IGNORECASE,
)


def is_placeholder(value: object) -> bool:
    """Whether text stands for a value to be filled in: `$GPUS`, `<image>`, `your-bucket`."""
    return isinstance(value, str) and _FORMS.search(value) is not None


_ALL_OF_IT = re.compile(
    r"\$\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}"  # `${X}`, `${X:=4}`, `${{ x }}`
    r"|\$\w+|\$\(\w+\)"
    r"|<[^<>]+>"
    r"|\{\{.*\}\}"
    r"|@\w+@|__\w+__|%%?\w+%%?|#\{\w+\}#"
    r"|\w+_PLACEHOLDER|(?:REPLACE|CHANGE)_?ME",
    re.DOTALL,
)


def is_entirely_placeholder(value: object) -> bool:
    """Whether text is one unresolved placeholder: its value may have any type."""
    return isinstance(value, str) and _ALL_OF_IT.fullmatch(value.strip()) is not None


def with_unknowns(value: Any, path: Sequence[str | int]) -> Any:
    """The value with unresolved placeholders replaced by UNKNOWN."""
    if is_entirely_placeholder(value):
        return UNKNOWN
    if not path:
        return _below(value)
    step, rest = path[0], path[1:]
    if isinstance(value, Mapping) and step in value:
        if not rest and is_entirely_placeholder(step):
            return _without(value, step)
        inner = with_unknowns(value[step], rest)
        return value if inner is value[step] else _like(value, {**value, step: inner})
    if isinstance(value, list | tuple) and isinstance(step, int) and 0 <= step < len(value):
        inner = with_unknowns(value[step], rest)
        if inner is not value[step]:
            return [*islice(value, step), inner, *value[step + 1 :]]
    return value


def _below(value: Any) -> Any:
    """Keeps placeholders in text fields as text: a name still identifies its object."""
    if isinstance(value, str):
        return PlaceholderText(value) if is_entirely_placeholder(value) else value
    if isinstance(value, Mapping):
        known = {
            key: _below(each) for key, each in value.items() if not is_entirely_placeholder(key)
        }
        if len(known) < len(value):
            return PartlyKnown(known)
        same = all(each is value[key] for key, each in known.items())
        return value if same else _like(value, known)
    if isinstance(value, list | tuple):
        inside = [_below(each) for each in value]
        return value if all(map(_is, inside, value)) else inside
    return value


def _is(one: object, other: object) -> bool:
    return one is other


def _without(value: Mapping[Any, Any], key: object) -> PartlyKnown:
    return PartlyKnown({name: each for name, each in value.items() if name != key})


def _like(old: Mapping[Any, Any], new: Mapping[Any, Any]) -> Mapping[Any, Any]:
    return PartlyKnown(new) if isinstance(old, PartlyKnown) else dict(new)


def repository_of(image: str) -> str:
    """The name of an image without its tag and digest."""
    name = image.partition("@")[0]
    return name[: name.rfind(":")] if ":" in name.rpartition("/")[2] else name


def is_no_image(value: str) -> bool:
    """Whether no registry can have the name: a placeholder, or a name with capital letters."""
    repository = repository_of(value)
    return is_placeholder(value) or repository != repository.lower()


_MOST_TIMES, _MORE_LETTERS = 4, 4096


def substituted(pattern: re.Pattern[str], part: Callable[[re.Match[str]], str], text: str) -> str:
    """The text with each match replaced; unchanged if the result would be many times as long.

    A few bytes of variables could otherwise expand beyond the available memory.
    """
    found: list[str] = []
    at, room = 0, _MOST_TIMES * len(text) + _MORE_LETTERS
    for match in pattern.finditer(text):
        found += (text[at : match.start()], part(match))
        at, room = match.end(), room - len(found[-1])
        if room < 0:
            return text
    return "".join((*found, text[at:]))
