"""Helm charts and images of projects, where they are published, without version.

A version is that of the pin of the same name (`gpuyard.catalogue.software.pins`).
"""

from dataclasses import dataclass
from datetime import date

from gpuyard.catalogue.sources import Source


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart, under the name of its pin."""

    name: str
    registry: str
    """The host that serves the chart and its image."""
    path: str
    """The chart's path there, as an OCI artifact."""
    image: str
    """The path of the image that it starts."""
    tag: str
    """How the project tags that image, with the version for {}."""
    source: Source


KUEUE_CHART = Chart(
    name="kueue",
    registry="registry.k8s.io",
    path="kueue/charts/kueue",
    image="kueue/kueue",
    tag="v{}",
    source=Source(
        "charts/kueue/README.md and hack/helm-chart-package.sh of kubernetes-sigs/kueue v0.19.2",
        date(2026, 11, 21),
    ),
)
"""In the project's repository the same chart names an image of a staging registry and pulls it at every
start; the published one does not. So the image is always written out."""
