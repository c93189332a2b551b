"""Observability in a plan: frozen records of plain values."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard.spec.sections import Alerts, Prometheus
from gpuyard_core.catalogue.prometheus import ManagedPrometheus


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservabilityPlan:
    """Prometheus, its size, and where its alerts go."""

    mode: Prometheus
    managed: ManagedPrometheus | None
    """The managed service; None in the other modes."""
    address: str
    """The URL of Prometheus inside the cluster; empty for a managed service without a proxy."""
    namespace: str
    """The namespace of monitors, rules and receivers."""
    labels: Mapping[str, str]
    """The labels by which Prometheus selects monitors and rules."""
    retention_days: int
    scrape_seconds: int
    series: int
    """An estimate of the active series with all nodes."""
    memory_gib: int
    """What Prometheus in the cluster needs; 0 if a managed service has its own collectors."""
    storage_gib: int
    storage_class: str | None
    grafana: bool
    alerts: Alerts | None
    virtual_gpus: bool
    """Whether the DCGM exporter has one series for each pod on a shared GPU."""
    dra: bool
    """Whether the DCGM exporter reads claims."""

    @property
    def installs(self) -> bool:
        """Whether gpuyard installs kube-prometheus-stack, for a managed service in part."""
        return self.mode is not Prometheus.EXISTING

    @property
    def has_operator(self) -> bool:
        """Whether prometheus-operator reads monitors: not where a managed service has its own collectors."""
        return self.managed is None or not self.managed.own_collectors
