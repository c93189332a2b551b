"""Pods of a team honour termination and preempt no other team."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.admission.bypass import requests_gpus
from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.requirement import Workload, new_violation
from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import items, known_value, mapping, text
from gpuyard_core.manifests.pods import CONTAINER_GROUPS, Pod, container_name
from gpuyard_core.manifests.quantities import CPU, MEMORY, Violation, quantity
from gpuyard_core.names import CLASS_LABEL, CLASS_OF_POD, PRIORITY_LABEL

LONGEST_GRACE = 3600
"""Maximum grace period in seconds of a pod without GPUs: as long as autoscalers wait for a pod."""
MOST_CONTAINERS = 40
"""Maximum containers of one pod: the evaluation time of policies and webhooks grows with their
number.
"""
PROBES = ("livenessProbe", "startupProbe")
"""Probes that terminate a container, with a grace period of their own."""
COUNTED_GROUPS = CONTAINER_GROUPS[:2]
"""Containers and init containers; ephemeral containers may be added to a pod with the maximum."""
GRACE = "terminationGracePeriodSeconds"
FINALIZERS = ("kueue.x-k8s.io/managed", "batch.kubernetes.io/job-tracking")
"""Finalizers that Kueue and jobs add to pods and remove again."""
SEPARATOR, NONE = ", ", "it has none"


def check_container_count(workload: Workload) -> Iterator[Violation]:
    """A pod with so many containers that other policies do not evaluate it."""
    if workload.previous and any(check_container_count(workload.previous)):
        return
    too_many = (
        pod
        for pod in workload.pods
        if sum(len(items(pod.spec.get(group))) for group in COUNTED_GROUPS) > MOST_CONTAINERS
    )
    if first := next(too_many, None):
        yield new_violation(
            "termination.CROWDED", first.field_path("containers"), most=str(MOST_CONTAINERS)
        )


def check_priority_and_termination(
    workload: Workload, parameters: TeamParameters
) -> Iterator[Violation]:
    """Pods that preempt others, or delay their termination."""
    yield from check_container_count(workload)
    for pod in workload.pods:
        yield from _priority(pod, parameters)
        yield from _grace(pod, parameters)
        if workload.kind == "Pod" and workload.by_controller:
            continue  # operators remove the finalizers that they add
        for index, each in enumerate(items(pod.metadata.get("finalizers"))):
            if (name := text(each)) not in FINALIZERS:
                yield new_violation(
                    "termination.STAYS", (*pod.path, "metadata", "finalizers", index), name=name
                )
    yield from _in_queues(workload, parameters)


def _grace(pod: Pod, parameters: TeamParameters) -> Iterator[Violation]:
    longest = parameters.max_grace_period_seconds if requests_gpus(pod) else LONGEST_GRACE
    probes = (
        ((*path, probe), mapping(container.get(probe)))
        for path, container in pod.containers()
        for probe in PROBES
    )
    for path, value in ((pod.field_path(), pod.spec), *probes):
        seconds = known_value(value.get(GRACE))
        if isinstance(seconds, int) and seconds > longest:
            yield new_violation(
                "termination.LINGERS", (*path, GRACE), seconds=str(seconds), longest=str(longest)
            )


def _in_queues(workload: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    before = [name for _, name in _priorities(workload.previous)] if workload.previous else []
    allowed = SEPARATOR.join(parameters.priorities) or NONE
    for path, name in _priorities(workload):
        if name and name not in (*parameters.priorities, *before):
            yield new_violation("termination.OF_OTHERS", path, name=name, allowed=allowed)


def _priorities(workload: Workload) -> Iterator[tuple[Path, str]]:
    """Priorities that Kueue reads from the workload, its jobs and its pods."""
    results: list[tuple[Path, Mapping[str, Any]]] = [
        ((), workload.metadata),
        (("spec", "jobTemplate"), workload.jobs_metadata),
    ]
    if workload.kind != "Pod":
        results += [(pod.path, pod.metadata) for pod in workload.pods]
    for path, metadata in results:
        name = text(mapping(metadata.get("labels")).get(PRIORITY_LABEL))
        yield (*path, "metadata", "labels", PRIORITY_LABEL), name


def _priority(pod: Pod, parameters: TeamParameters) -> Iterator[Violation]:
    name, number = text(pod.spec.get("priorityClassName")), pod.spec.get("priority")
    # the API server sets the number of the class in pods; no value is below the default without a
    # class
    evicts_no_pod = isinstance(number, int) and number <= 0
    if name and name not in parameters.priority_classes and not evicts_no_pod:
        yield new_violation("termination.PRIORITY", pod.field_path("priorityClassName"), name=name)


TRAINING = "training"
RESOURCES = (CPU, MEMORY)


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
            yield new_violation("termination.NO_LIMIT", where, container=name, resource=resource)
        elif request is not None and quantity(request) != quantity(limit):
            where = (*path, "resources", "requests", resource)
            yield new_violation("termination.LESS", where, container=name, resource=resource)
