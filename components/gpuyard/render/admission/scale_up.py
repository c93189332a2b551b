"""What was counted once and is scaled past its count, as a policy of its own: it looks at what Kueue counted.

Kueue's webhook sees StatefulSets, and not their subresource `scale`, which `kubectl scale` and autoscalers
write. Nothing in that request says what the pods ask for, so Kueue's own workloads are the parameters of this
policy: each of the namespace is looked at, and the one of this StatefulSet says what runs.

A pod out of which Kueue takes its gate is held to its workload: Kueue does so too when a set that waits was
changed, and such a pod ran on GPUs that nobody counted. It is held to what was counted of it as well: of
which of the pods of its group it is alike a pod says itself, and Kueue counts the first of those that are.
A template of claims is looked at when it goes: by
name, as the workloads name it.

A further pod of a group whose workload exists sets the same total count, and has a role that was counted.

The kind is one of a CustomResourceDefinition. Its objects the API server begins to follow again when a policy
comes back; those of built-in kinds it does not (docs/decisions/0038).
"""

from collections.abc import Iterator

from gpuyard.admission import queued
from gpuyard.admission.requirement import ViolationTemplate
from gpuyard.admission.requirements import QUEUED
from gpuyard.names import KUEUE_API, POD_GROUP_LABEL
from gpuyard.render.admission.cel import (
    bind_variable,
    containers,
    label,
    message_expression,
    optional,
    quoted,
)
from gpuyard.render.admission.pod_expressions import (
    BY_CONTROLLER,
    gated_expression,
    pod_asks,
    pod_group,
)
from gpuyard.render.admission.running_workloads import same_start

RULES = (
    ("", "v1", ("pods",)),
    ("apps", "v1", ("statefulsets/scale",)),
    ("resource.k8s.io", "*", ("resourceclaimtemplates",)),
)
"""Group, version and resources that are looked at."""
OPERATIONS = ("CREATE", "UPDATE", "DELETE")
"""Of a template of claims it is the end, of a scale an update, of a pod its creation and an update."""
_ITS_GROUP = pod_group(*(f"object.?metadata.?{part}" for part in ("labels", "annotations")))

ONLY = (
    "request.resource.resource == 'pods'"
    f" ? (request.operation == 'CREATE' ? {_ITS_GROUP} != ''"
    f" : request.operation == 'UPDATE' && {gated_expression('oldObject')} && !{gated_expression('object')})"
    " : request.resource.resource == 'statefulsets' || request.operation == 'DELETE'"
)
"""Of pods, when one of a group is created, and when Kueue's gate is taken out of one."""
_TOTAL = "kueue.x-k8s.io/pod-group-total-count"
OTHER_TOTAL = ViolationTemplate(
    "the workload of pod group {group} counts {counted} pods, and this pod sets {total}: {given}",
    "write {counted}, or give the pod a group of another name",
)
OTHER_ROLE = ViolationTemplate(
    "the workload of pod group {group} counts no pod with the spec of this one",
    "write the spec of the pod that it replaces, or give the pod a group of another name",
)
EARLY = ViolationTemplate(
    "workload {workload} is not admitted, and this pod would run without being counted",
    "it waits for Kueue, which starts it when its turn comes",
)
"""Said to Kueue, which takes its gate out of pods of a set that waits and was changed (v0.19.2,
`shouldUngatePod`)."""
UNLIKE = ViolationTemplate(
    "this pod asks for other GPUs than workload {workload} was counted with, whatever its role says",
    "delete it, and make it without the annotation kueue.x-k8s.io/role-hash",
)
"""Said to Kueue (v0.19.2, `getRoleHash`), which takes pods of one group with the same annotation for alike,
and counts what the first of them asks for."""
PARAMETERS = {"apiVersion": KUEUE_API, "kind": "Workload"}
_OF_UID = "kueue.x-k8s.io/job-uid"
"""The label of a workload that says what it was made for; without replicas that is its owner no more."""
_GROUPS = "LeaderWorkerSet"


def variables() -> Iterator[tuple[str, str]]:
    """What is looked at, and all that is said; once for each workload of the namespace."""
    yield "created", "request.operation == 'CREATE'"
    yield "goes", "request.operation == 'DELETE'"
    yield "it", "variables.goes ? dyn(oldObject) : dyn(object)"
    yield "was", "dyn(oldObject)"
    yield "workload", "dyn(params)"
    yield "by_controller", BY_CONTROLLER
    yield "wanted", optional("variables.it", "spec.replicas", "0")
    yield "grows", f"variables.wanted > {optional('variables.was', 'spec.replicas', '0')}"
    labels = "variables.workload.?metadata.?labels"
    yield "owners", optional("variables.workload", "metadata.ownerReferences", "[]")
    uid = "variables.it.metadata.uid"
    yield (
        "own",
        f"{label(labels, _OF_UID)} == {uid} || variables.owners.exists(o, o.uid == {uid})",
    )
    # sets that a LeaderWorkerSet makes have its name: that of its leaders, and with a number each of workers
    name = "variables.it.metadata.name"
    of_group = f"{name} == o.name || {name}.matches('^' + o.name.replace('.', '[.]') + '-[0-9]+$')"
    yield "groups", f"variables.owners.filter(o, o.kind == {quoted(_GROUPS)} && ({of_group}))"
    pods = optional("variables.workload", "spec.podSets", "[]")
    asks = bind_variable(containers("s.template"), "l", pod_asks("s.template", "l"))
    yield "counted", f"{pods}.map(s, {optional('s', 'count', '1')})"
    yield "asks", f"{pods}.exists(s, {asks})"
    past = message_expression(
        QUEUED,
        queued.SCALED,
        name=name,
        counted="string(variables.counted[0])",
        wanted="string(variables.wanted)",
    )
    part = message_expression(
        QUEUED, queued.OF_ANOTHER, name=name, owner="variables.groups[0].name"
    )
    yield "starts", _starts()
    yield "early", f"variables.starts && !{_admitted()}"
    yield "unlike", f"variables.starts && !({_same_template_expression(pods)})"
    yield "joins", f"variables.created && {_ITS_GROUP} == variables.workload.metadata.name"
    yield "total", label("variables.it.?metadata.?annotations", _TOTAL)
    group = {
        "group": "variables.workload.metadata.name",
        "counted": "string(variables.counted.sum())",
    }
    other_total = message_expression(
        QUEUED, OTHER_TOTAL, **group, total=quoted(_TOTAL), given="variables.total"
    )
    role = label("variables.it.?metadata.?annotations", queued.ROLE)
    joined = (
        f"variables.total != {group['counted']} ? {other_total}"
        f" : {pods}.exists(s, s.name == {role}) ? ''"
        f" : {message_expression(QUEUED, OTHER_ROLE, group=group['group'])}"
    )
    early = message_expression(QUEUED, EARLY, workload="variables.workload.metadata.name")
    unlike = message_expression(QUEUED, UNLIKE, workload="variables.workload.metadata.name")
    yield "claimed", f"variables.goes && !variables.by_controller && ({_claims()})"
    claimed = message_expression(
        QUEUED, queued.CLAIMED, name=name, workload="variables.workload.metadata.name"
    )
    yield (
        "said",
        (
            f"variables.joins ? ({joined}) : variables.created ? ''"
            f" : variables.early ? {early} : variables.unlike ? {unlike}"
            f" : variables.claimed ? {claimed}"
            " : variables.goes || !variables.grows || !variables.asks ? ''"
            f" : variables.own && variables.wanted > variables.counted[0] ? {past}"
            f" : variables.groups.size() > 0 ? {part} : ''"
        ),
    )


def _claims() -> str:
    """Whether the workload is not over, and its pods claim devices by this template."""
    conditions = optional("variables.workload", "status.conditions", "[]")
    over = f"{conditions}.exists(c, c.type == 'Finished' && c.status == 'True')"
    by_name = (
        f"{optional('c', 'resourceClaimTemplateName', quoted(''))} == variables.it.metadata.name"
    )
    pods = optional("variables.workload", "spec.podSets", "[]")
    claims = optional("s", "template.spec.resourceClaims", "[]")
    return f"!{over} && {pods}.exists(s, {claims}.exists(c, {by_name}))"


def _starts() -> str:
    """Whether it is a pod of this workload, out of which the gate is taken, and asks for GPUs."""
    of_group = " || ".join(
        f"{label(f'variables.it.?metadata.?{part}', POD_GROUP_LABEL)} == variables.workload.metadata.name"
        for part in ("annotations", "labels")
    )
    own = "variables.owners.exists(o, o.uid == variables.it.metadata.uid)"
    asks = bind_variable(containers("variables.it"), "l", pod_asks("variables.it", "l"))
    return f"request.resource.resource == 'pods' && ({of_group} || {own}) && ({asks})"


def _admitted() -> str:
    conditions = optional("variables.workload", "status.conditions", "[]")
    return f"{conditions}.exists(c, c.type == 'Admitted' && c.status == 'True')"


def _same_template_expression(pods: str) -> str:
    """Whether it asks for what was counted of the pods that it says it is one of."""
    role = label("variables.it.?metadata.?annotations", queued.ROLE)
    same = same_start("variables.it", "s.template")
    return f"{pods}.exists(s, ({pods}.size() == 1 || s.name == {role}) && {same})"
