"""GPU-OLD-01: objects of a version that is on its way out."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.findings import Severity
from gpuyard.rules.rule import Parameters, Resource, Rule, Stack, Violation
from gpuyard.rules.subjects.installed import all_older
from gpuyard.rules.subjects.pods import GPU_PREFIXES

_KUEUE = (
    "ClusterQueue",
    "ResourceFlavor",
    "LocalQueue",
    "Cohort",
    "AdmissionCheck",
    "Topology",
    "WorkloadPriorityClass",
    "ProvisioningRequestConfig",
    "MultiKueueConfig",
    "MultiKueueCluster",
)
_TEKTON = tuple(f"tekton.dev/{kind}" for kind in ("Task", "TaskRun", "Pipeline", "PipelineRun"))
_V1BETA1: Mapping[str, str] = {
    **{f"kueue.x-k8s.io/{kind}": "kueue.x-k8s.io/v1beta2" for kind in _KUEUE},
    **dict.fromkeys(_TEKTON, "tekton.dev/v1"),
}
"""Kinds whose v1beta1 is deprecated, and what is served instead."""
_KUEUE_SINCE = (0, 15)
"""The first Kueue that serves v1beta2."""
_LEGACY = ("kubeflow.org/PyTorchJob", "kubeflow.org/JAXJob", "kubeflow.org/XGBoostJob")
"""Those for which the newer line has a runtime; TensorFlow and Paddle have none there."""
_TRAINER = "trainer.kubeflow.org/v1alpha1"


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    older = all_older(stack, "kueue", _KUEUE_SINCE)
    for kind, served in _V1BETA1.items():
        if older and kind not in _TEKTON:
            continue  # the one that is installed here has no later version
        for resource in stack.of(kind):
            ours = kind not in _TEKTON or _asks_gpus(resource.properties)
            if ours and resource.kind.split("/")[1] in {"v1beta1", "v1alpha1"}:
                yield _old(resource, f"{resource.kind} is deprecated", f"write {served}")
    for resource in stack.of(*_LEGACY):
        problem = f"{resource.kind} is of the training operator's first line"
        yield _old(resource, problem, f"write a TrainJob of {_TRAINER}")


def _asks_gpus(value: Any) -> bool:
    """Whether a resource of GPUs is a key anywhere in it: Tekton has called the place in three ways."""
    if isinstance(value, Mapping):
        return any(str(k).startswith(GPU_PREFIXES) or _asks_gpus(each) for k, each in value.items())
    return isinstance(value, list) and any(map(_asks_gpus, value))


def _old(resource: Resource, problem: str, fix: str) -> Violation:
    return Violation(("apiVersion",), problem, fix, resource)


RULE = Rule(
    id="GPU-OLD-01",
    title="Objects are of versions that stay",
    severity=Severity.NOTE,
    why="A deprecated version is served until it is not, and the upgrade that ends it is somebody else's.",
    fix="Write kueue.x-k8s.io/v1beta2, tekton.dev/v1, and TrainJobs.",
    sources=(
        "kubernetes-sigs/kueue v0.15.0: v1beta2 served; v0.19.2: v1beta1 deprecated, kubeflow.org kinds off in the chart",
        "kubeflow/trainer v2.3.0; tektoncd/pipeline: v1 since 0.43",
    ),
    kinds=(*_V1BETA1, *_LEGACY),
    check_stack=_check,
)
