"""Measured values of a pool's nodes, from the termination messages of the validation pods.

A program on a node writes these messages, so only numbers and short texts become outputs, and at
most one for each check.
"""

import json
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, TypedDict

FIGURES_START = '{"schema":"gpuyard.dev/figures/v1",'
"""Beginning of the machine-readable line; gpuyard_validator's report writes it."""
DEFERRED = "deferred"
"""Prefix of the verdict of a check that could not run because teams use its pool."""
MOST_CHECKS = 100
MOST_LETTERS = 160


class Measurement(TypedDict):
    """The measured value of one check, over all devices of all nodes of a pool."""

    least: float
    """The lowest measured value."""
    most: float
    """The highest."""
    floor: float | None
    """The threshold; null if it is not a number, or differs between devices."""
    unit: str
    """Unit of both values."""
    source: str
    """Source of the threshold."""
    nodes: int
    """Number of nodes with a measured value."""


def readable_lines(message: str) -> list[str]:
    """The human-readable lines of a termination message."""
    return [line for line in message.strip().splitlines() if not line.startswith(FIGURES_START)]


def figures_document(message: str) -> Any:
    """The machine-readable line of a termination message; ValueError if it has none."""
    return json.loads(next((x for x in message.splitlines() if x.startswith(FIGURES_START)), ""))


def parse_measurements(messages: Iterable[str]) -> dict[str, Measurement]:
    """The combined values of all nodes; unreadable ones are ignored."""
    results: dict[str, Measurement] = {}
    for message in messages:
        for check, one in _parse_message(message).items():
            known = results.get(check)
            if known is not None:
                results[check] = _both(known, one)
            elif len(results) < MOST_CHECKS:
                results[check] = one
    return results


def recorded_text(values: Mapping[str, object]) -> str:
    """Values of a pool, as its verdict records them."""
    return json.dumps(values, sort_keys=True)


def recorded_values(text: object) -> dict[str, Any]:
    """The recorded values; {} if an earlier version or another program wrote the text."""
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
    try:
        raw = figures_document(message)
        rows, sources = raw["checks"].items(), raw["sources"]
        return {short_text(check): _figure(row, sources) for check, row in rows}
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return {}


def _figure(row: Any, sources: Any) -> Measurement:
    """Parse one value.

    Raises:
        ValueError, TypeError, KeyError, IndexError: it is invalid.
    """
    floor = row["floor"]
    return {
        "least": _number(row["min"]),
        "most": _number(row["max"]),
        "floor": None if floor is None else _number(floor),
        "unit": short_text(row["unit"]),
        "source": short_text(sources[row["source"]]),
        "nodes": 1,
    }


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"{value!r} is not a number")
    return value


def short_text(text: object) -> str:
    """A text of a node, cut; TypeError if it is none."""
    if not isinstance(text, str):
        raise TypeError(f"{text!r} is not a string")
    return text[:MOST_LETTERS]


def termination_message(pod: Mapping[str, Any]) -> str:
    """The termination message of a pod's container; "" if it has none."""
    for container in (pod.get("status") or {}).get("containerStatuses") or []:
        ended = (container.get("state") or {}).get("terminated") or {}
        if message := str(ended.get("message") or "").strip():
            return message
    return ""
