"""Sources of facts: origin, date, date of the check, and a second source."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache

from gpuyard_core.catalogue.tables import FOLDER


@dataclass(frozen=True, slots=True)
class Source:
    """One origin of facts.

    `verified` is False for figures that were read second-hand, inferred or never seen on hardware;
    outputs mark such figures.
    """

    title: str
    checked_on: date
    """The date on which the source was read."""
    verified: bool = True
    as_of: date = field(kw_only=True)
    """The date of the facts: of the release or the list; without one, the date on which it was read."""
    second: str = ""
    """An independent source with the same facts; empty if none is known."""

    @property
    def formatted_date(self) -> str:
        """The date of the facts: `on 2026-07-20`; for a source without a date, when it was read."""
        dated = self.as_of != self.checked_on
        return f"on {self.as_of}" if dated else f"of unknown date, read on {self.checked_on}"

    @property
    def unverified_suffix(self) -> str:
        """The suffix of unverified figures."""
        return "" if self.verified else ", not verified"

    @staticmethod
    def from_cell(cell: str) -> "Source":
        """The source with this id, for tables."""
        return find_source(cell)


def source_ids() -> tuple[str, ...]:
    """The ids of all sources."""
    return tuple(_rows())


@cache
def find_source(id: str) -> Source:  # noqa: A002
    """The source with this id in tables/sources.csv."""
    as_of, checked_on, verified, title, second = _rows()[id]
    return Source(
        title,
        date.fromisoformat(checked_on),
        verified=verified != "no",
        as_of=date.fromisoformat(as_of),
        second=second,
    )


@cache
def _rows() -> Mapping[str, list[str]]:
    with (FOLDER / "sources.csv").open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
        return {cells[0]: cells[1:] for cells in rows}
