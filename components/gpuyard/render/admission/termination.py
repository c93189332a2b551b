"""Deletion of gangs, as a separate policy: orphaned pods would keep GPUs that no queue counts.

Kueue counts a job and its pods as one, and frees the quota with the job. A user who may delete it
may also orphan its pods (`kubectl delete --cascade=orphan`). For Jobs, a deletion without options
does so too: that is the API server's default since the first versions of that kind. Finished
workloads leave nothing running.

The grace period of a deletion is chosen by the user who deletes, and the API server has no maximum.
"""

from collections.abc import Iterator

from gpuyard.plan.queueing.kueue import integrated_kinds
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.admission.cel import listed, message_expression, optional, quoted
from gpuyard.render.admission.pod_expressions import BY_CONTROLLER, longest_grace, pod_expressions
from gpuyard.render.admission.running_workloads import controllers, is_queued_as_whole_expression
from gpuyard_core.admission import priority_and_termination, queued
from gpuyard_core.admission.requirements import QUEUED, TURNS
from gpuyard_core.manifests.queued import QUEUED_KINDS

_OVER = ("Complete", "Completed", "Failed")
"""Conditions of finished workloads."""
_WITH_PODS = ("Background", "Foreground")
MAY = (
    "variables.it.kind == 'Pod' && ('system:nodes' in request.userInfo.groups"
    " || authorizer.group('').resource('nodes').check('delete').allowed())"
)
"""Users exempt for pods: a kubelet whose containers have ended, and users who may delete nodes."""


def rules(plan: PlatformPlan) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Group, version and resources that the policy matches.

    Pods, kinds that are queued with all their pods, and the sets of a LeaderWorkerSet, whose pods
    Kueue starts when the LeaderWorkerSet is deleted.
    """
    kinds = (*queued.QUEUE_FOR_THEIRS, *integrated_kinds(plan.spec))
    return (
        ("", "v1", ("pods",)),
        ("apps", "v1", ("statefulsets",)),
        *((kind.partition("/")[0], "*", (QUEUED_KINDS[kind].plural,)) for kind in kinds),
    )


def variables() -> Iterator[tuple[str, str]]:
    """The variables of the policy, including all messages."""
    yield "it", "dyn(oldObject)"
    yield "options", "dyn(request.options)"
    yield "by_controller", BY_CONTROLLER
    yield "policy", optional("variables.options", "propagationPolicy", quoted(""))
    yield "finalizers", optional("variables.it", "metadata.finalizers", "[]")
    # options take precedence over finalizers, and finalizers over the default
    says_nothing = (
        f"{quoted(queued.ORPHAN)} in variables.finalizers"
        f" || variables.it.kind == {quoted(queued.LEFT_BY_DEFAULT)}"
        " && !('foregroundDeletion' in variables.finalizers)"
    )
    yield (
        "leaves",
        (
            "variables.policy == 'Orphan' || variables.options.?orphanDependents.orValue(false)"
            f" || !(variables.policy in {listed(_WITH_PODS)})"
            f" && !variables.options.?orphanDependents.hasValue() && ({says_nothing})"
        ),
    )
    conditions = optional("variables.it", "status.conditions", "[]")
    yield "over", f"{conditions}.exists(c, c.type in {listed(_OVER)} && c.status == 'True')"
    asks = (
        f"variables.it.kind in {listed(queued.UNSEEN)}"
        f" || {pod_expressions('variables.it')}.exists(p, p.asks)"
    )
    part = f"{controllers('variables.it')}.exists(c, {is_queued_as_whole_expression('c')})"
    yield (
        "counted",
        (
            "variables.leaves && !variables.over"
            f" && (variables.it.kind != 'StatefulSet' || {part}) && ({asks})"
        ),
    )
    yield "late", _late()
    sentence = message_expression(QUEUED, queued.LEAVES_PODS, kind="variables.it.kind")
    yield (
        "said",
        (
            "variables.by_controller ? '' : variables.it.kind == 'Pod' ? variables.late"
            f" : variables.counted ? {sentence} : ''"
        ),
    )


def _late() -> str:
    """A pod that stays as long as its deleter likes, or leaves the API while it still runs.

    If a deletion sets no grace period, the API server writes the pod's own into the options, and 0
    for a pod without a node.
    """
    seconds = optional("variables.options", "gracePeriodSeconds", "1")
    own = optional("variables.it", "spec.terminationGracePeriodSeconds", "0")
    runs = f"{optional('variables.it', 'spec.nodeName', quoted(''))} != '' && {own} > 0"
    over = f"{optional('variables.it', 'status.phase', quoted(''))} in ['Failed', 'Succeeded']"
    asks = f"{pod_expressions('variables.it')}.exists(p, p.asks)"
    longest = f"({asks} ? {longest_grace()} : {priority_and_termination.LONGEST_GRACE})"
    long = message_expression(
        TURNS,
        priority_and_termination.STAYS_ON,
        seconds=f"string({seconds})",
        longest=f"string({longest})",
    )
    first = message_expression(TURNS, priority_and_termination.GOES_FIRST)
    return (
        f"{seconds} > {longest} ? {long}"
        f" : {seconds} == 0 && {runs} && !({over}) && {asks} ? {first} : ''"
    )
