"""How gangs go, as a policy of its own: with their pods, or these keep GPUs that no queue counts any more.

Kueue counts a job and what it makes as one, and lets go of the count with the job. Whoever may delete it may
also leave its pods behind (`kubectl delete --cascade=orphan`). A deletion that says nothing does so too for
Jobs: the API server has it from the first versions of that kind. What is over leaves nothing that runs.
"""

from collections.abc import Iterator

from gpuyard.admission import queued
from gpuyard.admission.requirements import QUEUED
from gpuyard.manifests.queued import QUEUED_KINDS
from gpuyard.render.admission.cel import listed, maybe, quoted, said
from gpuyard.render.admission.inside import BY_CONTROLLER, pods_in

RULES = tuple(
    (kind.partition("/")[0], "*", (QUEUED_KINDS[kind].plural,)) for kind in queued.QUEUE_FOR_THEIRS
)
"""Group, version and resources that are looked at: what queues with all that it makes."""
_OVER = ("Complete", "Completed", "Failed")
"""Conditions of what has ended."""
_WITH_PODS = ("Background", "Foreground")


def variables() -> Iterator[tuple[str, str]]:
    """What is looked at, and all that is said."""
    yield "it", "dyn(oldObject)"
    yield "options", "dyn(request.options)"
    yield "by_controller", BY_CONTROLLER
    yield "policy", maybe("variables.options", "propagationPolicy", quoted(""))
    yield "finalizers", maybe("variables.it", "metadata.finalizers", "[]")
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
    conditions = maybe("variables.it", "status.conditions", "[]")
    yield "over", f"{conditions}.exists(c, c.type in {listed(_OVER)} && c.status == 'True')"
    asks = (
        f"variables.it.kind in {listed(queued.UNSEEN)}"
        f" || {pods_in('variables.it')}.exists(p, p.asks)"
    )
    yield "counted", f"variables.leaves && !variables.over && ({asks})"
    sentence = said(QUEUED, queued.LEAVES_PODS, kind="variables.it.kind")
    yield "said", f"!variables.by_controller && variables.counted ? {sentence} : ''"
