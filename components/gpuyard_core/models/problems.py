"""Converts pydantic errors into findings: path, given value, allowed values, fix."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from gpuyard_core.findings import Diagnostic, Fix, Path, error
from gpuyard_core.models.values import ValueChange
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


_SHOWN = 60


def format_input(value: object) -> str:
    """The given value, shortened, on one line, without control characters."""
    text = (
        repr(value)
        if not isinstance(value, bool | None)
        else {True: "true", False: "false", None: "null"}[value]
    )
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def validation_findings(
    invalid: ValidationError, root: type[BaseModel], value: object
) -> list[Diagnostic]:
    """One finding per error, in document order; paths lead through the value as written."""
    result = invalid.errors(include_url=False)
    inner = {d["loc"][: len(d["loc"]) - i] for d in result for i in range(1, len(d["loc"]) + 1)}
    # a list with invalid items is also "too short": that is not a separate finding
    all_of_them = [
        _finding(d, root, value)
        for d in result
        if not (d["type"] == "too_short" and d["loc"] in inner)
    ]
    renamed = {path for f in all_of_them if f.id == "spec.unknown_field" for path in _provided(f)}
    return [f for f in all_of_them if f.id != "spec.missing" or f.path not in renamed]


def _provided(unknown: Diagnostic) -> list[Path]:
    """Fields that exist once a misspelled key is renamed, so that they are not also reported as missing."""
    fix = unknown.fix
    if fix is None or fix.at is None or not isinstance(fix.value, Mapping):
        return []
    return [(*fix.at, name) for name in fix.value]


def _as_written(details: ErrorDetails, value: object) -> Path:
    """The path of an error in the value as written, often shorter than in the parsed model."""
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


def _finding(details: ErrorDetails, root: type[BaseModel], value: object) -> Diagnostic:
    kind, path = details["type"], _as_written(details, value)
    context = details.get("ctx", {})
    if "problem" in context:
        fix = _own_fix(context["fix"], context["change"], path)
        problem, allowed = context["problem"], context["allowed"]
        shown = format_input(details["input"])
        return error(f"spec.{kind}", path, problem, given=shown, allowed=allowed, fix=fix)
    if kind == "extra_forbidden":
        return _unknown_key(path, _fields_at(root, path[:-1]), _at(value, path[:-1]))
    if kind == "missing":
        problem, fix = f"`{path[-1]}` is missing", Fix(message=f"add `{path[-1]}:`")
        return error("spec.missing", path, problem, fix=fix)
    explanation = explain(details)
    fix = Fix(message=explanation.fix) if explanation.fix else None
    # The given value is at the path, unless it was a shorthand or a key.
    if fix and explanation.value is not None and _at(value, path) is details["input"]:
        fix = Fix(message=explanation.fix, at=path, value=explanation.value)
    shown = format_input(details["input"])
    return error(
        explanation.id, path, explanation.problem, given=shown, allowed=explanation.allowed, fix=fix
    )


def _own_fix(fix: str, change: ValueChange | None, path: Path) -> Fix | None:
    if change is None:
        return Fix(message=fix) if fix else None
    return Fix(message=fix, at=(*path, *change[0]), value=change[1])


def _at(value: Any, path: Path) -> Any:
    """The value at a path through the value as written."""
    for step in path:
        value = value[step]
    return value


def _unknown_key(path: Path, known: list[str], parent: Any) -> Diagnostic:
    """The fix renames the key to the most similar field, or removes it if there is none."""
    key = str(path[-1])
    suggestion = nearest_name(key, known) or _completed_name(key, known)
    if suggestion is None:
        fix = Fix(message="remove it, or correct its name", at=path)
    elif suggestion in parent:
        fix = Fix(message=f"remove it: `{suggestion}` is already set", at=path)
    else:
        renamed = {suggestion if k == path[-1] else k: v for k, v in parent.items()}
        fix = Fix(message=f"write `{suggestion}`", at=path[:-1], value=renamed)
    value, allowed = format_input(key), ", ".join(known)
    return error("spec.unknown_field", path, "unknown field", given=value, allowed=allowed, fix=fix)


def _completed_name(key: str, known: list[str]) -> str | None:
    """The only field with this prefix: `after` of `after_minutes`."""
    longer = [name for name in known if name.startswith(f"{key}_")]
    return longer[0] if len(longer) == 1 else None


def _fields_at(root: type[BaseModel], path: Path) -> list[str]:
    """The field names of the model at a path."""
    result: Any = root
    for step in path:
        if isinstance(step, str):
            fields = (m.model_fields for m in models_in(result))
            result = next((f[step].annotation for f in fields if step in f), None)
    return [name for m in models_in(result) for name in m.model_fields]


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Every model in a type expression."""
    if isinstance(annotation, type) and not get_args(annotation):
        if issubclass(annotation, BaseModel) and not issubclass(annotation, Enum):
            yield annotation
        return
    if get_origin(annotation) in {Annotated, Union, UnionType, tuple, list, dict}:
        for part in get_args(annotation):
            yield from models_in(part)
