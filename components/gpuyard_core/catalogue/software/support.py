"""End of support of Kubernetes minors, by the project and by each cloud, and of GPU Operator releases.

A date is the first day without that support. An unpublished date is None, and never computed from another
one. Nothing here reads the clock: the caller passes the date.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from gpuyard_core.catalogue.lists import find_pairs
from gpuyard_core.catalogue.software.versions import parse_version
from gpuyard_core.catalogue.sources import Source, find_source
from gpuyard_core.catalogue.tables import read_keyed


@dataclass(frozen=True, slots=True)
class Window:
    """The support window of one minor."""

    minor: str
    standard_end: date
    extended_end: date | None
    """End of the extended (paid or opt-in) support; None if there is none, or its date is unknown."""
    has_extended: bool
    """Whether there is extended support, with or without a known date."""
    source: Source


@dataclass(frozen=True, slots=True)
class SupportStatus:
    """A support window as of a date."""

    window: Window
    today: date

    @property
    def days_left(self) -> int:
        """Remaining days of standard support, today included; 0 or less if it has ended."""
        return (self.window.standard_end - self.today).days

    @property
    def extended_days_left(self) -> int | None:
        """Remaining days of extended support; None if there is none or its end is unknown."""
        end = self.window.extended_end
        return None if end is None else (end - self.today).days


_WINDOWS = tuple(read_keyed("support_windows", Window))
WINDOWS: Mapping[str, Mapping[str, Window]] = {
    cloud: {window.minor: window for key, window in _WINDOWS if key == cloud}
    for cloud in ("aws", "gcp", "none")
}
"""Windows by cloud and minor. For your own cluster the Kubernetes project's dates apply.

GKE 1.34: the list has 2026-10-01, 12 months after it entered the Regular channel on 2025-09-30 and before the
Kubernetes project's own end; GKE promises 14 months, so the later date is used. 1.37: no date found, nor for EKS."""


def support_status(cloud: str, minor: str, today: date) -> SupportStatus | None:
    """The support of a minor on a cloud as of a date; None if unknown."""
    window = WINDOWS.get(cloud, {}).get(minor)
    return None if window is None else SupportStatus(window, today)


_DRIVER_ENDS_READ = find_source("support.driver-ends").checked_on
DRIVER_ENDS: Mapping[str, date] = {
    branch: date.fromisoformat(end) for branch, end in find_pairs("driver-ends").items()
}
"""Ends of driver branches; a bulletin may have a fix for a branch a few days before its end."""


def driver_end(branch: str, today: date | None = None) -> date | None:
    """The date on which support of a branch ended, as of a date, by default that of the lookup."""
    end = DRIVER_ENDS.get(branch)
    return end if end and end <= (today or _DRIVER_ENDS_READ) else None


class OperatorStatus(StrEnum):
    """The support status of a GPU Operator release line; NVIDIA publishes the status without dates."""

    SUPPORTED = "supported"
    DEPRECATED = "deprecated"
    ENDED = "ended"


_OPERATOR_LINES: Mapping[tuple[int, int], OperatorStatus] = {  # support.operator-page
    (26, 7): OperatorStatus.SUPPORTED,
    (26, 3): OperatorStatus.DEPRECATED,
}


def operator_status(version: str) -> OperatorStatus | None:
    """The status of a GPU Operator version's release line; None for a line newer than the source."""
    numbers = (*parse_version("gpu-operator", version).numbers, 0)
    line = (numbers[0], numbers[1])
    if line > max(_OPERATOR_LINES):
        return None
    return _OPERATOR_LINES.get(line, OperatorStatus.ENDED)
