"""GPU-OLD-01: objects of a version that is on its way out."""

from collections.abc import Iterator, Mapping

from gpuyard.findings import Severity
from gpuyard.rules.rule import Parameters, Resource, Rule, Stack, Violation

_KUEUE = (
    "ResourceFlavor",
    "LocalQueue",
    "Cohort",
    "AdmissionCheck",
    "Topology",
    "WorkloadPriorityClass",
)
_V1BETA1: Mapping[str, str] = {
    **{f"kueue.x-k8s.io/{kind}": "kueue.x-k8s.io/v1beta2" for kind in _KUEUE},
    **{
        f"tekton.dev/{kind}": "tekton.dev/v1"
        for kind in ("Task", "TaskRun", "Pipeline", "PipelineRun")
    },
}
"""Kinds whose v1beta1 is deprecated, and what is served instead; a ClusterQueue has GPU-TEN-04."""
_LEGACY = ("kubeflow.org/PyTorchJob", "kubeflow.org/JAXJob", "kubeflow.org/XGBoostJob")
"""Those for which the newer line has a runtime; TensorFlow and Paddle have none there."""
_TRAINER = "trainer.kubeflow.org/v1alpha1"
_QUEUES = ("kueue.x-k8s.io/ClusterQueue", "kueue.x-k8s.io/LocalQueue", "values:kueue")


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    for kind, served in _V1BETA1.items():
        for resource in stack.of(kind):
            if resource.kind.split("/")[1] in {"v1beta1", "v1alpha1"}:
                yield _old(resource, f"{resource.kind} is deprecated", f"write {served}")
    queued = bool(stack.of(*_QUEUES))
    for resource in stack.of(*_LEGACY):
        also = ", and Kueue's chart has it off: it starts past every queue" if queued else ""
        problem = f"{resource.kind} is of the training operator's first line{also}"
        yield _old(resource, problem, f"write a TrainJob of {_TRAINER}")


def _old(resource: Resource, problem: str, fix: str) -> Violation:
    return Violation(("apiVersion",), problem, fix, resource)


RULE = Rule(
    id="GPU-OLD-01",
    title="Objects are of versions that stay",
    severity=Severity.NOTE,
    why="A deprecated version is served until it is not, and the upgrade that ends it is somebody else's.",
    fix="Write kueue.x-k8s.io/v1beta2, tekton.dev/v1, and TrainJobs.",
    sources=(
        "kubernetes-sigs/kueue v0.19.2: v1beta1 deprecated, kubeflow.org kinds off in the chart",
        "kubeflow/trainer v2.3.0; tektoncd/pipeline: v1 since 0.43",
    ),
    kinds=(*_V1BETA1, *_LEGACY),
    check_stack=_check,
)
