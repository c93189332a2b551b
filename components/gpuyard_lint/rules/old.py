"""Rules on versions of APIs."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.manifests.fields import if_known, mapping, text
from gpuyard_core.manifests.pods import GPU_PREFIXES
from gpuyard_core.names import QUEUE_LABEL
from gpuyard_lint.rules.rule import (
    Parameters,
    Resource,
    Stack,
    Violation,
    load_rule,
    read_table,
)
from gpuyard_lint.rules.subjects.installed_versions import (
    has_vendor_kueue,
    is_version_unknown,
    kuberay_accepting_v1alpha1,
    kueue_without_v1beta2,
    trainer_without_trainjob,
)
from gpuyard_lint.rules.subjects.pods import POD_KINDS, pods_of, speaks_of_gpus
from gpuyard_lint.rules.subjects.tenants import CLUSTER_QUEUE, covers_gpus, resource_groups

# GPU-OLD-01
_KUEUE: list[str] = read_table("kueue_kinds")
_TEKTON = tuple(f"tekton.dev/{kind}" for kind in ("Task", "TaskRun", "Pipeline", "PipelineRun"))
_V1BETA1: Mapping[str, str] = {
    **{f"kueue.x-k8s.io/{kind}": "kueue.x-k8s.io/v1beta2" for kind in _KUEUE},
    **dict.fromkeys(_TEKTON, "tekton.dev/v1"),
}
"""Kinds whose v1beta1 is deprecated, and the served version."""
_RAY = tuple(f"ray.io/{kind}" for kind in ("RayCluster", "RayJob", "RayService"))
"""Kinds whose v1alpha1 is deprecated since KubeRay 1.7."""
_LEGACY = ("kubeflow.org/PyTorchJob", "kubeflow.org/JAXJob", "kubeflow.org/XGBoostJob")
"""Kinds for which Trainer has a runtime; TensorFlow and Paddle have none."""
_OF_GPUS = frozenset({"kai-scheduler"})
_TRAINER = "trainer.kubeflow.org/v1alpha1"


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    vendors, older = has_vendor_kueue(stack), kueue_without_v1beta2(stack)
    elsewhere = bool(older) and not _speaks_of_gpus(stack)
    apart = _queues_no_gpus(stack)
    for kind, served in _V1BETA1.items():
        if (vendors or elsewhere) and kind not in _TEKTON:
            continue  # valid at its version, and its operator converts objects
        for resource in stack.resources_of_kinds(kind):
            ours = kind not in _TEKTON or _asks_gpus(resource.properties)
            if ours and resource.kind.split("/")[1] in {"v1beta1", "v1alpha1"}:
                first = older and kind not in _TEKTON
                fix = f"upgrade Kueue {older}, which serves no later version, and write {served}"
                problem = f"{resource.kind} is deprecated"
                choice = (apart or bool(older)) and kind not in _TEKTON
                yield _old(resource, problem, fix if first else f"write {served}", choice=choice)
    yield from _rays(stack)
    yield from _jobs(stack, apart=apart)


def _rays(stack: Stack) -> Iterator[Violation]:
    """KubeRay objects, whose installed version may serve no later one."""
    first = kuberay_accepting_v1alpha1(stack)
    for resource in stack.resources_of_kinds(*_RAY):
        if resource.kind.split("/")[1] == "v1alpha1" and _asks_gpus(resource.properties):
            fix = (
                f"when you upgrade KubeRay {first}, write ray.io/v1" if first else "write ray.io/v1"
            )
            # where a variable decides which KubeRay version reads it, that version may serve it
            choice = bool(first) or is_version_unknown(stack, "kuberay-operator")
            yield _old(resource, f"{resource.kind} is deprecated", fix, choice=choice)


def _jobs(stack: Stack, *, apart: bool) -> Iterator[Violation]:
    """Training operator objects, whose installed version may have no later kind."""
    first = trainer_without_trainjob(stack)
    for resource in stack.resources_of_kinds(*_LEGACY):
        if not mapping(resource.properties, "metadata").keys() & {"name", "generateName"}:
            continue  # a template, for a program that reads this kind
        if _is_without_gpus(resource, apart=apart):
            continue
        problem = f"{resource.kind} is an API of the legacy training operator (v1)"
        fix = f"write a TrainJob of {_TRAINER}"
        if first:
            fix = f"when you upgrade training-operator {first} to Trainer 2, {fix}"
        # that version has no other kind: the object is valid until an upgrade
        yield _old(resource, problem, fix, choice=bool(first))


def _speaks_of_gpus(stack: Stack) -> bool:
    """Whether a queue, a flavor or a job mentions GPUs: otherwise it is only old."""
    kinds = (*(f"kueue.x-k8s.io/{kind}" for kind in _KUEUE), *_LEGACY, *POD_KINDS)
    return any(map(speaks_of_gpus, stack.resources_of_kinds(*kinds)))


def _queues_no_gpus(stack: Stack) -> bool:
    """Whether all queues in the input cover other resources, and nothing else there mentions GPUs."""
    queues = stack.resources_of_kinds(CLUSTER_QUEUE)
    plain = if_known(bool(resource_groups(each)) and not covers_gpus(each) for each in queues)
    return bool(plain) and all(plain) and not _speaks_of_gpus(stack)


def _asks_gpus(value: Any) -> bool:
    """Whether a GPU resource is a key anywhere in it: Tekton has had three names for the place."""
    if isinstance(value, Mapping):
        return any(str(k).startswith(GPU_PREFIXES) or _asks_gpus(each) for k, each in value.items())
    return isinstance(value, list) and any(map(_asks_gpus, value))


def _is_without_gpus(job: Resource, *, apart: bool) -> bool:
    """Whether its containers are listed, none requests a GPU, and no GPU queue or scheduler handles it."""
    pods = [pod for pod in pods_of(job) if list(pod.containers())]
    placed = any(text(pod.spec, "schedulerName") in _OF_GPUS for pod in pods)
    queued = not apart and QUEUE_LABEL in mapping(job.properties, "metadata", "labels")
    # a number may be a placeholder: the name of the resource is enough
    return bool(pods) and not (placed or queued or _asks_gpus(job.properties))


def _old(resource: Resource, problem: str, fix: str, *, choice: bool) -> Violation:
    return Violation(("apiVersion",), problem, fix, resource, is_advisory=choice)


RULES = (load_rule("GPU-OLD-01", kinds=(*_V1BETA1, *_RAY, *_LEGACY), check_stack=_check),)
