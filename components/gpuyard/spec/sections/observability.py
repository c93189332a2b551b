"""Observability: what is measured, and the targets that measurements are held against."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from gpuyard.spec.base import SpecModel
from gpuyard.spec.values import Address, Name, Percent, PercentRange, Positive, Switch


class Prometheus(StrEnum):
    """Whose Prometheus: `install` one for the platform (not done yet), `existing`, which runs, or `none`."""

    INSTALL = "install"
    EXISTING = "existing"
    NONE = "none"


class Observability(SpecModel):
    """What is measured, for how long it is kept."""

    prometheus: Prometheus = Prometheus.INSTALL
    """install, existing or none. Default install; nothing is installed yet: idle reclaim needs existing."""
    prometheus_address: Address | None = None
    """Where it answers. Default http://prometheus-operated.monitoring.svc:9090."""
    retention_days: Positive = 15
    """Days that measurements are kept. Default 15, as Prometheus has it."""
    scrape_seconds: Annotated[int, Field(strict=True, ge=1, le=300)] = 15
    """Seconds between two looks at a GPU. Default 15: graphs need no more."""
    cost: Switch = True
    """Whether used hours are to become money, with OpenCost. Default on; it is not installed yet."""


class Targets(SpecModel):
    """What the platform is run towards; each is measured, shown and alerted on."""

    utilisation_percent: PercentRange | None = None
    """Share of GPU time in use over the fleet, such as 65..85. The expected bill reckons with its middle."""
    memory_percent: Percent | None = None
    """Share of a GPU's memory that a pod should use at least, for example 80."""
    idle_percent: Percent | None = None
    """Share of allocated GPU time that may be idle at most, for example 20."""
    wait_p95_minutes: dict[Name, Positive] = Field(default_factory=dict)
    """By priority, minutes that 95 of 100 jobs wait at most: {research: 120, production: 10}."""
