"""Helm charts and images of projects, with their registries and without versions.

Versions are those of pins (`gpuyard_core.catalogue.software.pins`).
"""

from dataclasses import dataclass, replace

from gpuyard_core.catalogue.sources import Source, find_source


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart, with the pins of its version and of its image."""

    name: str
    title: str
    """The name of its component, as reports show it."""
    pin: str
    registry: str
    """The host that serves the chart and its image."""
    path: str
    """The chart's path there, as an OCI artifact."""
    image: str
    """The path of the image that it runs; empty if it runs none."""
    tag: str
    """The project's tag format of that image; {} is the version."""
    source: Source
    image_pin: str = ""
    """The pin of that image, if it is not the chart's."""
    repository: str = ""
    """The Helm repository of a chart that its project does not publish in a registry."""
    version: str = "{}"
    """The project's version format of the chart; {} is the version of the pin."""


KUEUE_CHART = Chart(
    name="kueue",
    title="Kueue",
    pin="kueue",
    registry="registry.k8s.io",
    path="kueue/charts/kueue",
    image="kueue/kueue",
    tag="v{}",
    source=find_source("charts.kueue-chart"),
)
"""In the project's repository the same chart uses an image of a staging registry and pulls it at every
start; the published chart does not. So gpuyard always sets the image."""

GPU_OPERATOR_CHART = Chart(
    name="gpu-operator",
    title="GPU Operator",
    pin="gpu-operator",
    registry="nvcr.io",
    path="nvidia/charts/gpu-operator",
    image="nvidia/gpu-operator",
    tag="v{}",
    repository="https://helm.ngc.nvidia.com/nvidia",
    version="v{}",
    source=find_source("charts.gpu-operator-chart"),
)
"""NVIDIA publishes it in a Helm repository; `path` is its path in a mirror."""

AUTOSCALER_CHART = Chart(
    name="cluster-autoscaler",
    title="Cluster Autoscaler",
    pin="cluster-autoscaler-chart",
    image_pin="cluster-autoscaler",
    registry="registry.k8s.io",
    path="autoscaling/charts/cluster-autoscaler",
    image="autoscaling/cluster-autoscaler",
    tag="v{}",
    repository="https://kubernetes.github.io/autoscaler",
    source=find_source("charts.autoscaler-chart"),
)
"""Published in a Helm repository; `path` is its path in a mirror. The image is that of the cluster's minor."""

KARPENTER_CHART = Chart(
    name="karpenter",
    title="Karpenter",
    pin="karpenter-aws",
    registry="public.ecr.aws",
    path="karpenter/karpenter",
    image="karpenter/controller",
    tag="{}",
    source=find_source("charts.karpenter-chart"),
)
KARPENTER_CRD_CHART = replace(
    KARPENTER_CHART, name="karpenter-crd", path="karpenter/karpenter-crd", image=""
)
"""Only the CRDs: Helm never updates CRDs inside a chart, but updates these with each release. Both charts and
the image have the version of AWS's provider."""

DRA_DRIVER_CHART = Chart(
    name="dra-driver-nvidia-gpu",
    title="NVIDIA's DRA driver",
    pin="dra-driver-chart",
    registry="registry.k8s.io",
    path="dra-driver-nvidia/charts/dra-driver-nvidia-gpu",
    image="dra-driver-nvidia/dra-driver-nvidia-gpu",
    tag="v{}",
    source=find_source("charts.dra-driver-chart"),
)
"""The chart of the DRA driver, used if the GPU Operator does not install it."""

VOLCANO_CHART = Chart(
    name="volcano",
    title="Volcano",
    pin="volcano-chart",
    image_pin="volcano",
    registry="docker.io",
    path="volcanosh/charts/volcano",
    image="volcanosh/vc-scheduler",
    tag="v{}",
    repository="https://volcano-sh.github.io/helm-charts",
    source=find_source("charts.volcano-chart"),
)
"""Published in a Helm repository; `path` is its path in a mirror."""
VOLCANO_IMAGES = ("volcanosh/vc-controller-manager", "volcanosh/vc-webhook-manager")
"""Paths of its other images."""

MONITORING_CHART = Chart(
    name="kube-prometheus-stack",
    title="kube-prometheus-stack",
    pin="kube-prometheus-stack",
    registry="ghcr.io",
    path="prometheus-community/charts/kube-prometheus-stack",
    image="",
    tag="",
    source=find_source("charts.monitoring-chart"),
)


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


MONITORING_IMAGES: tuple[MonitoringImage, ...] = (
    MonitoringImage(
        ("prometheusOperator", "image"),
        "quay.io/prometheus-operator/prometheus-operator",
        "v0.93.1",
    ),
    MonitoringImage(
        ("prometheusOperator", "prometheusConfigReloader", "image"),
        "quay.io/prometheus-operator/prometheus-config-reloader",
        "v0.93.1",
    ),
    MonitoringImage(
        ("prometheusOperator", "admissionWebhooks", "patch", "image"),
        "ghcr.io/jkroepke/kube-webhook-certgen",
        "1.8.7",
    ),
    MonitoringImage(
        ("prometheus", "prometheusSpec", "image"),
        "quay.io/prometheus/prometheus",
        "v3.14.0-distroless",
    ),
    MonitoringImage(
        ("alertmanager", "alertmanagerSpec", "image"),
        "quay.io/prometheus/alertmanager",
        "v0.34.0",
    ),
    MonitoringImage(
        ("kube-state-metrics", "image"),
        "registry.k8s.io/kube-state-metrics/kube-state-metrics",
        "v2.20.0",
    ),
    MonitoringImage(
        ("prometheus-node-exporter", "image"),
        "quay.io/prometheus/node-exporter",
        "v1.12.1-distroless",
        "nodeExporter",
    ),
    MonitoringImage(("grafana", "image"), "docker.io/grafana/grafana", "", "grafana"),
    MonitoringImage(("grafana", "sidecar", "image"), "quay.io/kiwigrid/k8s-sidecar", "", "grafana"),
)
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


EFA_PLUGIN = Agent(
    name="aws-efa-k8s-device-plugin",
    title="EFA's device plugin",
    pin="efa-device-plugin",
    image="602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin",
    tag="v{}",
    source=find_source("charts.efa-plugin"),
)
"""Nodes in every region of the partition `aws` may pull from it; the chart uses this registry for all."""


RDMA_PLUGIN = Agent(
    name="k8s-rdma-shared-dev-plugin",
    title="the RDMA device plugin",
    pin="",
    image="ghcr.io/mellanox/k8s-rdma-shared-dev-plugin",
    tag="v1.5.3",
    source=find_source("charts.rdma-plugin"),
)
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


_NVIDIA = "nvcr.io/nvidia"
OPERATOR_IMAGES: tuple[OperatorImage, ...] = (
    OperatorImage(("operator",), _NVIDIA, "gpu-operator"),
    OperatorImage(("validator",), _NVIDIA, "gpu-operator"),
    OperatorImage(("nodeStatusExporter",), _NVIDIA, "gpu-operator"),
    OperatorImage(("driver",), _NVIDIA, "driver", "driver"),
    OperatorImage(
        ("driver", "manager"),
        f"{_NVIDIA}/cloud-native",
        "k8s-driver-manager",
        "driver-manager",
        "v{}",
    ),
    OperatorImage(("toolkit",), f"{_NVIDIA}/k8s", "container-toolkit", "container-toolkit", "v{}"),
    OperatorImage(("devicePlugin",), _NVIDIA, "k8s-device-plugin", "device-plugin", "v{}"),
    OperatorImage(("gfd",), _NVIDIA, "k8s-device-plugin", "gpu-feature-discovery", "v{}"),
    OperatorImage(
        ("migManager",), f"{_NVIDIA}/cloud-native", "k8s-mig-manager", "mig-manager", "v{}"
    ),
    OperatorImage(("dcgm",), f"{_NVIDIA}/cloud-native", "dcgm", "dcgm", "{}-ubuntu24.04"),
    OperatorImage(
        ("dcgmExporter",), f"{_NVIDIA}/k8s", "dcgm-exporter", "dcgm-exporter", "{}-distroless"
    ),
    OperatorImage(("draDriver",), _NVIDIA, "dra-driver-nvidia-gpu", "dra-driver", "v{}"),
    OperatorImage(("gdrcopy",), f"{_NVIDIA}/cloud-native", "gdrdrv", "gdrcopy", "v{}"),
)
"""Images that run if gpuyard installs the chart (NVIDIA/gpu-operator v26.7.0 values.yaml, GPU_OPERATOR_CHART.source)."""
NFD_IMAGE = f"{KUEUE_CHART.registry}/nfd/node-feature-discovery"
"""The image of its subchart, in the registry of the Kubernetes project (node-feature-discovery 0.19.0 values.yaml)."""
