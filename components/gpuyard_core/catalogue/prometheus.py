"""How much memory and storage Prometheus needs, and the managed services for Prometheus."""

from dataclasses import dataclass

from gpuyard_core.catalogue.sources import Source, find_source

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


AMAZON = ManagedPrometheus(
    name="Amazon Managed Service for Prometheus",
    own_collectors=False,
    receivers=frozenset({"sns"}),
    where="an SNS topic, which can send e-mail or call a webhook",
    ignored=frozenset({"grafana", "labels", "namespace", "storage_class", "storage_gib"}),
    usd_per_million_samples=0.09,
    source=find_source("prometheus.amazon"),
)
GOOGLE = ManagedPrometheus(
    name="Google Cloud Managed Service for Prometheus",
    own_collectors=True,
    receivers=frozenset(),
    where="the Secret alertmanager in gmp-public, which has the whole configuration of the managed Alertmanager",
    ignored=frozenset(
        {"grafana", "labels", "namespace", "retention_days", "storage_class", "storage_gib"}
    ),
    usd_per_million_samples=0.06,
    source=find_source("prometheus.google"),
)
