"""Values that may be unknown, and their documents: typed in both directions, without guesses.

A value that a machine did not report is `Missing`, with the reason. A check that needs it calls `known()`
and is then skipped: a value that was not read cannot pass.
"""

import csv
import json
import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


class MissingReason(StrEnum):
    """Why a value is unknown."""

    UNASKED = "unasked"
    """It was not queried, or the snapshot does not contain it."""
    NOT_SUPPORTED = "not_supported"
    """The device does not support it."""
    NO_FUNCTION = "no_function"
    """The driver is too old for the query."""
    NO_LIBRARY = "no_library"
    """The image lacks a library for the query."""
    NO_PERMISSION = "no_permission"
    LOST = "lost"
    """The GPU no longer responds."""
    FAILED = "failed"
    """The query returned an error."""
    MALFORMED = "malformed"
    """The returned value is invalid."""


@dataclass(frozen=True, slots=True)
class Missing:
    """No value, and the reason."""

    reason: MissingReason
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}" if self.detail else str(self.reason)


NOT_QUERIED = Missing(MissingReason.UNASKED)
Answer: TypeAlias = Union[T, Missing]  # noqa: UP007  `Answer[int]` needs the old spelling


class UnknownValue(Exception):
    """A check needs a value that the machine did not report."""

    def __init__(self, what: str, missing: Missing) -> None:
        super().__init__(f"{what} is unknown ({missing})")
        self.missing = missing


class ReportedByOtherCheck(Exception):
    """A check is skipped because the named check has failed and reports the cause."""

    def __init__(self, check: str) -> None:
        super().__init__(f"see {check}")
        self.check = check


class Malformed(Exception):
    """An invalid document; the message starts with the field."""


def require_known(answer: Answer[T], what: str) -> T:
    """The value; without one, the check is skipped."""
    if isinstance(answer, Missing):
        raise UnknownValue(what, answer)
    return answer


def parse_json(text: str, what: str) -> object:
    """The JSON document with this name.

    Raises:
        Malformed: it is not JSON.
    """
    try:
        result: object = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise Malformed(f"{what}: not JSON: {problem}") from None
    return result


def parsed_as(schema: str, text: str, what: str) -> object:
    """The same for a document with a schema.

    Raises:
        Malformed: it is not JSON, or of another schema.
    """
    raw = parse_json(text, what)
    if isinstance(raw, dict) and raw.get("schema") != schema:
        raise Malformed(f"schema: must be {schema}, not {raw.get('schema')!r}")
    return raw


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, by column."""
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def decode(kind: Any, raw: object, place: str = "") -> Any:
    """A value of this type from JSON.

    Raises:
        Malformed: it has another type. An invalid `Answer` is `Missing` instead.
    """
    options = get_args(kind) if _is_union(kind) else (kind,)
    if Missing in options:
        return _decode_answer(next(o for o in options if o is not Missing), raw, place)
    if raw is None and types.NoneType in options:
        return None
    wanted = next(o for o in options if o is not types.NoneType)
    if is_dataclass(wanted):
        return _decode_record(wanted, raw, place)
    origin = get_origin(wanted)
    if origin is tuple:
        if not isinstance(raw, list):
            raise Malformed(f"{place}: must be a list, not {_shortened(raw)}")
        inner = get_args(wanted)[0]
        return tuple(decode(inner, each, f"{place}[{n}]") for n, each in enumerate(raw))
    if origin is Mapping:
        if not isinstance(raw, dict):
            raise Malformed(f"{place}: must be an object, not {_shortened(raw)}")
        inner = get_args(wanted)[1]
        return {str(name): decode(inner, each, f"{place}.{name}") for name, each in raw.items()}
    return _decode_plain(wanted, raw, place)


def encode(value: object) -> Any:
    """The value as JSON."""
    if isinstance(value, Missing):
        return {"missing": value.reason.value, **({"detail": value.detail} if value.detail else {})}
    if is_dataclass(value):
        return {f.name: encode(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple):
        return [encode(each) for each in value]
    if isinstance(value, Mapping):
        return {name: encode(each) for name, each in value.items()}
    return value


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a type that `decode` reads; an `Answer` has none."""
    options = get_args(kind) if _is_union(kind) else (kind,)
    if types.NoneType in options:
        wanted = next(o for o in options if o is not types.NoneType)
        return {"anyOf": [schema_of(wanted), {"type": "null"}]}
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _hints(kind)
        return {
            "type": "object",
            "additionalProperties": False,
            "required": [f.name for f in fields(kind)],
            "properties": {f.name: schema_of(hints[f.name]) for f in fields(kind)},
        }
    if get_origin(kind) is tuple:
        return {"type": "array", "items": schema_of(get_args(kind)[0])}
    if get_origin(kind) is Mapping:
        return {"type": "object", "additionalProperties": schema_of(get_args(kind)[1])}
    return {"type": _NAMES[kind]}


_NAMES = {int: "integer", float: "number", str: "string", bool: "boolean"}


_SHOWN = 40


@cache
def _hints(kind: Any) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def _decode_answer(wanted: Any, raw: object, place: str) -> Any:
    if isinstance(raw, dict) and "missing" in raw:
        try:
            return Missing(MissingReason(raw["missing"]), str(raw.get("detail", "")))
        except ValueError:
            return Missing(
                MissingReason.MALFORMED, f"{place}: unknown reason {_shortened(raw['missing'])}"
            )
    try:
        return decode(wanted, raw, place)
    except Malformed as problem:
        return Missing(MissingReason.MALFORMED, str(problem))


def _decode_record(wanted: Any, raw: object, place: str) -> Any:
    if not isinstance(raw, dict):
        raise Malformed(f"{place or 'document'}: must be an object, not {_shortened(raw)}")
    hints, fields_by_name = _hints(wanted), {f.name: f for f in fields(wanted)}
    dot = f"{place}." if place else ""
    if unexpected := sorted(set(map(str, raw)) - set(fields_by_name)):
        raise Malformed(
            f"{dot}{unexpected[0]}: unknown field; valid fields: {', '.join(fields_by_name)}"
        )
    values = {}
    for name, field in fields_by_name.items():
        if name in raw:
            values[name] = decode(hints[name], raw[name], dot + name)
        elif field.default is MISSING:
            raise Malformed(f"{dot}{name}: missing")
    return wanted(**values)


def _decode_plain(wanted: Any, raw: object, place: str) -> Any:
    if wanted is float and type(raw) is int:
        return float(raw)
    if type(raw) is not wanted or (wanted is float and raw != raw):  # noqa: PLR0124  not a number
        raise Malformed(f"{place}: must be of type {_NAMES[wanted]}, not {_shortened(raw)}")
    return raw


def _shortened(raw: object) -> str:
    text = repr(raw)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
