"""Values as JSON documents."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from fractions import Fraction
from textwrap import indent
from typing import Any

from gpuyard_core.terminal.text import CI_COMMANDS

_DIGITS = 6
"""Decimal places of a shown float."""


def tree(value: Any) -> Any:
    """Convert to plain values: mappings, lists, strings, numbers, booleans, null."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return round(value, _DIGITS)
    if isinstance(value, Mapping):
        return {str(k): tree(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [tree(v) for v in value]
    return _special(value)


def _special(value: Any) -> Any:
    # imported here: text output needs neither the plan nor the models of the stack file
    from pydantic import BaseModel

    from gpuyard_core.models.values import Range

    if hasattr(value, "as_document"):
        return value.as_document()
    match value:
        case BaseModel():
            return tree(value.model_dump(mode="json"))
        case date():
            return value.isoformat()
        case frozenset():
            return sorted(tree(v) for v in value)
        case _ if is_dataclass(value) and not isinstance(value, Range | Fraction):
            return _record(value)
        case _:
            return str(value)


def _record(value: Any) -> Any:
    """The fields of a record and its derived values, without hidden ones."""
    from gpuyard_core.displayed import displayed_figures

    names = [
        *(f.name for f in fields(value) if "hidden" not in f.metadata),
        *displayed_figures(type(value)),
    ]
    return {name: tree(getattr(value, name)) for name in names}


def as_json(document: Any) -> str:
    """JSON in ASCII: other characters are escaped, so that it is safe to print."""
    text = json.dumps(document, indent=2)
    for sign in ("\x7f", *CI_COMMANDS):
        text = text.replace(sign, f"\\u{ord(sign[0]):04x}{sign[1:]}")
    return f"{text}\n"


def json_parts(document: Any, key: str, values: Iterable[Any]) -> Iterator[str]:
    """The same, with values for a list that is empty in the document, one after another.

    Only one value is in memory at a time. A quoted key cannot occur in a string, where quotes are escaped.
    """
    before, empty, after = as_json(document).partition(f'"{key}": []')
    depth = " " * (len(before) - len(before.rstrip(" ")))
    end = "]"
    for number, value in enumerate(values):
        text = indent(as_json(value).rstrip("\n"), f"{depth}  ")
        yield f",\n{text}" if number else f"{before}{empty[:-1]}\n{text}"
        before, empty, end = "", "", f"\n{depth}]"
    yield f"{before}{empty[:-1]}{end}{after}"
