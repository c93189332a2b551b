"""Turns what pydantic says into findings: one path, what was given, what is allowed, what to do."""

import difflib
from collections.abc import Iterator, Mapping
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from gpuyard.findings import Finding, Fix, Path, Severity

_SHOWN = 60
_LONG = 1e6
"""From here on numbers are shown with thousands separated."""


def show_given(value: object) -> str:
    """A value as it was given, short, on one line, with nothing that could drive a terminal."""
    text = (
        repr(value)
        if not isinstance(value, bool | None)
        else {True: "true", False: "false", None: "null"}[value]
    )
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def nearest(word: str, known: Iterator[str] | tuple[str, ...] | list[str]) -> str | None:
    """The known word most like this one, None when none is near."""
    options = list(known)
    by_lower = {option.lower(): option for option in options}
    found = difflib.get_close_matches(word.lower()[:100], list(by_lower), n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


def findings_of(error: ValidationError, root: type[BaseModel], value: object) -> list[Finding]:
    """One finding per error, in the order of the document; paths lead through the value as it was written."""
    found = error.errors(include_url=False)
    inner = {d["loc"][: len(d["loc"]) - i] for d in found for i in range(1, len(d["loc"]) + 1)}
    # a list whose items were refused is then also "too short": that is no finding of its own
    return [
        _finding(d, root, _as_written(d, value))
        for d in found
        if not (d["type"] == "too_short" and d["loc"] in inner)
    ]


def _as_written(details: ErrorDetails, value: object) -> Path:
    """Where an error is in the value as a person wrote it, often shorter than what it was read as."""
    written: list[str | int] = []
    here: Any = value
    for step in details["loc"]:
        if isinstance(here, Mapping):
            if step in here or (details["type"] == "missing" and step == details["loc"][-1]):
                written.append(step)
                here = here.get(step)
        elif isinstance(here, list | tuple) and isinstance(step, int):
            written.append(step)
            here = here[step]
    return tuple(written)


def _finding(details: ErrorDetails, root: type[BaseModel], path: Path) -> Finding:
    kind, given = details["type"], details["input"]
    context = details.get("ctx", {})
    if "problem" in context:
        return _made(
            f"spec.{kind}", path, context["problem"], given, context["allowed"], context["fix"]
        )
    if kind == "extra_forbidden":
        return _unknown_key(path, _fields_at(root, path[:-1]))
    if kind == "missing":
        return _made(
            "spec.missing",
            path,
            f"`{path[-1]}` is missing",
            None,
            "",
            f"add `{path[-1]}:`",
            show=False,
        )
    return _made(f"spec.{kind}", path, *_plain(details))


def _made(
    kind: str, path: Path, problem: str, given: object, allowed: str, fix: str, *, show: bool = True
) -> Finding:
    return Finding(
        id=kind,
        severity=Severity.REFUSE,
        path=path,
        problem=problem,
        given=show_given(given) if show else "",
        allowed=allowed,
        fix=Fix(says=fix) if fix else None,
    )


def _unknown_key(path: Path, known: list[str]) -> Finding:
    key = str(path[-1])
    near = nearest(key, known)
    return Finding(
        id="spec.unknown_field",
        severity=Severity.REFUSE,
        path=path,
        problem="unknown field",
        given=show_given(key),
        allowed=", ".join(known),
        fix=Fix(
            says=f"write `{near}`" if near else "remove it, or correct its name",
            at=None if near else path,
        ),
    )


_EXPECTED = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "dict_type": "a mapping (key: value)",
    "model_type": "a mapping (key: value)",
    "model_attributes_type": "a mapping (key: value)",
    "tuple_type": "a list",
    "list_type": "a list",
}


def _plain(details: ErrorDetails) -> tuple[str, object, str, str]:
    """Problem, given, allowed, fix for the errors that pydantic itself knows."""
    kind, given, context = details["type"], details["input"], details.get("ctx", {})
    if kind in _EXPECTED:
        fix = (
            f'write "{given}" in quotes'
            if kind == "string_type" and isinstance(given, int | float)
            else ""
        )
        return "wrong type", given, _EXPECTED[kind], fix
    if kind in {"enum", "literal_error"}:
        allowed = context["expected"].replace("'", "").replace(" or ", ", ")
        near = nearest(str(given), allowed.split(", "))
        return "not one of the known words", given, allowed, f"write {near}" if near else ""
    if kind in {"greater_than_equal", "greater_than", "less_than_equal", "less_than"}:
        return "out of bounds", given, _bound(kind, context), ""
    if kind in {"too_short", "too_long", "string_too_long", "string_too_short"}:
        return details["msg"][:1].lower() + details["msg"][1:], given, "", ""
    if kind == "string_pattern_mismatch":
        return "control characters in text", given, "printable characters", "remove them"
    return details["msg"], given, "", ""


def _bound(kind: str, context: dict[str, Any]) -> str:
    word = {
        "greater_than_equal": "at least",
        "greater_than": "more than",
        "less_than_equal": "at most",
        "less_than": "less than",
    }
    key = {
        "greater_than_equal": "ge",
        "greater_than": "gt",
        "less_than_equal": "le",
        "less_than": "lt",
    }
    bound = context[key[kind]]
    return f"{word[kind]} {bound:g}" if bound < _LONG else f"{word[kind]} {bound:,.0f}"


def _fields_at(root: type[BaseModel], path: Path) -> list[str]:
    """The field names of the model that a path leads to."""
    found: Any = root
    for step in path:
        if isinstance(step, str):
            fields = (m.model_fields for m in models_in(found))
            found = next((f[step].annotation for f in fields if step in f), None)
    return [name for m in models_in(found) for name in m.model_fields]


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Every model named inside a type expression."""
    if isinstance(annotation, type) and not get_args(annotation):
        if issubclass(annotation, BaseModel) and not issubclass(annotation, Enum):
            yield annotation
        return
    if get_origin(annotation) in {Annotated, Union, UnionType, tuple, list, dict}:
        for part in get_args(annotation):
            yield from models_in(part)
