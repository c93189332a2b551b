"""Pinned software versions of a platform, in one file, so that updates are made in one place.

A pin is one exact version, read at its source on a date. Parts of a project with separate versions have
separate pins: an application and its chart, and each branch of a driver.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard_core.catalogue.sources import Source


@dataclass(frozen=True, slots=True)
class Pin:
    """One component at one exact version."""

    name: str
    version: str
    source: Source
    component: str = ""
    """The name in security bulletins, if different."""

    @property
    def bulletin_component(self) -> str:
        """The name of the component in `gpuyard_core.catalogue.cves`."""
        return self.component or self.name


_LOOKED_FOR = date(2026, 8, 22)
"""The date of the newest repository that was searched for newer versions."""


def _pin(
    name: str, version: str, where: str, component: str = "", as_of: date = _LOOKED_FOR
) -> Pin:
    return Pin(name, version, Source(where, date(2026, 11, 21), as_of=as_of), component)


_OPERATOR = (
    "NVIDIA/gpu-operator v26.7.1 (2026-09-23): relatedImages of gpu-operator-certified 26.7.1"
)


def _operator_pin(name: str, version: str, component: str = "") -> Pin:
    where = f"{version} in {_OPERATOR}"
    return _pin(name, version, where, component, date(2026, 9, 23))


def _driver_pin(version: str) -> Pin:
    where = f"{version} listed with the default in NVIDIA/gpu-operator v26.7.0 and v26.7.1"
    return _pin(f"driver-{version.partition('.')[0]}", version, where, "driver")


KUEUE = _pin("kueue", "0.19.2", "kubernetes-sigs/kueue v0.19.2 (2026-08-20)")
GPU_OPERATOR = _operator_pin("gpu-operator", "26.7.1")
DRIVER = _operator_pin("driver", "595.91.07")

OPERATOR_PARTS: tuple[Pin, ...] = (
    DRIVER,
    _driver_pin("610.57.04"),
    _pin(
        "driver-580",
        "580.178.04",
        "580.178.04 fixes NVIDIA bulletin 5861 (2026-09-30), and NVIDIA's component matrix of GPU Operator 26.3.3 has it,"
        " read second-hand on 2026-09-24; that of 26.7 has 580.173.02",
        "driver",
        date(2026, 9, 30),
    ),
    _operator_pin("driver-manager", "0.12.1"),
    _operator_pin("container-toolkit", "1.20.1"),
    _operator_pin("device-plugin", "0.20.1"),
    _operator_pin("gpu-feature-discovery", "0.20.1", "device-plugin"),
    _operator_pin("mig-manager", "0.15.1"),
    _operator_pin("dcgm", "4.6.1-1"),
    _operator_pin("dcgm-exporter", "4.6.1-4.8.4"),
    _operator_pin("dra-driver", "0.5.0"),
    _pin(
        "dra-driver-chart",
        "0.5.0",
        "chart and image 0.5.0 of kubernetes-sigs/dra-driver-nvidia-gpu, promoted by kubernetes/k8s.io #9845 (2026-08-19)",
        "dra-driver",
    ),
    _pin(
        "gdrcopy",
        "2.6",
        "2.6 in deployments/gpu-operator/values.yaml of NVIDIA/gpu-operator v26.7.0",
    ),
    _pin(
        "gds",
        "2.29.4",
        "2.29.4 in deployments/gpu-operator/values.yaml of NVIDIA/gpu-operator v26.7.0",
    ),
    _pin("node-feature-discovery", "0.19.0", "subchart 0.19.0 of NVIDIA/gpu-operator v26.7.0"),
)
"""Default versions of this GPU Operator; drivers of other branches are listed too, including 535, whose
support has ended."""

QUEUEING: tuple[Pin, ...] = (
    KUEUE,
    _pin("volcano", "1.15.1", "volcano-sh/volcano v1.15.1 (2026-07-30)"),
    _pin(
        "volcano-chart",
        "1.15.0",
        "volcano-sh/helm-charts index.yaml, chart volcano 1.15.0",
        as_of=date(2026, 6, 1),
    ),
    _pin("jobset", "0.12.0", "kubernetes-sigs/jobset v0.12.0"),
    _pin("kubeflow-trainer", "2.3.0", "kubeflow/trainer v2.3.0 (2026-08-06), chart 2.3.0"),
    _pin(
        "kubeflow-training-operator", "1.9.4", "kubeflow/trainer v1.9.4 (2026-08-18), the old line"
    ),
    _pin("lws", "0.10.0", "kubernetes-sigs/lws v0.10.0 (2026-08-11)"),
    _pin("kuberay", "1.7.0", "ray-project/kuberay v1.7.0 (2026-08-19)"),
    _pin("mpi-operator", "0.8.2", "kubeflow/mpi-operator v0.8.2 (2026-07-02); manifests, no chart"),
)
"""Software that queues and runs jobs."""

SCALING: tuple[Pin, ...] = (
    _pin("karpenter", "1.14.1", "kubernetes-sigs/karpenter v1.14.1 (2026-08-20)"),
    _pin("karpenter-aws", "1.14.1", "aws/karpenter-provider-aws v1.14.1 (2026-08-20)"),
    _pin(
        "cluster-autoscaler",
        "1.36.1",
        "kubernetes/autoscaler cluster-autoscaler 1.36.1 (2026-07-22)",
    ),
    _pin(
        "cluster-autoscaler-chart",
        "9.59.0",
        "kubernetes/autoscaler chart 9.59.0, appVersion 1.35.0",
    ),
    _pin(
        "efa-device-plugin",
        "0.5.20",
        "image v0.5.20 of chart aws-efa-k8s-device-plugin v0.5.30",
    ),
    _pin(
        "keda",
        "2.21.0",
        "kedacore/keda v2.21.0 (2026-09-23), tested with Kubernetes 1.34 to 1.36; public stacks install chart 2.21.0",
        as_of=date(2026, 9, 23),
    ),
)
"""Software that adds and removes nodes and replicas."""

OBSERVABILITY: tuple[Pin, ...] = (
    _pin(
        "prometheus-operator", "0.93.1", "appVersion v0.93.1 of chart kube-prometheus-stack 88.5.3"
    ),
    _pin("kube-prometheus-stack", "88.5.3", "prometheus-community/helm-charts 88.5.3"),
    _pin(
        "prometheus-operator-crds", "31.0.1", "prometheus-community/helm-charts 31.0.1 (CRDs only)"
    ),
    _pin("prometheus-adapter", "0.12.0", "kubernetes-sigs/prometheus-adapter v0.12.0 (2024-05-16)"),
    _pin("prometheus-adapter-chart", "5.3.0", "prometheus-community/helm-charts 5.3.0"),
    _pin("kube-state-metrics", "2.20.0", "appVersion 2.20.0 of chart kube-state-metrics 8.4.0"),
    _pin("kube-state-metrics-chart", "8.4.0", "prometheus-community/helm-charts 8.4.0"),
    _pin("opencost", "1.120.1", "image tag 1.120.1 of chart opencost-2.5.17 (2026-04)"),
    _pin("opencost-chart", "2.5.17", "opencost/opencost-helm-chart opencost-2.5.17 (2026-04)"),
    _pin("nvidia-ml-py", "13.615.71", "nvidia-ml-py 13.615.71, the wheel opened"),
)
"""Software for monitoring and cost."""

MLOPS: tuple[Pin, ...] = (
    _pin(
        "argo-workflows",
        "4.0.8",
        "argoproj/argo-workflows v4.0.8 (2026-07-22); 4.0.5 fixes CVE-2026-40886",
        as_of=date(2026, 7, 22),
    ),
    _pin(
        "argo-workflows-chart",
        "1.0.23",
        "argoproj/argo-helm chart 1.0.23 with Argo Workflows v4.0.8, by two public notes",
        as_of=date(2026, 8, 11),
    ),
    _pin(
        "argo-cd",
        "3.5.3",
        "argoproj/argo-cd v3.5.3, as public stacks of 2026-09 run it",
        as_of=date(2026, 9, 14),
    ),
    _pin(
        "argo-cd-chart",
        "10.9.1",
        "argoproj/argo-helm chart 10.9.1 (2026-09-14) with Argo CD v3.5.3, by a public note",
        as_of=date(2026, 9, 14),
    ),
    _pin("tekton-operator", "0.81.1", "tektoncd/operator v0.81.1 (2026-08-19), Pipelines v1.15.0"),
    _pin(
        "cert-manager",
        "1.21.2",
        "cert-manager/cert-manager v1.21.2 (2026-09-11), by a public note",
        as_of=date(2026, 9, 11),
    ),
    _pin("kserve", "0.20.0", "kserve/kserve v0.20.0 (2026-08-06)"),
)
"""Software for pipelines, deliveries and model servers."""

PINS: Mapping[str, Pin] = {
    pin.name: pin
    for pin in (GPU_OPERATOR, *OPERATOR_PARTS, *QUEUEING, *SCALING, *OBSERVABILITY, *MLOPS)
}
"""Every pin by name."""

KUBERNETES_MINORS: tuple[str, ...] = ("1.33", "1.34", "1.35", "1.36", "1.37")
"""Kubernetes minors that a stack may have: those that GPU Operator 26.7 supports. Both clouds offer 1.37 since
2026-10, but some pinned components do not list it yet."""

NEWEST_TRIED = "1.36"
"""The newest minor that all pinned components support, which fixes suggest."""


def is_before(minor: str, since: str) -> bool:
    """Whether a supported minor is older than another one; another check rejects unsupported minors."""
    known = KUBERNETES_MINORS
    return minor in known and known.index(minor) < known.index(since)
