"""Pods of a team go when they are told to, and push nobody aside."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.admission.bypass import requests_gpus
from gpuyard.admission.parameters import TeamParameters
from gpuyard.admission.requirement import Violation, ViolationTemplate, Workload
from gpuyard.findings import Path
from gpuyard.manifests.fields import items, known_value, mapping, text
from gpuyard.manifests.pods import CONTAINER_GROUPS, Pod
from gpuyard.names import PRIORITY_LABEL

LONGEST_GRACE = 3600
"""Seconds that a pod without GPUs may take to end: as long as autoscalers wait for one."""
MOST_CONTAINERS = 40
"""Of one pod: what policies and webhooks take of the API server's time grows with them."""
PROBES = ("livenessProbe", "startupProbe")
"""Which of a container's probes end it, in a time of their own."""
COUNTED_GROUPS = CONTAINER_GROUPS[:2]
"""Containers and init containers; a debugger may come to a pod that has as many as it may."""
GRACE = "terminationGracePeriodSeconds"
FINALIZERS = ("kueue.x-k8s.io/managed", "batch.kubernetes.io/job-tracking")
"""What Kueue and jobs write into pods, and take out again."""
CROWDED = ViolationTemplate(
    "a pod has more than {most} containers: to look at all of them keeps the API server from other teams",
    "divide the pod",
)
PRIORITY = ViolationTemplate(
    "priorityClassName {name} puts the pod before those of other teams, and evicts them past every queue",
    "remove it; who goes first in a queue is said by the label kueue.x-k8s.io/priority-class",
)
OF_OTHERS = ViolationTemplate(
    "the priority {name} is none of this platform: whatever its value, jobs of others stand behind it",
    f"leave the label {PRIORITY_LABEL} out, or name a priority of the platform: {{allowed}}",
)
SEPARATOR, NONE = ", ", "it has none"
LINGERS = ViolationTemplate(
    "with terminationGracePeriodSeconds {seconds} the pod keeps what it has longer than {longest} seconds",
    "write {longest} at most",
)
STAYS_ON = ViolationTemplate(
    "deleted with gracePeriodSeconds {seconds} the pod keeps what it has longer than {longest} seconds",
    "write {longest} at most",
)
"""Of a deletion, and of an eviction: what they say counts in place of what the pod says, without a limit."""
GOES_FIRST = ViolationTemplate(
    "deleted with gracePeriodSeconds 0 the pod is gone before its containers are, and its GPUs are given to"
    " others meanwhile",
    "write 1 at least",
)
STAYS = ViolationTemplate(
    "the finalizer {name} keeps the pod when it is told to go, until somebody takes it out",
    "remove it",
)


def check_container_count(workload: Workload) -> Iterator[Violation]:
    """A pod with so many containers that no other policy evaluates it."""
    if workload.was and any(check_container_count(workload.was)):
        return
    too_many = (
        pod
        for pod in workload.pods
        if sum(len(items(pod.spec.get(group))) for group in COUNTED_GROUPS) > MOST_CONTAINERS
    )
    if first := next(too_many, None):
        yield CROWDED.violation(first.at("containers"), most=str(MOST_CONTAINERS))


def check_priority_and_termination(
    workload: Workload, parameters: TeamParameters
) -> Iterator[Violation]:
    """Pods that go before others, or stay after their time."""
    yield from check_container_count(workload)
    for pod in workload.pods:
        yield from _priority(pod, parameters)
        yield from _grace(pod, parameters)
        if workload.kind == "Pod" and workload.by_controller:
            continue  # operators take out what they put in
        for index, each in enumerate(items(pod.metadata.get("finalizers"))):
            if (name := text(each)) not in FINALIZERS:
                yield STAYS.violation((*pod.path, "metadata", "finalizers", index), name=name)
    yield from _in_queues(workload, parameters)


def _grace(pod: Pod, parameters: TeamParameters) -> Iterator[Violation]:
    longest = parameters.longest_grace if requests_gpus(pod) else LONGEST_GRACE
    probes = (
        ((*path, probe), mapping(container.get(probe)))
        for path, container in pod.containers()
        for probe in PROBES
    )
    for path, value in ((pod.at(), pod.spec), *probes):
        seconds = known_value(value.get(GRACE))
        if isinstance(seconds, int) and seconds > longest:
            yield LINGERS.violation((*path, GRACE), seconds=str(seconds), longest=str(longest))


def _in_queues(workload: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    before = [name for _, name in _priorities(workload.was)] if workload.was else []
    allowed = SEPARATOR.join(parameters.priorities) or NONE
    for path, name in _priorities(workload):
        if name and name not in (*parameters.priorities, *before):
            yield OF_OTHERS.violation(path, name=name, allowed=allowed)


def _priorities(workload: Workload) -> Iterator[tuple[Path, str]]:
    """What Kueue reads from it, from its jobs and from its pods."""
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
    # the API server writes the number of the class into pods; none is below those that name no class
    evicts_nobody = isinstance(number, int) and number <= 0
    if name and name not in parameters.priority_classes and not evicts_nobody:
        yield PRIORITY.violation(pod.at("priorityClassName"), name=name)
