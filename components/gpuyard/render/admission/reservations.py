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

Kueue (v0.19.2, `UngateAndFinalizePod`) also removes its gate from pods of a set without any workload: of a
StatefulSet with the label kueue.x-k8s.io/multikueue-origin, for which it creates none, once the template is
changed. Where a workload is admitted, `getPodSetsInfoFromStatus` adds a label to the pod with the same
update. It is refused to remove the gate without it.
"""

from collections.abc import Iterator

from gpuyard.admission import queued
from gpuyard.admission.parameters import QUEUES
from gpuyard.admission.requirement import ViolationTemplate
from gpuyard.admission.requirements import QUEUED
from gpuyard.names import KUEUE_GROUP, LOCAL_QUEUE, QUEUE_LABEL
from gpuyard.render.admission.cel import (
    annotated,
    bind_variable,
    containers,
    label,
    message_expression,
    optional,
    quoted,
)
from gpuyard.render.admission.pod_expressions import gated_expression, pod_asks
from gpuyard.render.admission.running_workloads import controllers, queues_as_whole_expression

STALE = ViolationTemplate(
    "workload {name} was changed after it was counted, and more would run than that",
    "it waits for Kueue, which counts it anew by itself",
)
"""Said to Kueue's scheduler, which comes back with what stands there now."""
UNHELD = ViolationTemplate(
    "this pod asks for GPUs and comes without Kueue's gate: it would start without being counted",
    "let Kueue hold pods: pod, deployment and statefulset in integrations.frameworks of its configuration",
)
"""Of a pod that nothing made which is counted as a whole; Kueue puts its gate in before policies look."""
UNFINISHED = ViolationTemplate(
    "the workload of pod group {group} counts {counted} pods, and one of its pods sets another"
    " kueue.x-k8s.io/pod-group-total-count",
    "delete that pod",
)
_STARTED = "kueue.x-k8s.io/podset"
"""The label that Kueue adds to a pod when its workload is admitted."""
UNCOUNTED = ViolationTemplate(
    "Kueue removes its gate from this pod, and no admitted workload counts the pod",
    f"delete the set, and create it without the labels {_STARTED} and kueue.x-k8s.io/multikueue-origin",
)
RULES = (("", "v1", ("pods",)), (KUEUE_GROUP, "*", ("workloads/status",)))
"""Group, version and resources that are looked at."""
_SUCCEEDED = "Pods succeeded: "
"""How the message of a finished pod group begins; it ends with the total that Kueue has compared with."""
ONLY = (
    f"request.resource.resource != 'pods' || !{gated_expression('object')}"
    f" && (request.operation == 'CREATE' || {gated_expression('oldObject')})"
)
"""Of pods, those that come without the gate, and those from which it is removed."""


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
        conditions = optional(f"variables.{value}", "status.conditions", "[]")
        yield name, f"{conditions}.filter(c, c.type == '{which}' && c.status == 'True')"
    # what says nothing of the kind is taken: without it nobody would ever be admitted
    generation = "variables.it.metadata.generation"
    seen = optional("c", "observedGeneration", generation)
    yield (
        "stale",
        f"variables.before.size() == 0 && variables.reserved.exists(c, {seen} < {generation})",
    )
    sentence = message_expression(QUEUED, STALE, name="variables.it.metadata.name")
    unheld = message_expression(QUEUED, UNHELD)
    yield "unheld", f"request.operation == 'CREATE' && {_needs_gate_expression()}"
    yield "uncounted", f"request.operation == 'UPDATE' && ({_uncounted()})"
    uncounted = message_expression(QUEUED, UNCOUNTED)
    pods = optional("variables.it", "spec.podSets", "[]")
    yield "counted", f"string({pods}.map(s, {optional('s', 'count', '1')}).sum())"
    yield (
        "unfinished",
        (
            "variables.finished_before.size() == 0"
            f" && variables.finished.exists(c, c.message.startsWith({quoted(_SUCCEEDED)})"
            " && !c.message.endsWith('/' + variables.counted + '.'))"
        ),
    )
    unfinished = message_expression(
        QUEUED,
        UNFINISHED,
        group="variables.it.metadata.name",
        counted="variables.counted",
    )
    yield (
        "said",
        (
            "request.resource.resource == 'pods'"
            f" ? (variables.unheld ? {unheld} : variables.uncounted ? {uncounted} : '')"
            f" : variables.stale ? {sentence} : variables.unfinished ? {unfinished} : ''"
        ),
    )


def _needs_gate_expression() -> str:
    """Whether Kueue was to hold this pod; what is in no queue at all is refused by the policy of pods."""
    asks = bind_variable(containers("variables.it"), "l", pod_asks("variables.it", "l"))
    of_whole = f"{controllers('variables.it')}.exists(c, {queues_as_whole_expression('c')})"
    queues = f"{annotated(QUEUES)}.split('\\n')"
    queued_ = (
        f"{label('variables.it.?metadata.?labels', QUEUE_LABEL)} != ''"
        f" || {quoted(LOCAL_QUEUE)} in {queues}"
    )
    return f"({queued_}) && !{of_whole} && ({asks})"


def _uncounted() -> str:
    """Whether a pod of a set starts, and not because its workload is admitted; a deleted one gets no node."""
    of_set = f"{label('variables.it.?metadata.?annotations', queued.PARENT)} != ''"
    deleted = "variables.it.metadata.?deletionTimestamp.hasValue()"
    asks = bind_variable(containers("variables.it"), "l", pod_asks("variables.it", "l"))
    now, before = (label(f"variables.{one}.?metadata.?labels", _STARTED) for one in ("it", "was"))
    return f"{of_set} && !{deleted} && ({now} == '' || {before} != '') && ({asks})"
