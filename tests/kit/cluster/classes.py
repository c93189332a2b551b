"""Labelled jobs as complete objects for an API server."""

import copy
from typing import Any

from gpuyard_core.manifests.templates import KINDS, templates_of, workload_kind
from gpuyard_simulate.crds import stand_in

Value = dict[str, Any]
VERSIONS = {
    "kubeflow.org/MPIJob": "v2beta1",
    "jobset.x-k8s.io/JobSet": "v1alpha2",
    "trainer.kubeflow.org/TrainJob": "v1alpha1",
    "serving.kserve.io/InferenceService": "v1beta1",
    "batch.volcano.sh/Job": "v1alpha1",
}
"""API versions other than v1."""
GPU = "nvidia.com/gpu"
_SELECTED = {"Deployment", "StatefulSet", "ReplicaSet"}


def kind_of(value: Value) -> str:
    """The group and kind of a workload; the case may omit the group."""
    known = workload_kind(value)
    return next(name for name, kind in KINDS.items() if kind is known)


def definition(kind: str) -> Value:
    """A definition of a kind of another project that accepts any field."""
    group, _, name = kind.partition("/")
    return stand_in(f"{group}/{VERSIONS.get(kind, 'v1')}", name, "Namespaced")


def completed(case: Value) -> Value:
    """The workload with the fields that the API server needs, and a GPU for each container."""
    value = copy.deepcopy(case)
    kind = kind_of(value)
    group, _, name = kind.rpartition("/")
    version = VERSIONS.get(kind, "v1")
    value |= {"apiVersion": f"{group}/{version}" if group else version, "kind": name}
    value.setdefault("metadata", {}).setdefault("name", "x")
    value["metadata"]["name"] = value["metadata"]["name"].lower().replace("_", "-")
    value["metadata"].pop("namespace", None)
    spec = value.setdefault("spec", {})
    if name in _SELECTED:
        spec["selector"] = {"matchLabels": {"selected": "yes"}}
        template = spec.setdefault("template", {})
        template.setdefault("metadata", {}).setdefault("labels", {})["selected"] = "yes"
    if name == "StatefulSet":
        spec.setdefault("serviceName", "x")
    if kind in {"batch/Job", "batch/CronJob"}:
        job = spec if name == "Job" else spec["jobTemplate"].setdefault("spec", {})
        pod = job.setdefault("template", {}).setdefault("spec", {})
        pod.setdefault("restartPolicy", "Never")
    for template in templates_of(workload_kind(value), value):
        _complete(template.spec)
    return value


def _complete(pod: Any) -> None:
    for field in ("containers", "initContainers"):
        for index, container in enumerate(pod.get(field, ())):
            container.setdefault("name", f"{field[0]}{index}")
            container.setdefault("image", "registry.example.org/app")
            for at, port in enumerate(container.get("ports", ())):
                port.setdefault("containerPort", 8000 + at)
            if not container.get("resources"):
                container["resources"] = {"limits": {GPU: 1}}
