"""Pydantic's own errors as messages of gpuyard, with ids that stay stable when pydantic changes."""

import re
from dataclasses import dataclass
from typing import Any

from pydantic_core import ErrorDetails

from gpuyard_core.suggestions import nearest_name

_LONG = 1e6
"""Larger numbers are shown with thousands separators."""


@dataclass(frozen=True, slots=True)
class ErrorMessage:
    """The message for one error; with a value, a program can apply the fix."""

    id: str
    problem: str
    allowed: str = ""
    fix: str = ""
    value: object = None


_DAY = "a date such as 2027-03-31"
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
    "date_type": _DAY,
    "date_parsing": _DAY,
    "date_from_datetime_parsing": _DAY,
    "date_from_datetime_inexact": _DAY,
}
_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
    "finite_number": ("", "a finite number"),
}
_LENGTHS = {
    "too_short": ("min_length", "too short", "at least"),
    "string_too_short": ("min_length", "too short", "at least"),
    "too_long": ("max_length", "too long", "at most"),
    "string_too_long": ("max_length", "too long", "at most"),
}


_ONE_DECIMAL = re.compile(r"\d+\.\d")
"""Kubernetes 1.30 without quotes parses as the number 1.3."""


def explain(details: ErrorDetails) -> ErrorMessage:
    """The message for an error of pydantic."""
    kind, value, context = details["type"], details["input"], details.get("ctx", {})
    if kind in _EXPECTED:
        return _wrong_type(_EXPECTED[kind], value)
    if kind in {"enum", "literal_error"}:
        allowed = context["expected"].replace("'", "").replace(" or ", ", ")
        suggestion = nearest_name(str(value), allowed.split(", "))
        fix = f"write {suggestion}" if suggestion else ""
        return ErrorMessage("spec.unknown_word", "not a valid value", allowed, fix, suggestion)
    if kind in _BOUNDS:
        return _bound(kind, context)
    if kind in _LENGTHS:
        key, problem, word = _LENGTHS[kind]
        return ErrorMessage("spec.length", problem, f"{word} {_length(kind, context[key])}")
    if kind == "string_pattern_mismatch":
        clean = re.sub(r"[\x00-\x1f\x7f]", "", value)
        problem, allowed = "control characters in text", "printable characters"
        return ErrorMessage("spec.characters", problem, allowed, "remove them", clean or None)
    return ErrorMessage("spec.wrong_type", details["msg"][:1].lower() + details["msg"][1:])


def _wrong_type(expected: str, given: object) -> ErrorMessage:
    value: Any = None
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if expected == "text" and number:
        fix = f'write "{given}" in quotes'
        if _ONE_DECIMAL.fullmatch(str(given)):
            fix = f'write it in quotes, "{given}0" if you mean that: YAML drops the trailing zero of a number'
            return ErrorMessage("spec.wrong_type", "wrong type", expected, fix)
        return ErrorMessage("spec.wrong_type", "wrong type", expected, fix, str(given))
    if expected == "a list" and isinstance(given, str):
        return ErrorMessage("spec.wrong_type", "wrong type", expected, f"write [{given}]", [given])
    if expected == "true or false" and isinstance(given, str):
        value = _WORDS.get(given.lower())
    elif expected.endswith("number") and isinstance(given, str | float):
        value = _number(given, whole=expected == "a whole number")
    fix = "" if value is None else f"write {value}".lower()
    return ErrorMessage("spec.wrong_type", "wrong type", expected, fix, value)


def _number(value: str | float, *, whole: bool) -> float | None:
    """The number that a text or a fraction represents."""
    text = str(value).strip()
    if re.fullmatch(r"-?\d{1,12}(\.0+)?", text):
        return int(text.partition(".")[0])
    return None if whole or not re.fullmatch(r"-?\d{1,12}\.\d{1,6}", text) else float(text)


def _bound(kind: str, context: dict[str, Any]) -> ErrorMessage:
    key, word = _BOUNDS[kind]
    if key not in context:
        return ErrorMessage("spec.out_of_bounds", "out of bounds", word)
    bound = context[key]
    shown = f"{bound:g}" if bound < _LONG else f"{bound:,.0f}"
    within = key in {"ge", "le"}
    fix, value = (f"write {shown}", bound) if within else ("", None)
    return ErrorMessage("spec.out_of_bounds", "out of bounds", f"{word} {shown}", fix, value)


def _length(kind: str, count: int) -> str:
    what = "character" if kind.startswith("string") else "entry"
    plural = {"character": "characters", "entry": "entries"}
    return f"{count:,} {what if count == 1 else plural[what]}"
