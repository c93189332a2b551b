"""Workloads counted once and scaled past their count, as a separate policy on Kueue's counts.

Kueue's webhook sees StatefulSets, but not their subresource `scale`, which `kubectl scale` and
autoscalers write. That request has no pod template, so Kueue's workloads are the parameters of this
policy: it checks each workload of the namespace, and the one of this StatefulSet has what runs.

A pod from which Kueue removes its gate must match its workload: Kueue also does so when a waiting
set was changed, and such a pod ran on GPUs that were not counted. It must match its pod set as
well: a pod declares itself to which pods of its group it is identical, and Kueue counts only the
first of those. The policy matches the deletion of a template of claims: workloads refer to it by
name.

A new pod of a group whose workload exists must set the same total count, and have a role that was
counted.

The kind belongs to a CustomResourceDefinition. The API server watches such objects again when a
policy is re-created; those of built-in kinds it does not (docs/decisions/0038).
"""

from collections.abc import Iterator

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
from gpuyard.render.admission.running_workloads import same_gpu_requests_expression
from gpuyard_core.admission import queued
from gpuyard_core.admission.requirement import ViolationTemplate
from gpuyard_core.admission.requirements import QUEUED
from gpuyard_core.names import KUEUE_API, POD_GROUP_LABEL

RULES = (
    ("", "v1", ("pods",)),
    ("apps", "v1", ("statefulsets/scale",)),
    ("resource.k8s.io", "*", ("resourceclaimtemplates",)),
)
"""Group, version and resources that the policy matches."""
OPERATIONS = ("CREATE", "UPDATE", "DELETE")
"""DELETE for a template of claims, UPDATE for a scale, CREATE and UPDATE for a pod."""
_ITS_GROUP = pod_group(*(f"object.?metadata.?{part}" for part in ("labels", "annotations")))

ONLY = (
    "request.resource.resource == 'pods'"
    f" ? (request.operation == 'CREATE' ? {_ITS_GROUP} != ''"
    f" : request.operation == 'UPDATE' && {gated_expression('oldObject')} && !{gated_expression('object')})"
    " : request.resource.resource == 'statefulsets' || request.operation == 'DELETE'"
)
"""Of pods, matches the creation of one of a group, and the removal of Kueue's gate from one."""
_TOTAL = "kueue.x-k8s.io/pod-group-total-count"
OTHER_TOTAL = ViolationTemplate(
    "the workload of pod group {group} counts {counted} pods, but this pod sets {total}: {given}",
    "set {counted}, or use another pod group name",
)
OTHER_ROLE = ViolationTemplate(
    "no pod counted by the workload of pod group {group} has this pod's spec",
    "use the spec of the pod that it replaces, or use another pod group name",
)
EARLY = ViolationTemplate(
    "workload {workload} is not admitted, so this pod would run uncounted",
    "wait; Kueue starts the pod once the workload is admitted",
)
"""Denial for Kueue, which removes its gate from pods of a waiting set that was changed (v0.19.2,
`shouldUngatePod`)."""
UNLIKE = ViolationTemplate(
    "this pod requests other GPUs than Kueue counted for workload {workload}, despite its role",
    "delete it and create it without the annotation kueue.x-k8s.io/role-hash",
)
"""Denial for Kueue (v0.19.2, `getRoleHash`), which takes pods of one group with the same annotation
as identical, and counts what the first of them requests."""
PARAMETERS = {"apiVersion": KUEUE_API, "kind": "Workload"}
_OF_UID = "kueue.x-k8s.io/job-uid"
"""The label of a workload with the UID of its job; without replicas the job is no longer its
owner."""
_GROUPS = "LeaderWorkerSet"


def variables() -> Iterator[tuple[str, str]]:
    """The variables of the policy, with all messages; once for each workload of the namespace."""
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
    # the sets of a LeaderWorkerSet have its name: the leaders' as is, those of workers with a
    # number
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
    """Whether the workload is not finished, and its pods claim devices by this template."""
    conditions = optional("variables.workload", "status.conditions", "[]")
    over = f"{conditions}.exists(c, c.type == 'Finished' && c.status == 'True')"
    by_name = (
        f"{optional('c', 'resourceClaimTemplateName', quoted(''))} == variables.it.metadata.name"
    )
    pods = optional("variables.workload", "spec.podSets", "[]")
    claims = optional("s", "template.spec.resourceClaims", "[]")
    return f"!{over} && {pods}.exists(s, {claims}.exists(c, {by_name}))"


def _starts() -> str:
    """Whether this is a pod of this workload that loses its gate and requests GPUs."""
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
    """Whether the pod requests what was counted for the pod set that its label names."""
    role = label("variables.it.?metadata.?annotations", queued.ROLE)
    same = same_gpu_requests_expression("variables.it", "s.template")
    return f"{pods}.exists(s, ({pods}.size() == 1 || s.name == {role}) && {same})"
