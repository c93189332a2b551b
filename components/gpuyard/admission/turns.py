"""Pods of a team go when they are told to, and push nobody aside."""

from collections.abc import Iterator

from gpuyard.admission.parameters import TeamParameters
from gpuyard.admission.requirement import Sentence, Slip, Workload
from gpuyard.manifests.fields import items, known, text
from gpuyard.manifests.pods import Pod

LONGEST_GRACE = 3600
"""Seconds that a pod may take to end: as long as autoscalers wait for one. A checkpoint fits into it."""
FINALIZERS = ("kueue.x-k8s.io/managed", "batch.kubernetes.io/job-tracking")
"""What Kueue and jobs write into pods, and take out again."""
PRIORITY = Sentence(
    "priorityClassName {name} puts the pod before those of other teams, and evicts them past every queue",
    "remove it; who goes first in a queue is said by the label kueue.x-k8s.io/priority-class",
)
LINGERS = Sentence(
    "with terminationGracePeriodSeconds {seconds} the pod keeps what it borrowed for longer than an hour",
    "write 3600 at most",
)
STAYS = Sentence(
    "the finalizer {name} keeps the pod when it is told to go, until somebody takes it out",
    "remove it",
)


def turns(workload: Workload, parameters: TeamParameters) -> Iterator[Slip]:
    """Pods that go before others, or stay after their time."""
    for pod in workload.pods:
        yield from _priority(pod, parameters)
        seconds = known(pod.spec.get("terminationGracePeriodSeconds"))
        if isinstance(seconds, int) and seconds > LONGEST_GRACE:
            yield LINGERS.slip(pod.at("terminationGracePeriodSeconds"), seconds=str(seconds))
        if workload.kind == "Pod" and workload.by_controller:
            continue  # operators take out what they put in
        for index, each in enumerate(items(pod.metadata.get("finalizers"))):
            if (name := text(each)) not in FINALIZERS:
                yield STAYS.slip((*pod.path, "metadata", "finalizers", index), name=name)


def _priority(pod: Pod, parameters: TeamParameters) -> Iterator[Slip]:
    name, number = text(pod.spec.get("priorityClassName")), pod.spec.get("priority")
    # the API server writes the number of the class into pods; none is below those that name no class
    evicts_nobody = isinstance(number, int) and number <= 0
    if name and name not in parameters.priority_classes and not evicts_nobody:
        yield PRIORITY.slip(pod.at("priorityClassName"), name=name)
