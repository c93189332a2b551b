"""Training pods have their cores and their memory to themselves: requests are limits."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.admission.parameters import TeamParameters
from gpuyard.admission.requirement import Violation, ViolationTemplate, Workload
from gpuyard.findings import Path
from gpuyard.manifests.fields import known_value, mapping, text
from gpuyard.manifests.pods import container_name
from gpuyard.manifests.quantities import CPU, MEMORY, quantity
from gpuyard.names import CLASS_LABEL

TRAINING = "training"
RESOURCES = (CPU, MEMORY)
NO_LIMIT = ViolationTemplate(
    "container {container} of a training pod has no limit of {resource}",
    "write how much {resource} it needs as its limit; the request is then the same",
)
LESS = ViolationTemplate(
    "container {container} of a training pod requests less {resource} than its limit",
    "write the same {resource} as request and limit: only then it is its own",
)


def check_guaranteed_qos(workload: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    """Containers of training that others may push aside."""
    for pod in workload.pods if parameters.guaranteed else ():
        if TRAINING not in {_class(workload.metadata), _class(pod.metadata)}:
            continue
        for path, container in pod.containers():
            if "ephemeralContainers" not in path:  # they may not ask for resources
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
            yield NO_LIMIT.violation(where, container=name, resource=resource)
        elif request is not None and quantity(request) != quantity(limit):
            where = (*path, "resources", "requests", resource)
            yield LESS.violation(where, container=name, resource=resource)
