"""Exports of recorded series: small functions instead of committed files."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

NOVEMBER = 1793491200
"""The start of November 2026 in UTC."""
Row = tuple[Mapping[str, str], Callable[[int], float | str | None]]
"""The labels of a series, and its value at an hour of the export; None: no sample."""


def recorded(name: str, value: Callable[[int], float | str | None] | float, **labels: str) -> Row:
    """One recorded series; `class_` is the label `class`."""
    named = {key.rstrip("_"): text for key, text in labels.items()}
    return {"__name__": name, **named}, value if callable(value) else lambda _: value


def matrix(rows: Iterable[Row], hours: int, *, start: int = NOVEMBER, step: int = 3600) -> str:
    """The response of a range query."""
    times = range(0, hours * 3600, step)
    result = [
        {
            "metric": dict(labels),
            "values": [[start + t, str(v)] for t in times if (v := value(t // 3600)) is not None],
        }
        for labels, value in rows
    ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


def write_matrix(path: Path, rows: Iterable[Row], hours: int, **rest: int) -> Path:
    """The same in a file."""
    path.write_text(matrix(rows, hours, **rest), encoding="utf-8")
    return path
