"""What would run without being counted as it is, as a policy of its own: it looks at what Kueue writes.

A job that waits may change, and Kueue (v0.19.2) writes its workload anew. Its scheduler writes what it has
counted without asking whether that still stands (pkg/scheduler/scheduler.go: `admit`, `WithLooseOnApply`).
So a workload that grew in between is admitted with what was counted before, and nothing compares the two
afterwards. What the scheduler has seen stands in the condition that it writes: the API server refuses it,
and Kueue counts anew.

Kueue (v0.19.2, `Finished`) declares a pod group finished once as many pods succeeded as any of its pods sets
as total, also while others run. The message of the condition has that total: it is refused where more
pods were counted.

A pod that asks for GPUs comes with Kueue's gate, unless what made it is counted as a whole. Kueue's webhook
puts the gate in before this looks; where it passes over a pod, whatever the reason, the pod does not come in.
So pods may wait in any number, and a namespace's quota need not be as small as what may run
(docs/decisions/0061).
"""

from collections.abc import Iterator

from gpuyard.admission import queued
from gpuyard.admission.parameters import QUEUES
from gpuyard.admission.requirement import Sentence
from gpuyard.admission.requirements import QUEUED
from gpuyard.names import KUEUE_GROUP, LOCAL_QUEUE, QUEUE_LABEL
from gpuyard.render.admission.cel import annotated, containers, label, maybe, named, quoted, said
from gpuyard.render.admission.inside import gated, pod_asks
from gpuyard.render.admission.running import controllers, queues_for_theirs

UNFINISHED = Sentence(
    "the workload of pod group {group} counts {counted} pods, and one of its pods sets another"
    " kueue.x-k8s.io/pod-group-total-count",
    "delete that pod",
)
RULES = (("", "v1", ("pods",)), (KUEUE_GROUP, "*", ("workloads/status",)))
"""Group, version and resources that are looked at."""
_SUCCEEDED = "Pods succeeded: "
"""How the message of a finished pod group begins; it ends with the total that Kueue has compared with."""
ONLY = f"request.resource.resource != 'pods' || request.operation == 'CREATE' && !{gated('object')}"
"""Of pods, those that come without the gate."""


def variables() -> Iterator[tuple[str, str]]:
    """What is looked at, and all that is said."""
    yield "it", "dyn(object)"
    yield "was", "dyn(oldObject)"
    for name, value, which in (
        ("reserved", "it", "QuotaReserved"),
        ("before", "was", "QuotaReserved"),
        ("finished", "it", "Finished"),
        ("finished_before", "was", "Finished"),
    ):
        conditions = maybe(f"variables.{value}", "status.conditions", "[]")
        yield name, f"{conditions}.filter(c, c.type == '{which}' && c.status == 'True')"
    # what says nothing of the kind is taken: without it nobody would ever be admitted
    generation = "variables.it.metadata.generation"
    seen = maybe("c", "observedGeneration", generation)
    yield (
        "stale",
        f"variables.before.size() == 0 && variables.reserved.exists(c, {seen} < {generation})",
    )
    sentence = said(QUEUED, queued.STALE, name="variables.it.metadata.name")
    unheld = said(QUEUED, queued.UNHELD)
    yield "unheld", _unheld()
    pods = maybe("variables.it", "spec.podSets", "[]")
    yield "counted", f"string({pods}.map(s, {maybe('s', 'count', '1')}).sum())"
    yield (
        "unfinished",
        (
            "variables.finished_before.size() == 0"
            f" && variables.finished.exists(c, c.message.startsWith({quoted(_SUCCEEDED)})"
            " && !c.message.endsWith('/' + variables.counted + '.'))"
        ),
    )
    unfinished = said(
        QUEUED,
        UNFINISHED,
        group="variables.it.metadata.name",
        counted="variables.counted",
    )
    yield (
        "said",
        (
            f"request.resource.resource == 'pods' ? (variables.unheld ? {unheld} : '')"
            f" : variables.stale ? {sentence} : variables.unfinished ? {unfinished} : ''"
        ),
    )


def _unheld() -> str:
    """Whether Kueue was to hold this pod; what is in no queue at all is refused by the policy of pods."""
    asks = named(containers("variables.it"), "l", pod_asks("variables.it", "l"))
    of_whole = f"{controllers('variables.it')}.exists(c, {queues_for_theirs('c')})"
    queues = f"{annotated(QUEUES)}.split('\\n')"
    queued_ = (
        f"{label('variables.it.?metadata.?labels', QUEUE_LABEL)} != ''"
        f" || {quoted(LOCAL_QUEUE)} in {queues}"
    )
    return f"({queued_}) && !{of_whole} && ({asks})"
