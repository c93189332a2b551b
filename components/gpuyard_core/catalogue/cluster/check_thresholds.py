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

from gpuyard_core.catalogue.sources import Source, find_source

ASKED = 0.5
"""The share of the speed sold: a lower speed means a fault, not other readers."""
STREAMS = 8
"""Parallel streams with which the check reads (gpuyard_validator)."""
TIB = 1024
"""GiB."""
_MIB = 1.048576
"""MB."""
_EFS = find_source("store-speeds.efs")
_LUSTRE = find_source("store-speeds.lustre")
_MANAGED = find_source("store-speeds.managed")
_FILESTORE = find_source("store-speeds.filestore")
_OBJECTS = find_source("store-speeds.objects")
_CLIENT = find_source("store-speeds.client")


@dataclass(frozen=True, slots=True)
class StoreSpeed:
    """The maximum read speed of one node, with its source."""

    mb_per_s: float
    source: Source


PER_TIB: Mapping[str, float] = {"scratch": 200.0}
"""MB/s for each TiB of FSx for Lustre tiers whose throughput is not purchased separately."""
_ONE_CLIENT = 450 * _MIB
_EFS_CLIENT = 500 * _MIB
_LARGE = 10 * TIB
NODE = StoreSpeed(1250.0, _CLIENT)
"""The maximum that is required of any node."""


def sold_speed(
    kind: str, tier: str | None, size_gib: int | None, throughput: int | None
) -> StoreSpeed | None:
    """The speed of a store by its kind, tier, size and purchased throughput; None if it is not sold."""
    size = size_gib or 0
    match kind:
        case "efs":
            bought = throughput * _MIB if throughput else _EFS_CLIENT
            return StoreSpeed(min(bought, _EFS_CLIENT), _EFS)
        case "fsx-lustre":
            each = throughput or PER_TIB[str(tier)]
            return StoreSpeed(each * size / TIB, _LUSTRE)
        case "managed-lustre":
            return StoreSpeed((throughput or 0) * size / TIB, _MANAGED)
        case "filestore":
            return StoreSpeed(_filestore(tier, size), _FILESTORE)
        case "bucket":
            return StoreSpeed(85.0 * STREAMS, _OBJECTS)
        case _:
            return None


def _filestore(tier: str | None, size: int) -> float:
    match tier:
        case "basic-ssd":
            return 1200 * _MIB
        case "basic-hdd":
            return (180 if size >= _LARGE else 100) * _MIB
        case _:
            each = 70.5 if size >= _LARGE else 94.0
            return min(each * _MIB * size / TIB, _ONE_CLIENT)


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
