"""The decision tables of `rules.yaml`, and the function that evaluates them."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

Row = Mapping[str, Any]
Facts = Mapping[str, object]


@cache
def tables() -> Mapping[str, Any]:
    """The tables by name."""
    text = Path(__file__).with_name("rules.yaml").read_text(encoding="utf-8")
    result: Mapping[str, Any] = yaml.load(
        text,
        Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader),  # noqa: S506  a safe loader
    )
    return result


def matching(table: str, facts: Facts) -> Sequence[Row]:
    """The rows of a table whose conditions all hold."""
    return [row for row in tables()[table] if applies(row.get("when", {}), facts)]


def first(table: str, facts: Facts) -> Row:
    """The first row that applies; the last row of a table with an answer for everything has no conditions."""
    return matching(table, facts)[0]


def applies(when: Mapping[str, Any], facts: Facts) -> bool:
    """Whether all conditions hold: equality, one of a list, or bounds; an unknown fact is within no bounds."""
    return all(_holds(condition, facts[name]) for name, condition in when.items())


def _holds(condition: Any, fact: Any) -> bool:
    if isinstance(condition, Mapping):
        return fact is not None and (
            condition.get("min", fact) <= fact <= condition.get("max", fact)
        )
    return fact in condition if isinstance(condition, list) else fact == condition
