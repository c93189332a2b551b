"""Helm charts and images of projects, where they are published, without version.

A version is that of the pin of the same name (`gpuyard.catalogue.software.pins`).
"""

from dataclasses import dataclass, replace
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
    repository: str = ""
    """Where an index lists the chart, for one that its project does not publish in a registry."""
    version: str = "{}"
    """How the project spells the version of the chart, with that of the pin for {}."""


KUEUE_CHART = Chart(
    name="kueue",
    registry="registry.k8s.io",
    path="kueue/charts/kueue",
    image="kueue/kueue",
    tag="v{}",
    source=Source(
        "charts/kueue/README.md and hack/helm-chart-package.sh of kubernetes-sigs/kueue v0.19.2",
        date(2026, 11, 21),
        as_of=date(2026, 8, 20),
    ),
)
"""In the project's repository the same chart names an image of a staging registry and pulls it at every
start; the published one does not. So the image is always written out."""

GPU_OPERATOR_CHART = Chart(
    name="gpu-operator",
    registry="nvcr.io",
    path="nvidia/charts/gpu-operator",
    image="nvidia/gpu-operator",
    tag="v{}",
    repository="https://helm.ngc.nvidia.com/nvidia",
    version="v{}",
    source=Source(
        "NVIDIA/cloud-native-docs gpu-operator/getting-started.rst 26.7; NVIDIA/gpu-operator v26.7.0 values.yaml",
        date(2026, 11, 23),
        as_of=date(2026, 8, 20),
    ),
)
"""NVIDIA publishes it in a repository with an index; `path` is where a mirror of ours keeps it."""

AUTOSCALER_CHART = Chart(
    name="cluster-autoscaler",
    registry="registry.k8s.io",
    path="autoscaling/charts/cluster-autoscaler",
    image="autoscaling/cluster-autoscaler",
    tag="v{}",
    repository="https://kubernetes.github.io/autoscaler",
    source=Source(
        "kubernetes/autoscaler, chart cluster-autoscaler 9.59.0: README.md and values.yaml",
        date(2026, 11, 23),
        as_of=date(2026, 11, 23),
    ),
)
"""Published in a repository with an index; `path` is where a mirror of ours keeps it. The chart has a pin of its own,
`AUTOSCALER_CHART_PIN`: the image is that of the cluster's minor."""
AUTOSCALER_CHART_PIN = "cluster-autoscaler-chart"

KARPENTER_CHART = Chart(
    name="karpenter",
    registry="public.ecr.aws",
    path="karpenter/karpenter",
    image="karpenter/controller",
    tag="{}",
    source=Source(
        "aws/karpenter-provider-aws 1d92708 (v1.14.1): charts/karpenter, charts/karpenter-crd and their README.md",
        date(2026, 11, 23),
        as_of=date(2026, 8, 20),
    ),
)
KARPENTER_CRD_CHART = replace(KARPENTER_CHART, name="karpenter-crd", path="karpenter/karpenter-crd")
"""The definitions alone: Helm changes those inside a chart never, and these with each release."""
KARPENTER_PIN = "karpenter-aws"
"""Both charts and the image have the version of AWS's provider."""

DRA_DRIVER_CHART = Chart(
    name="dra-driver-nvidia-gpu",
    registry="registry.k8s.io",
    path="dra-driver-nvidia/charts/dra-driver-nvidia-gpu",
    image="dra-driver-nvidia/dra-driver-nvidia-gpu",
    tag="v{}",
    source=Source(
        "kubernetes-sigs/dra-driver-nvidia-gpu v0.4.1: values.yaml, templates and hack/build-and-publish-chart.sh;"
        " values.yaml at 0f5a1bc, after v0.5.0, still has every field",
        date(2026, 11, 25),
        as_of=date(2026, 11, 25),
    ),
)
"""The driver of claims by itself, where no GPU Operator brings it."""
DRA_DRIVER_PIN = "dra-driver-chart"


@dataclass(frozen=True, slots=True)
class Agent:
    """An image that an object of ours runs on nodes, where its project's chart is one such object."""

    name: str
    """What its project calls it."""
    pin: str
    """Empty where its tag is whole."""
    image: str
    """Registry and path."""
    tag: str
    """How the project tags it, with the version for {}."""
    source: Source


EFA_PLUGIN = Agent(
    name="aws-efa-k8s-device-plugin",
    pin="efa-device-plugin",
    image="602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin",
    tag="v{}",
    source=Source(
        "aws/eks-charts 5239609, stable/aws-efa-k8s-device-plugin v0.5.30: values.yaml and templates/daemonset.yaml",
        date(2026, 11, 23),
        as_of=date(2026, 11, 23),
    ),
)
"""Nodes of every region of the partition `aws` may pull from there; the chart names the same place for all."""


RDMA_PLUGIN = Agent(
    name="k8s-rdma-shared-dev-plugin",
    pin="",
    image="ghcr.io/mellanox/k8s-rdma-shared-dev-plugin",
    tag="v1.5.3",
    source=Source(
        "Mellanox/k8s-rdma-shared-dev-plugin 410b0f3 (v1.5.3): deployment/k8s/base, pkg/resources, pkg/types",
        date(2026, 11, 25),
        as_of=date(2026, 11, 25),
    ),
)
"""It has no version to pick: its tag is whole."""


@dataclass(frozen=True, slots=True)
class OperatorImage:
    """An image that the GPU Operator's chart names: where its values say so, and which pin it has."""

    values: tuple[str, ...]
    """The path in the chart's values that has `repository` below it, and `version` where there is one."""
    repository: str
    """Where it comes from."""
    image: str
    """Its own name, a value beside that."""
    pin: str = ""
    """The pin that its version follows; empty: that of the chart."""
    tag: str = "{}"
    """How NVIDIA tags it, with the version for {}."""

    @property
    def home(self) -> str:
        """Where NVIDIA publishes it, without its tag."""
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
"""Those that run where we install it (NVIDIA/gpu-operator v26.7.0 values.yaml, GPU_OPERATOR_CHART.source)."""
NFD_IMAGE = f"{KUEUE_CHART.registry}/nfd/node-feature-discovery"
"""The image of its subchart, in the registry of the Kubernetes project (node-feature-discovery 0.19.0 values.yaml)."""
