"""Pods that stay after their workload has finished, when Kueue no longer counts them."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.admission.bypass import requests_gpus
from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.requirement import Workload, new_violation
from gpuyard_core.manifests.fields import known_value, mapping, text
from gpuyard_core.manifests.quantities import Violation
from gpuyard_core.manifests.queued import INTEGRATIONS
from gpuyard_core.names import VOLCANO, VOLCANO_QUEUE

CLEANS: tuple[str, ...] = ("spec", "runPolicy", "cleanPodPolicy")
CLEANED = ("Running", "All")
STAYS_FOR: tuple[str, ...] = ("spec", "ttlSecondsAfterFinished")
LONGEST_STAY = 60
OUTLIVING: Mapping[str, tuple[tuple[str, ...], str]] = {
    **dict.fromkeys(("MPIJob", *INTEGRATIONS), (CLEANS, f"{'.'.join(CLEANS)}: {CLEANED[0]}")),
    "RayJob": (STAYS_FOR, f"{'.'.join(STAYS_FOR)}: {LONGEST_STAY} or less"),
}
"""By kind: the field that determines what happens to its pods. By default the MPI operator (v0.8.2) and the
training operator (v1.9.3) leave workers running, and KubeRay (v1.6.2) keeps the whole cluster for this many
seconds after the end."""
STRATEGY: tuple[str, ...] = ("spec", "deletionStrategy")
NO_STRATEGY = "spec.shutdownAfterJobFinishes: true, and remove spec.deletionStrategy"
"""With DeleteWorkers KubeRay (v1.6.2, `handleLegacyDeletionPolicy`) keeps the head of a RayJob, and with any
policy the whole cluster of one that is neither successful nor failed, as past activeDeadlineSeconds."""


def check_remaining_pods(workload: Workload) -> Iterator[Violation]:
    """Workloads that keep pods after they finish; an existing one may still be stopped and changed."""
    was = (
        workload.previous
        if workload.previous and any(map(requests_gpus, workload.previous.pods))
        else None
    )
    needs_gpus = any(map(requests_gpus, workload.pods))
    if workload.by_controller or not needs_gpus or workload.kind not in OUTLIVING:
        return
    path, fix = OUTLIVING[workload.kind]
    policy = _field(workload, path)
    short = not isinstance(policy, int) or policy <= LONGEST_STAY
    cleans = policy in CLEANED if path == CLEANS else short
    if not (cleans or (was and _field(was, path) == policy)):
        yield new_violation("remaining_pods.OUTLIVES", path, kind=workload.kind, field=fix)
    strategy = mapping(workload.body, *STRATEGY)
    if strategy and not (was and mapping(was.body, *STRATEGY) == strategy):
        yield new_violation(
            "remaining_pods.OUTLIVES", STRATEGY, kind=workload.kind, field=NO_STRATEGY
        )


def _field(workload: Workload, path: tuple[str, ...]) -> Any:
    return known_value(mapping(workload.body, *path[:-1]).get(path[-1]))


JOB = "Job"
API_OF_JOBS = "batch.volcano.sh/"
DEFAULT_SCHEDULER = "default-scheduler"


def check_volcano_queue(workload: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    """Workloads that name another scheduler or another queue; the API server sets what a pod does not name."""
    queue = parameters.volcano_queue
    named = text(mapping(workload.metadata.get("annotations")).get(VOLCANO_QUEUE))
    if workload.kind == "Pod" and any(pod.gpus() or pod.claims_devices for pod in workload.pods):
        scheduler = text(mapping(workload.body.get("spec")).get("schedulerName"))
        if scheduler not in {"", DEFAULT_SCHEDULER, VOLCANO}:
            yield new_violation("remaining_pods.NO_VOLCANO", ("spec", "schedulerName"))
        elif named and named != queue:
            path = ("metadata", "annotations", VOLCANO_QUEUE)
            yield new_violation(
                "remaining_pods.OTHER_QUEUE", path, kind="Pod", queue=named, allowed=queue
            )
    if workload.kind == JOB and text(workload.body.get("apiVersion")).startswith(API_OF_JOBS):
        named = text(mapping(workload.body.get("spec")).get("queue"))
        if named != queue:
            yield new_violation(
                "remaining_pods.OTHER_QUEUE",
                ("spec", "queue"),
                kind=JOB,
                queue=named,
                allowed=queue,
            )
