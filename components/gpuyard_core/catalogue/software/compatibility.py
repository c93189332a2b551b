"""Kubernetes compatibility of components: the minors that a version supports, by its project.

What a project leaves open stays open: a version newer than the newest known one has the compatibility of
that one.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard_core.catalogue.software.pins import PINS, Pin
from gpuyard_core.catalogue.software.versions import parse_version
from gpuyard_core.catalogue.sources import Source, find_source
from gpuyard_core.catalogue.tables import read_keyed


@dataclass(frozen=True, slots=True)
class Minors:
    """A range of Kubernetes minors; None if the project names no bound."""

    first: str | None
    last: str | None
    source: Source
    since: str = ""
    """The first version of the component that supports them; empty if it follows from the version."""

    def includes(self, minor: str) -> bool:
        """Whether the minor is in the range."""
        number = _number(minor)
        return (self.first is None or _number(self.first) <= number) and (
            self.last is None or number <= _number(self.last)
        )

    def __str__(self) -> str:
        if self.first == self.last:
            return f"Kubernetes {self.first}"
        if self.first and self.last:
            return f"Kubernetes {self.first} to {self.last}"
        return (
            f"Kubernetes {self.first} or later" if self.first else f"Kubernetes up to {self.last}"
        )


def _number(minor: str) -> int:
    return int(minor.partition(".")[2])


_LINES = tuple(read_keyed("compatibility", Minors))


def minors_of(component: str, version: str) -> Minors | None:
    """The minors that a version supports; None if its project does not document them."""
    value = parse_version(component, version)
    if component == "cluster-autoscaler":
        minor = ".".join(map(str, (*value.numbers, 0)[:2]))
        return Minors(minor, minor, find_source("compatibility.autoscaler-readme"))
    known = [
        minors
        for name, minors in _LINES
        if name == component and parse_version(component, minors.since) <= value
    ]
    return known[-1] if known else None


AUTOSCALERS: Mapping[str, Pin] = {
    **dict(read_keyed("autoscalers", Pin)),
    "1.36": PINS["cluster-autoscaler"],
}
"""The newest Cluster Autoscaler of each minor: each version supports one minor."""
