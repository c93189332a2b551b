"""Pods with GPUs use Volcano's scheduler and the queue of their team, where Volcano queues jobs."""

from collections.abc import Iterator

from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.requirement import ViolationTemplate, Workload
from gpuyard_core.manifests.fields import mapping, text
from gpuyard_core.manifests.resources import Violation
from gpuyard_core.names import VOLCANO, VOLCANO_QUEUE

JOB = "Job"
API_OF_JOBS = "batch.volcano.sh/"
DEFAULT_SCHEDULER = "default-scheduler"
NO_VOLCANO = ViolationTemplate(
    "this pod requests GPUs but Volcano does not schedule it", f"write schedulerName: {VOLCANO}"
)
OTHER_QUEUE = ViolationTemplate(
    "this {kind} names queue '{queue}'", "name the queue of the team: {allowed}"
)


def check_volcano_queue(workload: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    """Workloads that name another scheduler or another queue; the API server sets what a pod does not name."""
    queue = parameters.volcano_queue
    named = text(mapping(workload.metadata.get("annotations")).get(VOLCANO_QUEUE))
    if workload.kind == "Pod" and any(pod.gpus() or pod.claims_devices for pod in workload.pods):
        scheduler = text(mapping(workload.body.get("spec")).get("schedulerName"))
        if scheduler not in {"", DEFAULT_SCHEDULER, VOLCANO}:
            yield NO_VOLCANO.fill_in(("spec", "schedulerName"))
        elif named and named != queue:
            path = ("metadata", "annotations", VOLCANO_QUEUE)
            yield OTHER_QUEUE.fill_in(path, kind="Pod", queue=named, allowed=queue)
    if workload.kind == JOB and text(workload.body.get("apiVersion")).startswith(API_OF_JOBS):
        named = text(mapping(workload.body.get("spec")).get("queue"))
        if named != queue:
            yield OTHER_QUEUE.fill_in(("spec", "queue"), kind=JOB, queue=named, allowed=queue)
