"""How much memory and storage Prometheus needs, and the managed services for Prometheus."""

from dataclasses import dataclass

from gpuyard_core.catalogue.sources import Source
from gpuyard_core.catalogue.tables import read_keyed

BYTES_PER_SAMPLE = 2
BYTES_PER_SERIES = 8192
"""Memory of an active series, with its part of the write-ahead log and of queries; benchmarks/monitoring.md
measured half (prometheus-size)."""
SERIES_PER_NODE = 2000
"""Series of kubelet, cAdvisor, node exporter and kube-state-metrics for a node with its pods."""
SERIES_OF_CLUSTER = 30_000
"""Series of the API server, the controllers and Prometheus itself."""
SLOWEST_SCRAPE_SECONDS = 30
"""Kubernetes metrics are scraped this often; the chart's default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedPrometheus:
    """A managed service that stores metrics, evaluates rules and sends alerts."""

    name: str
    own_collectors: bool
    """Whether its collectors and its own resources replace prometheus-operator in the cluster."""
    receivers: frozenset[str]
    """The fields of a receiver that its Alertmanager has."""
    where: str
    """Where alerts are sent instead, if the fields of the stack file cannot configure it."""
    ignored: frozenset[str]
    """Fields of `observability` without an effect."""
    usd_per_million_samples: float
    """The price of the first tier."""
    source: Source


_SERVICES = dict(read_keyed("managed_prometheus", ManagedPrometheus))
AMAZON, GOOGLE = _SERVICES["aws"], _SERVICES["gcp"]
