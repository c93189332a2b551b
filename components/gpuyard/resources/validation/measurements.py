"""What was measured on the nodes of a pool, out of the last words of the pods that looked at them.

Last words are written by a program on a node: what of them becomes an output is a number, or a short text,
and no more of them than there are checks.
"""

import json
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, TypedDict

BEGINS = "figures: "
"""The line for programs; gpuyard_validator's report writes it."""
DEFERRED = "deferred"
"""The verdict of a check that could not run because teams use its pool begins so."""
MOST_CHECKS = 100
MOST_LETTERS = 160


class Measurement(TypedDict):
    """One check that comes to a number, over all devices of all nodes of a pool."""

    least: float
    """The lowest value that was seen."""
    most: float
    """The highest."""
    floor: float | None
    """What it was held against; null where that is no number, or not the same on each device."""
    unit: str
    """What both are counted in."""
    source: str
    """Who says so of the floor."""
    nodes: int
    """Of how many nodes it is known."""


def readable_lines(message: str) -> list[str]:
    """The lines of last words that people read."""
    return [line for line in message.strip().splitlines() if not line.startswith(BEGINS)]


def parse_measurements(messages: Iterable[str]) -> dict[str, Measurement]:
    """The figures of all nodes in one; what nobody can read counts as not said."""
    results: dict[str, Measurement] = {}
    for message in messages:
        for check, one in _parse_message(message).items():
            known = results.get(check)
            if known is not None:
                results[check] = _both(known, one)
            elif len(results) < MOST_CHECKS:
                results[check] = one
    return results


def measurements_text(messages: Iterable[str]) -> str:
    """The same as it is kept."""
    return json.dumps(parse_measurements(messages), sort_keys=True)


def recorded_measurements(text: object) -> dict[str, Measurement]:
    """What is kept; nothing where it was written before figures were, or by somebody else."""
    try:
        raw = json.loads(str(text))
    except ValueError:
        return {}
    return raw if isinstance(raw, dict) else {}


def _both(one: Measurement, other: Measurement) -> Measurement:
    return {
        "least": min(one["least"], other["least"]),
        "most": max(one["most"], other["most"]),
        "floor": one["floor"] if one["floor"] == other["floor"] else None,
        "unit": one["unit"],
        "source": one["source"],
        "nodes": one["nodes"] + other["nodes"],
    }


def _parse_message(message: str) -> dict[str, Measurement]:
    line = next((each for each in message.splitlines() if each.startswith(BEGINS)), "")
    try:
        raw = json.loads(line.removeprefix(BEGINS))
        rows, sources = raw["checks"].items(), raw["sources"]
        return {_short(check): _figure(row, sources) for check, row in rows}
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return {}


def _figure(row: Any, sources: Any) -> Measurement:
    """One of them.

    Raises:
        ValueError, TypeError, IndexError: it is none.
    """
    least, most, floor, unit, source = row
    return {
        "least": _number(least),
        "most": _number(most),
        "floor": None if floor is None else _number(floor),
        "unit": _short(unit),
        "source": _short(sources[source]),
        "nodes": 1,
    }


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"{value!r} is no figure")
    return value


def _short(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{text!r} is no text")
    return text[:MOST_LETTERS]


def termination_message(pod: Mapping[str, Any]) -> str:
    """What the container of a pod that has ended wrote at last; empty where it did not."""
    for container in (pod.get("status") or {}).get("containerStatuses") or []:
        ended = (container.get("state") or {}).get("terminated") or {}
        if message := str(ended.get("message") or "").strip():
            return message
    return ""
