"""Pods that custom resources describe in their own fields: images and GPU counts.

Only rules use them. Controllers decide what the pods become. A reported place is the field of the kind, or
the nearest one.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import at, items, known_value, mapping, text
from gpuyard_core.manifests.pods import Pod
from gpuyard_lint.rules.rule import Resource

_OF_CONTAINERS = ("env", "envFrom", "volumeMounts", "command", "args")


def _trainer(properties: Mapping[str, Any]) -> Iterator[Pod]:
    """A TrainJob: one container with the resources of a node; its runtime may add others."""
    trainer = mapping(properties, "spec", "trainer")
    if trainer:
        yield _alone(("spec",), "trainer", trainer, trainer.get("resourcesPerNode"))


def _role(name: str, *spec: str) -> Callable[[Mapping[str, Any]], Iterator[Pod]]:
    """A Spark application: GPUs by name and number, with its own image or the common one."""

    def pods(properties: Mapping[str, Any]) -> Iterator[Pod]:
        of_all = mapping(properties, *spec)
        role = mapping(of_all, name)
        gpu = mapping(role, "gpu")
        if role:
            both = {**role, "image": role.get("image", of_all.get("image"))}
            resources = (
                {"limits": {text(gpu, "name"): gpu.get("quantity")}} if text(gpu, "name") else {}
            )
            yield _alone(spec, name, both, resources)

    return pods


def image_at(resource: Resource, container: Path) -> Path:
    """The path of a container image: that of all roles if the container has none."""
    own = "image" in mapping(at(resource.properties, *container))
    return (*(container if own else container[:-1]), "image")


def _application(*spec: str) -> Callable[[Mapping[str, Any]], Iterator[Pod]]:
    roles = [_role(name, *spec) for name in ("driver", "executor")]
    return lambda properties: (pod for role in roles for pod in role(properties))


def _nim(properties: Mapping[str, Any]) -> Iterator[Pod]:
    """The spec of a NIM is that of a container, with its image in parts."""
    spec = mapping(properties, "spec")
    if spec:
        yield _alone((), "spec", {**spec, "image": _image(spec)}, spec.get("resources"))


def _pipeline(properties: Mapping[str, Any]) -> Iterator[Pod]:
    for index, service in enumerate(items(mapping(properties, "spec"), "services")):
        spec = mapping(service, "spec")
        where: Path = ("spec", "services", index)
        if spec:
            yield _alone(where, "spec", {**spec, "image": _image(spec)}, spec.get("resources"))


def _image(spec: Mapping[Any, Any]) -> str:
    value = mapping(spec, "image")
    tag = text(value, "tag")
    return f"{text(value, 'repository')}{':' if tag else ''}{tag}"


def _workers(properties: Mapping[str, Any]) -> Iterator[Pod]:
    """Objects that serve a model on several nodes: workers in addition to the predictor's container."""
    spec = mapping(properties, "spec", "predictor", "workerSpec")
    if spec:
        servers = tuple(
            key for key, inner in spec.items() if "resources" in mapping(known_value(inner))
        )
        yield Pod(
            ("spec", "predictor", "workerSpec"), {}, spec, inline=True, container_fields=servers
        )


def _alone(path: Path, name: str, fields: Mapping[Any, Any], resources: Any) -> Pod:
    """A pod with one container, whose fields are among those of the pod."""
    container = {key: fields[key] for key in ("image", *_OF_CONTAINERS) if key in fields}
    if isinstance(security := known_value(fields.get("securityContext")), Mapping):
        container["securityContext"] = security
    container["name"] = name
    if known_resources := known_value(resources):
        container["resources"] = known_resources
    spec = {key: each for key, each in fields.items() if key not in {*container, "containers"}}
    return Pod(path, {}, {**spec, name: container}, inline=True, container_fields=(name,))


PARTS: Mapping[str, Callable[[Mapping[str, Any]], Iterator[Pod]]] = {
    "trainer.kubeflow.org/TrainJob": _trainer,
    "sparkoperator.k8s.io/SparkApplication": _application("spec"),
    "sparkoperator.k8s.io/ScheduledSparkApplication": _application("spec", "template"),
    "apps.nvidia.com/NIMService": _nim,
    "apps.nvidia.com/NIMCache": _nim,
    "apps.nvidia.com/NIMPipeline": _pipeline,
    "serving.kserve.io/InferenceService": _workers,
}
"""By group and kind."""
