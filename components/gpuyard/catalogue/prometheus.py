"""How much memory and storage Prometheus needs: figures for estimates."""

from datetime import date

from gpuyard.catalogue.sources import Source

PROMETHEUS_SIZE = Source(
    "prometheus.io docs/prometheus/latest/storage (needed_disk_space = retention × samples per second × bytes per sample,"
    " 1 to 2 bytes); memory per series and series per node: public reports of kube-prometheus-stack",
    date(2026, 11, 29),
    verified=False,
    as_of=date(2026, 11, 29),
)
BYTES_PER_SAMPLE = 2
BYTES_PER_SERIES = 8192
"""Memory of an active series, with its part of the write-ahead log and of queries."""
SERIES_PER_NODE = 2000
"""Series of kubelet, cAdvisor, node exporter and kube-state-metrics for a node with its pods."""
SERIES_OF_CLUSTER = 30_000
"""Series of the API server, the controllers and Prometheus itself."""
SLOWEST_SCRAPE_SECONDS = 30
"""Kubernetes metrics are scraped this often; the chart's default."""
