"""Thresholds of the hardware checks that a plan can know, for accepted lower thresholds.

They are the thresholds of the validator (`gpuyard_validator`), which the library does not import. The test
of this table generates it from them.
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
    """The threshold of one check."""

    value: float
    source_text: str
    """The source of the value."""


@dataclass(frozen=True, slots=True)
class AdjustableCheck:
    """A check for which a lower threshold can be accepted."""

    name: str
    unit: str
    runs_under_load: bool
    """It tests GPUs under load: the profile quick does not run it."""
    runs_in_soak: bool
    """Only the profile soak runs it."""
    thresholds: Mapping[str, tuple[float, str]]
    """Thresholds by product; for collectives, the highest threshold of any unmeasured number of nodes."""
    rows: Mapping[str, tuple[float, str]]
    """Thresholds of measured collectives, by product, GPUs, nodes and transport."""

    def threshold_of(self, product: str, gpus: int, nodes: int, way: str) -> CheckThreshold | None:
        """The threshold on these nodes; None if it is known only at run time."""
        found = self.rows.get(row_key(product, gpus, nodes, way)) or self.thresholds.get(product)
        return CheckThreshold(*found) if found else None


def row_key(product: str, gpus: int, nodes: int, way: str) -> str:
    """The key of a measured collective."""
    return f"{product} {gpus} {nodes} {way}"


@cache
def adjustable_checks() -> Mapping[str, AdjustableCheck]:
    """Adjustable checks by id."""
    table: Mapping[str, Any] = json.loads(_TABLE.read_text(encoding="utf-8"))
    return {
        name: AdjustableCheck(
            name=name,
            unit=each["unit"],
            runs_under_load=each["at_work"],
            runs_in_soak=each["soak"],
            thresholds={key: (value, source) for key, (value, source) in each["floors"].items()},
            rows={key: (value, source) for key, (value, source) in each["rows"].items()},
        )
        for name, each in table.items()
    }
