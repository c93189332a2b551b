"""Thresholds of checks, each with its source, from the tables in `data`.

gpus.csv has a row for each product, as GPU Feature Discovery writes its name: each cell is a value and the
key of its source. limits.csv has the thresholds of all products or of an architecture, sources.csv the
sources: `verified` says whether it was measured on hardware; the others come from vendor tables, or are
derived. `confirmed` is no where no second source confirms a measurement: a lower value is then a warning.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from gpuyard_validator.values import read_table

DATA = Path(__file__).with_name("data")


class Quantity(StrEnum):
    """The quantity of a threshold; its value names the unit."""

    PCIE_GENERATION = "generation"
    PCIE_WIDTH = "lanes"
    NVLINK_RATE = "GB/s per link"
    MAX_SM_CLOCK = "MHz"
    MEMORY_SHARE = "of nominal"
    RETIRED_PAGES = "pages"
    REMAPPED_ROWS = "rows"
    UTILIZATION = "%"
    POWER_SHARE = "of its limit"


@dataclass(frozen=True, slots=True)
class Source:
    """The source, and the date when it was read."""

    title: str
    read_on: str
    is_verified: bool
    is_confirmed: bool

    def __str__(self) -> str:
        return f"{self.title} ({self.read_on})"


@dataclass(frozen=True, slots=True)
class Threshold:
    """One value: a minimum, or a maximum where its quantity counts damage."""

    value: float
    source: Source

    @property
    def source_text(self) -> str:
        """The source, as reports show it."""
        doubt = "" if self.source.is_verified else ", not measured on hardware"
        return f"{self.source.title} ({self.source.read_on}{doubt})"


@cache
def sources() -> Mapping[str, Source]:
    """All sources by key."""
    return {
        row["key"]: Source(
            row["title"], row["read_on"], row["verified"] == "yes", row["confirmed"] == "yes"
        )
        for row in read_table(DATA / "sources.csv")
    }


@cache
def gpus() -> Mapping[str, Mapping[str, Threshold]]:
    """The known values of each product, by column."""
    return {
        row["product"]: {
            column: _threshold(*cell.split())
            for column, cell in row.items()
            if cell and column not in {"product", "note"}
        }
        for row in read_table(DATA / "gpus.csv")
    }


@cache
def limits() -> Mapping[tuple[str, str], Threshold]:
    """The thresholds of all products (an empty name) or of an architecture, by quantity and name."""
    return {
        (row["quantity"], row["of"]): _threshold(row["value"], row["source"])
        for row in read_table(DATA / "limits.csv")
    }


def _threshold(value: str, source: str) -> Threshold:
    return Threshold(int(value) if value.isdecimal() else float(value), sources()[source])


def threshold_of(quantity: Quantity, product: str = "") -> Threshold | None:
    """The threshold of a product or architecture, otherwise the common one; None without either."""
    name = quantity.name.lower()
    return (
        gpus().get(product, {}).get(name)
        or limits().get((name, product))
        or limits().get((name, ""))
    )


def common(quantity: Quantity) -> Threshold:
    """The threshold of all products."""
    return limits()[quantity.name.lower(), ""]
