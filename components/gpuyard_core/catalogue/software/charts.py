"""Helm charts and images of projects, with their registries and without versions.

Versions are those of pins (`gpuyard_core.catalogue.software.pins`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard_core.catalogue.sources import Source
from gpuyard_core.catalogue.tables import read_rows


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart, with the pins of its version and of its image."""

    name: str
    title: str
    """The name of its component, as reports show it."""
    pin: str
    path: str
    """The chart's path in its registry, as an OCI artifact."""
    source: Source
    image: str = ""
    """The path of the image that it runs; empty if it runs none."""
    tag: str = ""
    """The project's tag format of that image; {} is the version."""
    image_pin: str = ""
    """The pin of that image, if it is not the chart's."""
    repository: str = ""
    """The Helm repository of a chart that its project does not publish in a registry."""
    registry: str = ""
    """The host that serves the chart and its image; empty if only a Helm repository has it."""
    version: str = "{}"
    """The project's version format of the chart; {} is the version of the pin."""


CHARTS: Mapping[str, Chart] = {chart.name: chart for chart in read_rows("charts", Chart)}
KUEUE_CHART = CHARTS["kueue"]
"""In the project's repository the same chart uses an image of a staging registry and pulls it at every
start; the published chart does not. So gpuyard always sets the image."""

GPU_OPERATOR_CHART = CHARTS["gpu-operator"]
"""NVIDIA publishes it in a Helm repository; `path` is its path in a mirror."""

AUTOSCALER_CHART = CHARTS["cluster-autoscaler"]
"""Published in a Helm repository; `path` is its path in a mirror. The image is that of the cluster's minor."""

KARPENTER_CHART = CHARTS["karpenter"]
KARPENTER_CRD_CHART = CHARTS["karpenter-crd"]
"""Only the CRDs: Helm never updates CRDs inside a chart, but updates these with each release. Both charts and
the image have the version of AWS's provider."""

DRA_DRIVER_CHART = CHARTS["dra-driver-nvidia-gpu"]
"""The chart of the DRA driver, used if the GPU Operator does not install it."""

VOLCANO_CHART = CHARTS["volcano"]
"""Published in a Helm repository; `path` is its path in a mirror."""
VOLCANO_IMAGES = ("volcanosh/vc-controller-manager", "volcanosh/vc-webhook-manager")
"""Paths of its other images."""

MONITORING_CHART = CHARTS["kube-prometheus-stack"]


@dataclass(frozen=True, slots=True)
class MonitoringImage:
    """An image of kube-prometheus-stack."""

    values: tuple[str, ...]
    """Where the chart's values name it."""
    home: str
    """Registry and path."""
    tag: str
    """Its tag in this version of the chart; empty if a subchart sets it."""
    optional: str = ""
    """The section of the chart that must be enabled; empty if the image is always used."""


MONITORING_IMAGES = tuple(read_rows("monitoring_images", MonitoringImage))
"""The images of the chart, by its values.yaml (MONITORING_CHART.source)."""


@dataclass(frozen=True, slots=True)
class Agent:
    """An image that a DaemonSet of gpuyard runs on nodes, in place of its project's chart."""

    name: str
    """Its name in its project."""
    title: str
    pin: str
    """Its pin; empty if its tag is fixed."""
    image: str
    """Registry and path."""
    tag: str
    """The project's tag format; {} is the version."""
    source: Source


AGENTS: Mapping[str, Agent] = {agent.name: agent for agent in read_rows("agents", Agent)}
EFA_PLUGIN = AGENTS["aws-efa-k8s-device-plugin"]
"""Nodes in every region of the partition `aws` may pull from it; the chart uses this registry for all."""


RDMA_PLUGIN = AGENTS["k8s-rdma-shared-dev-plugin"]
"""It has no configurable version: its tag is fixed."""


@dataclass(frozen=True, slots=True)
class OperatorImage:
    """An image in the GPU Operator's chart: its path in the values, and its pin."""

    values: tuple[str, ...]
    """The path in the chart's values that contains `repository`, and `version` if it has one."""
    repository: str
    """Its registry and repository path."""
    image: str
    """Its image name, a value next to `repository`."""
    pin: str = ""
    """The pin of its version; empty: that of the chart."""
    tag: str = "{}"
    """NVIDIA's tag format; {} is the version."""

    @property
    def home(self) -> str:
        """The image as NVIDIA publishes it, without tag."""
        return f"{self.repository}/{self.image}"


OPERATOR_IMAGES = tuple(read_rows("operator_images", OperatorImage))
"""Images that run if gpuyard installs the chart (NVIDIA/gpu-operator v26.7.0 values.yaml, GPU_OPERATOR_CHART.source)."""
NFD_IMAGE = f"{KUEUE_CHART.registry}/nfd/node-feature-discovery"
"""The image of its subchart, in the registry of the Kubernetes project (node-feature-discovery 0.19.0 values.yaml)."""
