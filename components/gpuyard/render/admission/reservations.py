"""What would start without being counted correctly, as a separate policy for what Kueue writes.

A waiting job may change, and Kueue (v0.19.2) then rewrites its workload. Kueue's scheduler writes
what it has counted without checking for such a change (pkg/scheduler/scheduler.go: `admit`,
`WithLooseOnApply`). So a workload that grew in between is admitted with the old counts, and nothing
compares the two afterwards. The condition that the scheduler writes has the generation that it
counted: the API server rejects an old one, and Kueue counts again.

Kueue (v0.19.2, `Finished`) declares a pod group finished once as many pods succeeded as any of its
pods sets as total, also while others run. The message of the condition has that total: the policy
denies it if more pods were counted.

A pod that requests GPUs gets Kueue's gate, unless its owner is counted as a whole. Kueue's webhook
adds the gate before this policy runs; a pod that the webhook skipped, for any reason, is denied.
So any number of pods may wait, and a namespace's quota need not be as small as what may run
(docs/decisions/0061).

Kueue (v0.19.2, `UngateAndFinalizePod`) also removes its gate from pods of a set without any
workload: of a StatefulSet with the label kueue.x-k8s.io/multikueue-origin, for which it creates
none, once the template changes. If a workload is admitted, `getPodSetsInfoFromStatus` adds a label
to the pod in the same update. The policy denies removal of the gate without it.
"""

from collections.abc import Iterator

from gpuyard.render.admission.cel import (
    bind_variable,
    containers,
    label,
    message_expression,
    optional,
    quoted,
    required_namespace_annotation,
)
from gpuyard.render.admission.pod_expressions import gated_expression, pod_asks
from gpuyard.render.admission.running_workloads import controllers, is_queued_as_whole_expression
from gpuyard_core.admission import queued
from gpuyard_core.admission.parameters import QUEUES
from gpuyard_core.admission.requirement import ViolationTemplate
from gpuyard_core.admission.requirements import QUEUED
from gpuyard_core.names import KUEUE_GROUP, LOCAL_QUEUE, QUEUE_LABEL

STALE = ViolationTemplate(
    "workload {name} changed after Kueue counted it, and more would run than counted",
    "wait; Kueue counts it again automatically",
)
"""Denial for Kueue's scheduler, which retries with the current workload."""
UNHELD = ViolationTemplate(
    "this pod requests GPUs but has no scheduling gate of Kueue: it would start uncounted",
    "enable pod, deployment and statefulset in integrations.frameworks of Kueue's configuration",
)
"""For a pod whose owner is not counted as a whole; Kueue adds its gate before policies run."""
UNFINISHED = ViolationTemplate(
    "the workload of pod group {group} counts {counted} pods, but one of its pods sets another "
    "kueue.x-k8s.io/pod-group-total-count",
    "delete that pod",
)
_STARTED = "kueue.x-k8s.io/podset"
"""The label that Kueue adds to a pod when its workload is admitted."""
UNCOUNTED = ViolationTemplate(
    "Kueue removes its gate from this pod, and no admitted workload counts the pod",
    f"delete the set, and create it without the labels {_STARTED} and kueue.x-k8s.io/multikueue-origin",
)
RULES = (("", "v1", ("pods",)), (KUEUE_GROUP, "*", ("workloads/status",)))
"""Group, version and resources that the policy matches."""
_SUCCEEDED = "Pods succeeded: "
"""Start of the message of a finished pod group; it ends with the total that Kueue has compared
with."""
ONLY = (
    f"request.resource.resource != 'pods' || !{gated_expression('object')}"
    f" && (request.operation == 'CREATE' || {gated_expression('oldObject')})"
)
"""Of pods, matches those created without the gate, and those from which it is removed."""


def variables() -> Iterator[tuple[str, str]]:
    """The variables of the policy, including all messages."""
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
    # a condition without a generation is accepted, or Kueue could admit no workload
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
    """Whether Kueue should gate this pod; the policy for pods denies one without a queue."""
    asks = bind_variable(containers("variables.it"), "l", pod_asks("variables.it", "l"))
    of_whole = f"{controllers('variables.it')}.exists(c, {is_queued_as_whole_expression('c')})"
    queues = f"{required_namespace_annotation(QUEUES)}.split('\\n')"
    queued_ = (
        f"{label('variables.it.?metadata.?labels', QUEUE_LABEL)} != ''"
        f" || {quoted(LOCAL_QUEUE)} in {queues}"
    )
    return f"({queued_}) && !{of_whole} && ({asks})"


def _uncounted() -> str:
    """Whether a pod of a set starts without an admitted workload; a deleted pod gets no node."""
    of_set = f"{label('variables.it.?metadata.?annotations', queued.PARENT)} != ''"
    deleted = "variables.it.metadata.?deletionTimestamp.hasValue()"
    asks = bind_variable(containers("variables.it"), "l", pod_asks("variables.it", "l"))
    now, before = (label(f"variables.{one}.?metadata.?labels", _STARTED) for one in ("it", "was"))
    return f"{of_set} && !{deleted} && ({now} == '' || {before} != '') && ({asks})"
