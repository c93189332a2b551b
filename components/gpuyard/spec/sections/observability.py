"""Observability: metrics, and the targets they are compared with."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from gpuyard.spec.base import SpecModel
from gpuyard.spec.values import Address, Name, Percent, PercentRange, Positive, Switch


class Prometheus(StrEnum):
    """Which Prometheus: `install` one for the platform (not implemented), `existing`, or `none`."""

    INSTALL = "install"
    EXISTING = "existing"
    NONE = "none"


class Observability(SpecModel):
    """Metrics and their retention."""

    prometheus: Prometheus = Prometheus.INSTALL
    """Prometheus of the platform: install, existing or none. `install` is not implemented; `idle` needs
    existing. Default: install."""
    prometheus_address: Address | None = None
    """URL of Prometheus. Default: http://prometheus-operated.monitoring.svc:9090."""
    retention_days: Positive = 15
    """Retention of metrics in days. Default: 15, as in Prometheus."""
    scrape_seconds: Annotated[int, Field(strict=True, ge=1, le=300)] = 15
    """Scrape interval of GPU metrics in seconds. Default: 15."""
    cost: Switch = True
    """Whether OpenCost computes the cost of used hours; not implemented. Default: on."""


class Targets(SpecModel):
    """Service targets; each is measured, displayed and alerted on."""

    utilisation_percent: PercentRange | None = None
    """Target share of GPU time in use, in percent, for example 65..85; expected cost uses the middle.
    Default: none."""
    memory_percent: Percent | None = None
    """Minimum share of GPU memory that a pod should use, in percent, for example 80. Default: none."""
    idle_percent: Percent | None = None
    """Maximum share of allocated GPU time that may be idle, in percent, for example 20. Default: none."""
    wait_p95_minutes: dict[Name, Positive] = Field(default_factory=dict)
    """Maximum 95th percentile of the wait time in minutes, by priority: {research: 120, production:
    10}. Default: none."""
