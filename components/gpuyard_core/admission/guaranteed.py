"""Training pods have equal CPU and memory requests and limits."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.requirement import ViolationTemplate, Workload
from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import known_value, mapping, text
from gpuyard_core.manifests.pods import container_name
from gpuyard_core.manifests.quantities import CPU, MEMORY, quantity
from gpuyard_core.manifests.resources import Violation
from gpuyard_core.names import CLASS_LABEL, CLASS_OF_POD

TRAINING = "training"
RESOURCES = (CPU, MEMORY)
NO_LIMIT = ViolationTemplate(
    "container {container} of a training pod has no limit of {resource}",
    "set the {resource} limit to what the container needs; the request then defaults to it",
)
LESS = ViolationTemplate(
    "container {container} of a training pod requests less {resource} than its limit",
    "set the {resource} request equal to the limit; QoS class Guaranteed requires it",
)


def check_guaranteed_qos(workload: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    """Training containers that can be throttled or evicted in favour of others."""
    for pod in workload.pods if parameters.guaranteed else ():
        if CLASS_OF_POD in mapping(pod.metadata.get("annotations")):
            continue  # its workload was admitted without a class
        if TRAINING not in {_class(workload.metadata), _class(pod.metadata)}:
            continue
        for path, container in pod.containers():
            if "ephemeralContainers" not in path:  # ephemeral containers cannot request resources
                yield from _container(path, container)


def _class(metadata: Mapping[str, Any]) -> str:
    return text(mapping(metadata.get("labels")).get(CLASS_LABEL))


def _container(path: Path, container: Mapping[str, Any]) -> Iterator[Violation]:
    resources = mapping(container.get("resources"))
    limits, requests = mapping(resources.get("limits")), mapping(resources.get("requests"))
    name = container_name(path, container)
    for resource in RESOURCES:
        limit, request = known_value(limits.get(resource)), known_value(requests.get(resource))
        if limit is None:
            where = (*path, "resources", "limits", resource)
            yield NO_LIMIT.fill_in(where, container=name, resource=resource)
        elif request is not None and quantity(request) != quantity(limit):
            where = (*path, "resources", "requests", resource)
            yield LESS.fill_in(where, container=name, resource=resource)
