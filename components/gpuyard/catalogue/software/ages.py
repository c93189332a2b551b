"""How old the facts are that change by themselves: by kind, the oldest row, its day and how old it may be.

Nothing here reads a clock: the caller says which day it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard.catalogue.sources import Source

LIMITS: Mapping[str, int] = {"prices": 90, "bulletins": 45, "pins": 90, "support windows": 180}
"""By kind of facts: after how many days one is old."""


@dataclass(frozen=True, slots=True)
class Age:
    """The oldest row of one kind, seen from a day."""

    kind: str
    row: str
    """The constant or the pin that has the source."""
    as_of: date
    days: int

    @property
    def limit(self) -> int:
        """How many days old a row of this kind may be."""
        return LIMITS[self.kind]

    @property
    def is_stale(self) -> bool:
        """True when the row is older."""
        return self.days > self.limit


def sources_of(*modules: object) -> dict[str, Source]:
    """The sources that are constants of some modules, by `module.CONSTANT`."""
    return {
        f"{getattr(module, '__name__', '').rpartition('.')[2]}.{name}": value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, Source)
    }


def rows() -> Mapping[str, Mapping[str, Source]]:
    """By kind: every row whose age counts, by name."""
    from gpuyard.catalogue import commitments, cves, fees, regions, sources
    from gpuyard.catalogue.kubernetes import eks_nodes
    from gpuyard.catalogue.software import support
    from gpuyard.catalogue.software.pins import PINS

    listed = ("EC2_OFFERS", "EC2_SPOT", "GCE_OFFERS", "GCE_LISTS")
    return {
        "prices": sources_of(commitments, fees, regions)
        | {f"sources.{name}": getattr(sources, name) for name in listed},
        "bulletins": {"cves.ADVISORIES": cves.ADVISORIES},
        "pins": {f"pins.{name}": pin.source for name, pin in PINS.items()}
        | {"eks_nodes.RELEASES_SOURCE": eks_nodes.RELEASES_SOURCE},
        "support windows": sources_of(support),
    }


def ages(today: date) -> list[Age]:
    """The oldest row of each kind."""
    oldest = {
        kind: min(result.items(), key=lambda each: (each[1].as_of, each[0]))
        for kind, result in rows().items()
    }
    return [
        Age(kind, row, source.as_of, (today - source.as_of).days)
        for kind, (row, source) in oldest.items()
    ]
