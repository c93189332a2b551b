"""Ages of facts that change over time: by kind, the oldest row, its date and the age limit.

Nothing here reads the clock: the caller passes the date.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard_core.catalogue.sources import Source

LIMITS: Mapping[str, int] = {"prices": 90, "bulletins": 45, "pins": 90, "support windows": 180}
"""Age limits in days, by kind of facts."""


@dataclass(frozen=True, slots=True)
class OldestFact:
    """The oldest row of one kind, as of a date."""

    kind: str
    row: str
    """The constant or pin with the source."""
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


def sources_of(*modules: object) -> dict[str, Source]:
    """The sources that are constants of these modules, by `module.CONSTANT`."""
    return {
        f"{getattr(module, '__name__', '').rpartition('.')[2]}.{name}": value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, Source)
    }


def dated_sources_by_kind() -> Mapping[str, Mapping[str, Source]]:
    """Rows whose age counts, by kind and name."""
    from gpuyard_core.catalogue import commitments, cves, fees, regions, sources
    from gpuyard_core.catalogue.kubernetes import eks_nodes
    from gpuyard_core.catalogue.software import support
    from gpuyard_core.catalogue.software.pins import PINS

    listed = ("EC2_OFFERS", "EC2_SPOT", "GCE_OFFERS", "GCE_LISTS")
    return {
        "prices": sources_of(commitments, fees, regions)
        | {f"sources.{name}": getattr(sources, name) for name in listed},
        "bulletins": {"cves.ADVISORIES": cves.ADVISORIES},
        "pins": {f"pins.{name}": pin.source for name, pin in PINS.items()}
        | {"eks_nodes.RELEASES_SOURCE": eks_nodes.RELEASES_SOURCE},
        "support windows": sources_of(support),
    }


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
