"""Training pods have their cores and their memory to themselves: requests are limits."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.admission.parameters import TeamParameters
from gpuyard.admission.requirement import Sentence, Slip, Workload
from gpuyard.findings import Path
from gpuyard.manifests.fields import known, mapping, text
from gpuyard.manifests.pods import called
from gpuyard.manifests.quantities import CPU, MEMORY, quantity
from gpuyard.names import CLASS_LABEL

TRAINING = "training"
RESOURCES = (CPU, MEMORY)
NO_LIMIT = Sentence(
    "container {container} of a training pod has no limit of {resource}",
    "write how much {resource} it needs as its limit; the request is then the same",
)
LESS = Sentence(
    "container {container} of a training pod requests less {resource} than its limit",
    "write the same {resource} as request and limit: only then it is its own",
)


def guaranteed(workload: Workload, parameters: TeamParameters) -> Iterator[Slip]:
    """Containers of training that others may push aside."""
    for pod in workload.pods if parameters.guaranteed else ():
        if TRAINING not in {_class(workload.metadata), _class(pod.metadata)}:
            continue
        for path, container in pod.containers():
            if "ephemeralContainers" not in path:  # they may not ask for resources
                yield from _container(path, container)


def _class(metadata: Mapping[str, Any]) -> str:
    return text(mapping(metadata.get("labels")).get(CLASS_LABEL))


def _container(path: Path, container: Mapping[str, Any]) -> Iterator[Slip]:
    resources = mapping(container.get("resources"))
    limits, requests = mapping(resources.get("limits")), mapping(resources.get("requests"))
    name = called(path, container)
    for resource in RESOURCES:
        limit, request = known(limits.get(resource)), known(requests.get(resource))
        if limit is None:
            where = (*path, "resources", "limits", resource)
            yield NO_LIMIT.slip(where, container=name, resource=resource)
        elif request is not None and quantity(request) != quantity(limit):
            where = (*path, "resources", "requests", resource)
            yield LESS.slip(where, container=name, resource=resource)
