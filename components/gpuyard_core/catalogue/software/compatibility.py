"""Kubernetes compatibility of components: the minors that a version supports, by its project.

What a project leaves open stays open: a version newer than the newest known one has the compatibility of
that one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard_core.catalogue.software.pins import PINS, Pin
from gpuyard_core.catalogue.software.versions import parse_version
from gpuyard_core.catalogue.sources import Source, find_source

_CHECKED = date(2026, 11, 21)
OPERATOR_PAGE = find_source("compatibility.operator-page")
KUEUE_README = find_source("compatibility.kueue-readme")
KARPENTER_PAGE = find_source("compatibility.karpenter-page")
AUTOSCALER_README = find_source("compatibility.autoscaler-readme")
DRA_PAGE = find_source("compatibility.dra-page")


@dataclass(frozen=True, slots=True)
class Minors:
    """A range of Kubernetes minors; None if the project names no bound."""

    first: str | None
    last: str | None
    source: Source

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


_Lines = tuple[tuple[str, str | None, str | None], ...]
"""Rows of a version, and the first and last minor from that version on."""
_KARPENTER: _Lines = (
    ("1.2", None, "1.32"),
    ("1.5", None, "1.33"),
    ("1.6", None, "1.34"),
    ("1.9", None, "1.35"),
    ("1.13", None, "1.36"),
)
_LINES: Mapping[str, tuple[_Lines, Source]] = {
    "gpu-operator": ((("26.3", "1.32", "1.36"), ("26.7", "1.33", "1.37")), OPERATOR_PAGE),
    "kueue": ((("0", "1.29", None), ("0.20", "1.34", None)), KUEUE_README),
    "karpenter": (_KARPENTER, KARPENTER_PAGE),
    "karpenter-aws": (_KARPENTER, KARPENTER_PAGE),
    "dra-driver": ((("0", "1.34", None),), DRA_PAGE),
}


def minors_of(component: str, version: str) -> Minors | None:
    """The minors that a version supports; None if its project does not document them."""
    value = parse_version(component, version)
    if component == "cluster-autoscaler":
        minor = ".".join(map(str, (*value.numbers, 0)[:2]))
        return Minors(minor, minor, AUTOSCALER_README)
    lines, source = _LINES.get(component, ((), OPERATOR_PAGE))
    known = [
        (first, last) for since, first, last in lines if parse_version(component, since) <= value
    ]
    return Minors(*known[-1], source) if known else None


def _autoscaler(version: str) -> Pin:
    where = f"kubernetes/autoscaler tag cluster-autoscaler-{version} (2026-07-22)"
    return Pin(
        "cluster-autoscaler",
        version,
        Source(
            where,
            _CHECKED,
            as_of=_CHECKED,
        ),
    )


AUTOSCALERS: Mapping[str, Pin] = {
    "1.33": _autoscaler("1.33.6"),
    "1.34": _autoscaler("1.34.5"),
    "1.35": _autoscaler("1.35.2"),
    "1.36": PINS["cluster-autoscaler"],
}
"""The newest Cluster Autoscaler of each minor: each version supports one minor."""
