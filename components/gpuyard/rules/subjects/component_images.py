"""Pods that a kind describes in words of its own: an image here, a number of GPUs there.

Only rules look at them: what becomes of the pods, their controllers decide. A place that is told is where the
kind has it, or the nearest thing around.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gpuyard.findings import Path
from gpuyard.manifests.pods import Pod
from gpuyard.rules.rule import Resource, at, items, known_value, mapping, text

_OF_CONTAINERS = ("env", "envFrom", "volumeMounts", "command", "args")


def _trainer(properties: Mapping[str, Any]) -> Iterator[Pod]:
    """Of a TrainJob: one container, its resources those of a node; what else the runtime has is not here."""
    trainer = mapping(properties, "spec", "trainer")
    if trainer:
        yield _alone(("spec",), "trainer", trainer, trainer.get("resourcesPerNode"))


def _role(name: str, *spec: str) -> Callable[[Mapping[str, Any]], Iterator[Pod]]:
    """Of a Spark application: GPUs by name and number, an image of its own or that of all."""

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
    """Where the image of a container stands: that of all roles, where it has none of its own."""
    own = "image" in mapping(at(resource.properties, *container))
    return (*(container if own else container[:-1]), "image")


def _application(*spec: str) -> Callable[[Mapping[str, Any]], Iterator[Pod]]:
    roles = [_role(name, *spec) for name in ("driver", "executor")]
    return lambda properties: (pod for role in roles for pod in role(properties))


def _nim(properties: Mapping[str, Any]) -> Iterator[Pod]:
    """A NIM's spec is that of a container, its image in parts."""
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
    """What serves a model on several nodes: workers beside the predictor's own container."""
    spec = mapping(properties, "spec", "predictor", "workerSpec")
    if spec:
        servers = tuple(
            key for key, inner in spec.items() if "resources" in mapping(known_value(inner))
        )
        yield Pod(
            ("spec", "predictor", "workerSpec"), {}, spec, inline=True, container_fields=servers
        )


def _alone(path: Path, name: str, fields: Mapping[Any, Any], resources: Any) -> Pod:
    """A pod of one container, whose fields stand among those of the pod."""
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
