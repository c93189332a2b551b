"""Pinned software versions of a platform, in `tables/pins.csv`, so that updates are made in one place.

A pin is one exact version, read at its source on a date. Parts of a project with separate versions have
separate pins: an application and its chart, and each branch of a driver. Drivers of other branches are those
that the GPU Operator lists, including 535, whose support has ended.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard_core.catalogue.sources import Source
from gpuyard_core.catalogue.tables import read_rows


@dataclass(frozen=True, slots=True)
class Pin:
    """One component at one exact version."""

    name: str
    version: str
    source: Source
    component: str = ""
    """The name in security bulletins, if different."""

    @property
    def bulletin_component(self) -> str:
        """The name of the component in `gpuyard_core.catalogue.cves`."""
        return self.component or self.name


PINS: Mapping[str, Pin] = {pin.name: pin for pin in read_rows("pins", Pin)}
"""Every pin by name."""
GPU_OPERATOR = PINS["gpu-operator"]

KUBERNETES_MINORS: tuple[str, ...] = ("1.33", "1.34", "1.35", "1.36", "1.37")
"""Kubernetes minors that a stack may have: those that GPU Operator 26.7 supports. Both clouds offer 1.37 since
2026-10, but some pinned components do not list it yet."""

NEWEST_TRIED = "1.36"
"""The newest minor that all pinned components support, which fixes suggest."""


def is_before(minor: str, since: str) -> bool:
    """Whether a supported minor is older than another one; another check rejects unsupported minors."""
    known = KUBERNETES_MINORS
    return minor in known and known.index(minor) < known.index(since)
