"""Pods inside the many kinds that make them, so that a pod rule is written once."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.findings import Path
from gpuyard.manifests.fields import items, mapping
from gpuyard.manifests.pods import GPU_PREFIXES, VENDOR, Pod, gpu_requests
from gpuyard.rules.rule import Resource

__all__ = ["GPU_PREFIXES", "POD_KINDS", "VENDOR", "Pod", "gpu_requests", "pods_of"]

_TEMPLATE: Path = ("spec", "template")
_AT: Mapping[str, tuple[Path, ...]] = {
    "Pod": ((),),
    "PodTemplate": (("template",),),
    "ReplicationController": (_TEMPLATE,),
    "apps/Deployment": (_TEMPLATE,),
    "apps/StatefulSet": (_TEMPLATE,),
    "apps/DaemonSet": (_TEMPLATE,),
    "apps/ReplicaSet": (_TEMPLATE,),
    "batch/Job": (_TEMPLATE,),
    "batch/CronJob": (("spec", "jobTemplate", "spec", "template"),),
    "serving.knative.dev/Service": (_TEMPLATE,),
    "leaderworkerset.x-k8s.io/LeaderWorkerSet": (
        ("spec", "leaderWorkerTemplate", "leaderTemplate"),
        ("spec", "leaderWorkerTemplate", "workerTemplate"),
    ),
    "ray.io/RayCluster": (("spec", "headGroupSpec", "template"),),
    "ray.io/RayJob": (("spec", "rayClusterSpec", "headGroupSpec", "template"),),
    "ray.io/RayService": (("spec", "rayClusterConfig", "headGroupSpec", "template"),),
}
"""By group and kind: where a pod template stands."""
_LISTS: Mapping[str, tuple[tuple[Path, Path], ...]] = {
    "jobset.x-k8s.io/JobSet": ((("spec", "replicatedJobs"), ("template", "spec", "template")),),
    "trainer.kubeflow.org/TrainingRuntime": (
        (("spec", "template", "spec", "replicatedJobs"), ("template", "spec", "template")),
    ),
    "trainer.kubeflow.org/ClusterTrainingRuntime": (
        (("spec", "template", "spec", "replicatedJobs"), ("template", "spec", "template")),
    ),
    "ray.io/RayCluster": ((("spec", "workerGroupSpecs"), ("template",)),),
    "ray.io/RayJob": ((("spec", "rayClusterSpec", "workerGroupSpecs"), ("template",)),),
    "ray.io/RayService": ((("spec", "rayClusterConfig", "workerGroupSpecs"), ("template",)),),
    "batch.volcano.sh/Job": ((("spec", "tasks"), ("template",)),),
}
"""By group and kind: lists whose items each hold a pod template."""
_MAPS: Mapping[str, Path] = {
    "kubeflow.org/PyTorchJob": ("spec", "pytorchReplicaSpecs"),
    "kubeflow.org/TFJob": ("spec", "tfReplicaSpecs"),
    "kubeflow.org/MPIJob": ("spec", "mpiReplicaSpecs"),
    "kubeflow.org/JAXJob": ("spec", "jaxReplicaSpecs"),
    "kubeflow.org/XGBoostJob": ("spec", "xgbReplicaSpecs"),
    "kubeflow.org/PaddleJob": ("spec", "paddleReplicaSpecs"),
}
"""By group and kind: mappings whose values each hold a `template`."""

POD_KINDS: tuple[str, ...] = tuple(sorted({*_AT, *_LISTS, *_MAPS}))
"""Every kind in which pods are looked for."""


def pods_of(resource: Resource) -> Iterator[Pod]:
    """Every pod, or template of pods, in a resource."""
    kind, properties = resource.group_kind, resource.properties
    for path in _AT.get(kind, ()):
        yield from _pod(properties, path)
    for to_list, below in _LISTS.get(kind, ()):
        for index in range(len(items(_down(properties, to_list)))):
            yield from _pod(properties, (*to_list, index, *below))
    if (to_map := _MAPS.get(kind)) is not None:
        for key in mapping(_down(properties, to_map)):
            yield from _pod(properties, (*to_map, key, "template"))


def _pod(properties: Mapping[str, Any], path: Path) -> Iterator[Pod]:
    template = mapping(_down(properties, path))
    if spec := mapping(template.get("spec")):
        yield Pod(path, mapping(template.get("metadata")), spec)


def _down(value: Any, path: Path) -> Any:
    for step in path:
        value = items(value)[step] if isinstance(step, int) else mapping(value).get(step)
    return value
