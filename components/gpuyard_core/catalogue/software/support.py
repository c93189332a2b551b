"""End of support of Kubernetes minors, by the project and by each cloud, and of GPU Operator releases.

A date is the first day without that support. An unpublished date is None, and never computed from another
one. Nothing here reads the clock: the caller passes the date.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from gpuyard_core.catalogue.software.versions import parse_version
from gpuyard_core.catalogue.sources import Source, find_source

KUBERNETES_PAGES = find_source("support.kubernetes-pages")
EKS_GUIDE = find_source("support.eks-guide")
EKS_SECOND_HAND = find_source("support.eks-second-hand")
GKE_SECOND_HAND = find_source("support.gke-second-hand")
OPERATOR_PAGE = find_source("support.operator-page")


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


def _upstream(minor: str, end: str) -> Window:
    return Window(minor, date.fromisoformat(end), None, has_extended=False, source=KUBERNETES_PAGES)


def _eks(minor: str, end: str, extended: str, source: Source) -> Window:
    return Window(
        minor,
        date.fromisoformat(end),
        date.fromisoformat(extended),
        has_extended=True,
        source=source,
    )


def _gke(minor: str, end: str) -> Window:
    return Window(minor, date.fromisoformat(end), None, has_extended=True, source=GKE_SECOND_HAND)


RELEASED: Mapping[str, date] = {
    "1.33": date(2025, 4, 23),
    "1.34": date(2025, 8, 27),
    "1.35": date(2025, 12, 17),
    "1.36": date(2026, 4, 22),
    "1.37": date(2026, 8, 26),
}
"""Release dates of minors by the Kubernetes project (kubernetes.io; 1.33 and 1.34 also in the EKS calendar)."""

UPSTREAM: tuple[Window, ...] = (
    _upstream("1.33", "2026-06-28"),
    _upstream("1.34", "2026-10-27"),
    _upstream("1.35", "2027-02-28"),
    _upstream("1.36", "2027-06-28"),
    _upstream("1.37", "2027-10-28"),
)
EKS: tuple[Window, ...] = (
    _eks("1.33", "2026-07-29", "2027-07-29", EKS_GUIDE),
    _eks("1.34", "2026-12-02", "2027-12-02", EKS_GUIDE),
    _eks("1.35", "2027-03-27", "2028-03-27", EKS_SECOND_HAND),
    _eks("1.36", "2027-08-02", "2028-08-02", EKS_SECOND_HAND),
)
GKE: tuple[Window, ...] = (
    _gke("1.33", "2026-08-03"),
    _gke("1.34", "2026-11-30"),
    _gke("1.35", "2027-04-11"),
    _gke("1.36", "2027-08-09"),
)
"""1.34: the list has 2026-10-01, 12 months after it entered the Regular channel on 2025-09-30 and before the
Kubernetes project's own end; GKE promises 14 months, so the later date is used. 1.37: no date found, nor for EKS."""

WINDOWS: Mapping[str, Mapping[str, Window]] = {
    cloud: {window.minor: window for window in windows}
    for cloud, windows in (("aws", EKS), ("gcp", GKE), ("none", UPSTREAM))
}
"""Windows by cloud and minor. For your own cluster the Kubernetes project's dates apply."""


def support_status(cloud: str, minor: str, today: date) -> SupportStatus | None:
    """The support of a minor on a cloud as of a date; None if unknown."""
    window = WINDOWS.get(cloud, {}).get(minor)
    return None if window is None else SupportStatus(window, today)


DRIVER_ENDS_SOURCE = find_source("support.driver-ends")
DRIVER_ENDS: Mapping[str, date] = {
    "535": date(2026, 6, 1),
    "550": date(2025, 4, 17),
    "570": date(2026, 1, 27),
    "575": date(2026, 6, 3),
    "580": date(2028, 8, 4),
    "590": date(2026, 12, 22),
    "595": date(2027, 3, 24),
    "610": date(2027, 8, 3),
}
"""Ends of driver branches; a bulletin may have a fix for a branch a few days before its end."""


def driver_end(branch: str, today: date | None = None) -> date | None:
    """The date on which support of a branch ended, as of a date, by default that of the lookup."""
    end = DRIVER_ENDS.get(branch)
    return end if end and end <= (today or DRIVER_ENDS_SOURCE.checked_on) else None


class OperatorStatus(StrEnum):
    """The support status of a GPU Operator release line; NVIDIA publishes the status without dates."""

    SUPPORTED = "supported"
    DEPRECATED = "deprecated"
    ENDED = "ended"


_OPERATOR_LINES: Mapping[tuple[int, int], OperatorStatus] = {
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
