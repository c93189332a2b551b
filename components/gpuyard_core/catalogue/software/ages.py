"""Ages of facts that change over time: by kind, the oldest row, its date and the age limit.

Nothing here reads the clock: the caller passes the date.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard_core.catalogue.sources import Source, find_source, source_ids

LIMITS: Mapping[str, int] = {"prices": 90, "bulletins": 45, "pins": 90, "support windows": 180}
"""Age limits in days, by kind of facts."""
_SOURCES: Mapping[str, tuple[str, ...]] = {
    "prices": (
        "commitments.",
        "fees.",
        "regions.",
        "ec2-offers",
        "ec2-spot",
        "gce-offers",
        "gce-lists",
    ),
    "bulletins": ("cves.advisories",),
    "pins": ("pins.", "eks-nodes.releases"),
    "support windows": ("support.",),
}
"""The sources of each kind, by the beginning of their id."""


@dataclass(frozen=True, slots=True)
class OldestFact:
    """The oldest row of one kind, as of a date."""

    kind: str
    row: str
    """The name of its source."""
    as_of: date
    days: int

    @property
    def limit(self) -> int:
        """The maximum age in days of a row of this kind."""
        return LIMITS[self.kind]

    @property
    def is_stale(self) -> bool:
        """Whether the row is older than the limit."""
        return self.days > self.limit


def dated_sources_by_kind() -> Mapping[str, Mapping[str, Source]]:
    """Sources whose age counts, by kind and name."""
    return {
        kind: {_name(each): find_source(each) for each in source_ids() if each.startswith(ids)}
        for kind, ids in _SOURCES.items()
    }


def _name(source: str) -> str:
    """`regions.EC2_REGION_LIST`, `sources.EC2_SPOT`, `pins.kueue`."""
    table, _, name = source.rpartition(".")
    if table == "pins":
        return source
    return f"{(table or 'sources').replace('-', '_')}.{name.upper().replace('-', '_')}"


def ages(today: date) -> list[OldestFact]:
    """The oldest row of each kind."""
    oldest = {
        kind: min(result.items(), key=lambda each: (each[1].as_of, each[0]))
        for kind, result in dated_sources_by_kind().items()
    }
    return [
        OldestFact(kind, row, source.as_of, (today - source.as_of).days)
        for kind, (row, source) in oldest.items()
    ]
