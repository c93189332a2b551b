"""What the checks of hardware hold a node against, as far as a plan can know it: for who accepts less.

The floors are the validator's (`gpuyard_validator`), which the library does not import. The table is written
from them by its test, so nothing of it is typed here.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_TABLE = Path(__file__).parent.parent / "tables" / "check_floors.json"


@dataclass(frozen=True, slots=True)
class CheckThreshold:
    """What one check asks of a node."""

    value: float
    source_text: str
    """Who says so."""


@dataclass(frozen=True, slots=True)
class AdjustableCheck:
    """A check of which a lower floor can be accepted."""

    name: str
    unit: str
    at_work: bool
    """It puts GPUs to work: the profile quick does not run it."""
    runs_in_soak: bool
    """Only the profile soak runs it."""
    thresholds: Mapping[str, tuple[float, str]]
    """By product; of collectives the most that any number of nodes must reach whose run nobody has measured."""
    rows: Mapping[str, tuple[float, str]]
    """Of collectives that somebody has measured: by product, GPUs, nodes and way."""

    def threshold_of(self, product: str, gpus: int, nodes: int, way: str) -> CheckThreshold | None:
        """The floor on such nodes; None where only the run itself can know it."""
        found = self.rows.get(row_key(product, gpus, nodes, way)) or self.thresholds.get(product)
        return CheckThreshold(*found) if found else None


def row_key(product: str, gpus: int, nodes: int, way: str) -> str:
    """A row of the table: what runs, on what."""
    return f"{product} {gpus} {nodes} {way}"


@cache
def adjustable_checks() -> Mapping[str, AdjustableCheck]:
    """By the id of the check."""
    table: Mapping[str, Any] = json.loads(_TABLE.read_text(encoding="utf-8"))
    return {
        name: AdjustableCheck(
            name=name,
            unit=each["unit"],
            at_work=each["at_work"],
            runs_in_soak=each["soak"],
            thresholds={key: (value, source) for key, (value, source) in each["floors"].items()},
            rows={key: (value, source) for key, (value, source) in each["rows"].items()},
        )
        for name, each in table.items()
    }
