"""How gangs go, as a policy of its own: with their pods, or these keep GPUs that no queue counts any more.

Kueue counts a job and what it makes as one, and lets go of the count with the job. Whoever may delete it may
also leave its pods behind (`kubectl delete --cascade=orphan`). A deletion that says nothing does so too for
Jobs: the API server has it from the first versions of that kind. What is over leaves nothing that runs.

Pods go when they are told to: who deletes one says how long it may take, and the API server knows no limit.
"""

from collections.abc import Iterator

from gpuyard.admission import priority_and_termination, queued
from gpuyard.admission.requirements import QUEUED, TURNS
from gpuyard.manifests.queued import QUEUED_KINDS
from gpuyard.render.admission.cel import listed, message_expression, optional, quoted
from gpuyard.render.admission.pod_expressions import BY_CONTROLLER, longest_grace, pod_expressions
from gpuyard.render.admission.running_workloads import controllers, queues_as_whole_expression

RULES = (
    ("", "v1", ("pods",)),
    ("apps", "v1", ("statefulsets",)),
    *(
        (kind.partition("/")[0], "*", (QUEUED_KINDS[kind].plural,))
        for kind in queued.QUEUE_FOR_THEIRS
    ),
)
"""Group, version and resources that are looked at: pods, what queues with all that it makes, and the sets
of a LeaderWorkerSet, whose pods Kueue starts when that is gone."""
_OVER = ("Complete", "Completed", "Failed")
"""Conditions of what has ended."""
_WITH_PODS = ("Background", "Foreground")
MAY = (
    "variables.it.kind == 'Pod' && ('system:nodes' in request.userInfo.groups"
    " || authorizer.group('').resource('nodes').check('delete').allowed())"
)
"""Who is not refused what is said of pods: a kubelet whose containers are gone, and who takes nodes away."""


def variables() -> Iterator[tuple[str, str]]:
    """What is looked at, and all that is said."""
    yield "it", "dyn(oldObject)"
    yield "options", "dyn(request.options)"
    yield "by_controller", BY_CONTROLLER
    yield "policy", optional("variables.options", "propagationPolicy", quoted(""))
    yield "finalizers", optional("variables.it", "metadata.finalizers", "[]")
    # what the options say counts before finalizers, and those before what is so by default
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
    part = f"{controllers('variables.it')}.exists(c, {queues_as_whole_expression('c')})"
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
    """A pod that stays for as long as whoever deletes it likes, or seems to be gone while it runs.

    Where nothing is said the API server writes the pod's own time into the options, and for a pod without a
    node none.
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
