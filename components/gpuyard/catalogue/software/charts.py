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
    ),
)
"""NVIDIA publishes it in a repository with an index; `path` is where a mirror of ours keeps it."""


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
NFD_IMAGE = "nfd/node-feature-discovery"
"""The image of its subchart, in the registry of the Kubernetes project (node-feature-discovery 0.19.0 values.yaml)."""
