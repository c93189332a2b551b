"""Unresolved placeholders: their values are unknown, never wrong."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from gpuyard_core.manifests.fields import UNKNOWN, PartlyKnown, PlaceholderText

_BRANCHES = (
    *("nightly", "main", "master", "trunk", "edge", "dev", "devel", "develop", "canary"),
    *("unstable", "rolling", "stable", "release"),
)
_VARIANTS = (
    *("cuda", "cu", "gpu", "nvidia", "tensorrt", "amd64", "arm64", "x86_64", "aarch64"),
    *("slim", "full", "base", "runtime", "server", "openai", "aio", "all", "ubuntu", "debian"),
)
_NUMBER = r"\d{0,3}(?:\.\d{1,2}){0,2}"
_VARIANT = rf"(?:[-_.](?:{'|'.join(_VARIANTS)})[-_]?{_NUMBER})"
_BRANCH = re.compile(rf"(?:(?:{'|'.join(_VARIANTS)})[-_.])?(?:{'|'.join(_BRANCHES)}){_VARIANT}*")
_LATEST = re.compile(r"(?:.*[-_.])?latest(?:[-_.].*)?")
_FIXED = re.compile(
    r"(?:^|[-_.])(?:v?\d+\.\d+\.\d+|\d{6,14}|(?=[a-f]*\d)[0-9a-f]{7,40}|b\d{3,6})(?:[-_.]|$)"
)
"""Part of a version, a date or a commit: a tag with one is pushed once."""
_DAILY = re.compile(r"(?:.*/)?(?:ggml-org|ggerganov)/llama\.cpp:(?:full|light|server)(?:-[a-z]+)?")
"""Images that their project rebuilds daily under tags without any of these parts."""


def is_moving_tag(image: str) -> bool:
    """Whether a reference without a digest will change its image; the default tag is `latest`."""
    name, has_tag, tag = image.rpartition("/")[2].partition(":")
    if not has_tag or not tag:
        return bool(name)
    if _DAILY.fullmatch(image):
        return True
    moved = _LATEST.fullmatch(tag) or _BRANCH.fullmatch(tag)
    return moved is not None and _FIXED.search(tag) is None


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


def image_parts(image: str) -> tuple[str, str, str]:
    """The name of an image, its tag, and its digest."""
    bare, _, digest = image.partition("@")
    folder, slash, last = bare.rpartition("/")
    name, _, tag = last.partition(":")
    return f"{folder}{slash}{name}", tag, digest


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
