"""What asks for GPUs stands in a queue, so that it is counted."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.findings import Path
from gpuyard.plan.admission.bypass import asks
from gpuyard.plan.admission.limits import Limits
from gpuyard.plan.admission.slips import Sentence, Slip, Workload
from gpuyard.plan.names import QUEUE_LABEL
from gpuyard.plan.readers import is_true, items, mapping, text

OF_ITSELF = ("Pod", "Job", "JobSet")
"""Kinds whose own label Kueue reads; where the team has a queue called default, Kueue writes it there."""
CRON = "CronJob"
OF_PODS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController")
"""Kinds whose pods queue one by one, by the label of their template."""
NOT_QUEUED = ("v1", "apps/v1")
"""Versions of controllers that do not queue for what they make; CronJobs do not either."""
NO_QUEUE = Sentence(
    "this {kind} asks for GPUs and names no queue",
    f"label {{place}} {QUEUE_LABEL}: {{queue}}",
)
ITSELF = "it"
ITS_JOBS = "its spec.jobTemplate"
ITS_PODS = "its spec.template"


def queued(workload: Workload, limits: Limits) -> Iterator[Slip]:
    """GPUs past every queue."""
    if workload.kind not in (*OF_ITSELF, CRON, *OF_PODS) or limits.has_default:
        return
    if _owner_queues(workload.metadata) or not any(asks(pod) for pod in workload.pods):
        return
    path, metadata, place = _label(workload)
    if not text(mapping(metadata.get("labels")).get(QUEUE_LABEL)):
        yield NO_QUEUE.slip(
            (*path, "metadata", "labels", QUEUE_LABEL),
            kind=workload.kind,
            place=place,
            queue=limits.queues[0],
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
    owners = (mapping(each) for each in items(metadata.get("ownerReferences")))
    return any(
        is_true(owner.get("controller"))
        and text(owner.get("apiVersion")) not in NOT_QUEUED
        and text(owner.get("kind")) != CRON
        for owner in owners
    )
