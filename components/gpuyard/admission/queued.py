"""Queue labels of what asks for GPUs, so that it is counted."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.admission.bypass import asks
from gpuyard.admission.owned import controllers
from gpuyard.admission.parameters import TeamParameters
from gpuyard.admission.requirement import Sentence, Slip, Workload
from gpuyard.findings import Path
from gpuyard.manifests.fields import items, mapping, text
from gpuyard.manifests.queued import QUEUED_KINDS
from gpuyard.names import QUEUE_GATE, QUEUE_LABEL

OF_ITSELF = ("Pod", "Job", "JobSet")
"""Kinds whose own label Kueue reads; where the team has a queue called default, Kueue writes it there."""
CRON = "CronJob"
OF_PODS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController")
"""Kinds whose pods queue one by one, by the label of their template."""
PASSED_ON = ("Deployment", "StatefulSet")
"""Of these the kinds whose own label Kueue gives to their pods as well."""
LABELS_LATER = ("apps/v1", "StatefulSet")
"""A kind whose pods come without a label: Kueue holds them by its gate until it has labelled them."""
QUEUE_FOR_THEIRS = tuple(
    kind
    for kind, found in QUEUED_KINDS.items()
    if found.by_default and "/" in kind and not kind.startswith("apps/")
)
"""Kinds, by group, that Kueue queues with all that they make. Each of them has to name a queue itself."""
NO_QUEUE = Sentence(
    "this {kind} asks for GPUs and names no queue",
    f"label {{place}} {QUEUE_LABEL}: {{queue}}",
)
ITSELF = "it"
ITS_JOBS = "its spec.jobTemplate"
ITS_PODS = "its spec.template"


def queued(workload: Workload, parameters: TeamParameters) -> Iterator[Slip]:
    """GPUs past every queue."""
    if workload.kind not in (*OF_ITSELF, CRON, *OF_PODS) or parameters.has_default:
        return
    if _owner_queues(workload.metadata) or not any(asks(pod) for pod in workload.pods):
        return
    path, metadata, place = _label(workload)
    if not (_names_queue(metadata) or _passed_on(workload) or _held_by_kueue(workload)):
        yield NO_QUEUE.slip(
            (*path, "metadata", "labels", QUEUE_LABEL),
            kind=workload.kind,
            place=place,
            queue=parameters.queues[0],
        )


def _names_queue(metadata: Mapping[str, Any]) -> bool:
    return bool(text(mapping(metadata.get("labels")).get(QUEUE_LABEL)))


def _passed_on(workload: Workload) -> bool:
    return workload.kind in PASSED_ON and _names_queue(workload.metadata)


def _held_by_kueue(workload: Workload) -> bool:
    """Whether it is a pod that cannot start before Kueue has labelled it."""
    if workload.kind != "Pod":
        return False
    gates = (mapping(each) for each in items(workload.pods[0].spec.get("schedulingGates")))
    return LABELS_LATER in _makers(workload.metadata) and any(
        text(gate.get("name")) == QUEUE_GATE for gate in gates
    )


def _label(workload: Workload) -> tuple[Path, Mapping[str, Any], str]:
    if workload.kind in OF_PODS:
        pod = workload.pods[0]
        return pod.path, pod.metadata, ITS_PODS
    if workload.kind == CRON:
        return ("spec", "jobTemplate"), workload.jobs_metadata, ITS_JOBS
    return (), workload.metadata, ITSELF


def _owner_queues(metadata: Mapping[str, Any]) -> bool:
    """Whether a job that queues as a whole made it."""
    return any(
        f"{version.partition('/')[0]}/{kind}" in QUEUE_FOR_THEIRS
        for version, kind in _makers(metadata)
    )


def _makers(metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Version and kind of what controls it."""
    return [(version, kind) for version, kind, *_ in controllers(metadata).values()]
