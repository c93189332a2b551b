"""CEL for the pods of an object, at the paths of its kind, and for the sender of a request."""

from gpuyard.render.admission.cel import (
    bind_variable,
    container_asks,
    containers,
    label,
    namespace_annotation,
    optional,
    quoted,
)
from gpuyard_core.admission import priority_and_termination, queued
from gpuyard_core.admission.parameters import ACCOUNTS, LONGEST_GRACE, USUAL_GRACE
from gpuyard_core.findings import Path
from gpuyard_core.manifests.queued import ROLES
from gpuyard_core.manifests.templates import EACH, KINDS, PodsForm
from gpuyard_core.names import POD_GROUP_LABEL, QUEUE_GATE

BY_CONTROLLER = (
    "request.userInfo.username == 'system:kube-controller-manager'"
    " || ['system:masters', 'system:serviceaccounts'].exists(g, g in request.userInfo.groups)"
    " && !('system:serviceaccounts:' + request.namespace in request.userInfo.groups)"
    f" && !({namespace_annotation(ACCOUNTS)}.split('\\n').exists(g, g in request.userInfo.groups))"
)
"""Whether the sender is a controller of the cluster or a cluster admin (docs/decisions/0022)."""


def pod_expressions(value: str) -> str:
    """Every pod of a workload: labels, spec, all containers, and whether it requests GPUs."""
    labels = optional("p", "metadata.labels", "{}")
    asks = pod_asks("p", "l")
    finalizers = optional("p", "metadata.finalizers", "[]")
    annotations = optional("p", "metadata.annotations", "{}")
    record = (
        f"{{'labels': {labels}, 'annotations': {annotations}, 'finalizers': {finalizers},"
        f" 'spec': p.spec, 'containers': l, 'asks': dyn({asks})}}"
    )
    return f"{_pods(value)}.map(p, {bind_variable(containers('p'), 'l', record)})"


def too_many_containers_expression(value: str) -> str:
    """Whether one of its pods has more containers than policies check."""
    return (
        f"{_pods(value)}.exists(p, {containers('p', priority_and_termination.COUNTED_GROUPS)}.size()"
        f" > {priority_and_termination.MOST_CONTAINERS})"
    )


def _pods(value: str) -> str:
    of_kinds = "".join(
        f" : {value}.kind == {quoted(name.rpartition('/')[2])} ? {_templates(value, name)}"
        for name in ("batch/CronJob", *queued.OF_OTHER_PROJECTS)
    )
    templates = f"{value}.kind == 'Pod' ? [{value}]{of_kinds} : [{value}.spec.template]"
    return f"({templates})"


def pod_asks(pod: str, its_containers: str) -> str:
    """Whether a pod requests GPUs or claims devices."""
    claims = optional(pod, "spec.resourceClaims", "[]")
    return f"{claims}.size() > 0 || {its_containers}.exists(c, {container_asks('c')})"


def gated_expression(pod: str) -> str:
    """Whether a pod has Kueue's scheduling gate."""
    gates = optional(pod, "spec.schedulingGates", "[]")
    return f"{gates}.exists(g, g.name == {quoted(QUEUE_GATE)})"


def longest_grace() -> str:
    """The longest grace period, in seconds, of a pod with GPUs in the namespace."""
    return f"int(namespaceObject.metadata.annotations[?{quoted(LONGEST_GRACE)}].orValue('{USUAL_GRACE}'))"


def pod_group(labels: str, annotations: str) -> str:
    """The group of a pod, '' for none; Kueue prefers the annotation to the label."""
    annotated = label(annotations, POD_GROUP_LABEL)
    return f"({annotated} != '' ? {annotated} : {label(labels, POD_GROUP_LABEL)})"


def _templates(value: str, kind: str) -> str:
    """The templates of a kind; every part of a path may be missing."""
    places = [place.at for place in KINDS[kind].places if place.form is PodsForm.TEMPLATE]
    results: list[str] = []
    for at in places:
        if EACH not in at:
            results.append(_template(value, at))
            continue
        before, after = at[: at.index(EACH)], at[at.index(EACH) + 1 :]
        # in a fixed order: CEL's order of map keys changes between evaluations
        if roles := ROLES.get(kind.rpartition("/")[2]):
            results += [_template(value, (*before, role, *after)) for role in roles]
        else:
            each = optional(value, ".".join(map(str, before)), "[]")
            results.append(
                f"{each}.filter(j, {_is_there('j', after)}).map(j, {_below('j', after)})"
            )
    return f"({' + '.join(results) or '[]'})"


def _template(value: str, at: Path) -> str:
    return f"({_is_there(value, at)} ? [{_below(value, at)}] : [])"


def _is_there(value: str, at: Path) -> str:
    return f"{value}.?{'.?'.join(map(str, at))}.hasValue()"


def _below(value: str, at: Path) -> str:
    return f"{value}.{'.'.join(map(str, at))}"
