"""Policies with Volcano: pods with GPUs use its scheduler and the queue of their team, as do its own objects."""

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.admission.cel import (
    bind_variable,
    containers,
    listed,
    message_expression,
    optional,
    quoted,
    required_namespace_annotation,
)
from gpuyard.render.admission.pod_expressions import pod_asks
from gpuyard.render.objects import Object, managed_object, namespaces_with, toleration_object
from gpuyard_core.admission.parameters import VOLCANO_QUEUE_OF_TEAM
from gpuyard_core.admission.remaining_pods import DEFAULT_SCHEDULER, NO_VOLCANO, OTHER_QUEUE
from gpuyard_core.admission.requirements import QUEUED
from gpuyard_core.catalogue.kubernetes.api import changes_jobs
from gpuyard_core.names import (
    TEAM_LABEL,
    VOLCANO,
    VOLCANO_GROUP,
    VOLCANO_QUEUE,
    volcano_policy_name,
)

API = "admissionregistration.k8s.io/v1"
RULES = (
    ("", "*", ("pods",)),
    (VOLCANO_GROUP, "*", ("podgroups",)),
    ("batch.volcano.sh", "*", ("cronjobs", "jobs")),
)
_GROUP_OF_POD = "scheduling.k8s.io/group-name"
"""Annotation on a pod of a PodGroup, which names the queue."""
_QUEUE = required_namespace_annotation(VOLCANO_QUEUE_OF_TEAM)


def volcano_variables() -> list[tuple[str, str]]:
    """Variables of the validating policy."""
    it = "variables.it"
    asks = bind_variable(containers(it), "l", pod_asks(it, "l"))
    annotated = optional(it, "metadata.annotations", "{}")
    in_group = f"{quoted(_GROUP_OF_POD)} in {annotated} ? {_QUEUE} : ''"
    of_pod = f"{annotated}[?{quoted(VOLCANO_QUEUE)}].orValue({in_group})"
    of_cron = optional(it, "spec.jobTemplate.spec.queue", quoted(""))
    of_others = f"{it}.kind == 'CronJob' ? {of_cron} : {optional(it, 'spec.queue', quoted(''))}"
    no_scheduler = message_expression(QUEUED, NO_VOLCANO)
    values = {"kind": f"{it}.kind", "queue": "variables.queue", "allowed": _QUEUE}
    other = message_expression(QUEUED, OTHER_QUEUE, **values)
    scheduler = optional(it, "spec.schedulerName", quoted(""))
    unscheduled = f"variables.pod && {scheduler} != {quoted(VOLCANO)}"
    named = f"variables.queue != {_QUEUE} ? {other} : ''"
    return [
        ("it", "dyn(object)"),
        ("pod", f"{it}.kind == 'Pod'"),
        ("asks", f"!variables.pod || ({asks})"),
        ("queue", f"variables.pod ? {of_pod} : ({of_others})"),
        ("said", f"!variables.asks ? '' : {unscheduled} ? {no_scheduler} : {named}"),
    ]


def volcano_defaults(plan: PlatformPlan) -> list[Object]:
    """The policy that sets scheduler, queue and tolerations of pods with GPUs, and its binding."""
    if not changes_jobs(plan.kubernetes):
        return []
    name = volcano_policy_name(plan.name)
    asks = bind_variable(containers("dyn(object)"), "l", pod_asks("dyn(object)", "l"))
    scheduler = optional("object", "spec.schedulerName", quoted(DEFAULT_SCHEDULER))
    known = f"{scheduler} in {listed((DEFAULT_SCHEDULER, VOLCANO))}"
    policy = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["pods"],
                }
            ]
        },
        "matchConditions": [
            {"name": "has-gpus", "expression": asks},
            {"name": "names-no-other-scheduler", "expression": known},
        ],
        "mutations": [
            {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
            for expression in (_named(), _tolerating(plan))
        ],
    }
    selector = namespaces_with(plan.name, TEAM_LABEL)
    binding = {"policyName": name, "matchResources": {"namespaceSelector": selector}}
    return [
        managed_object(plan.name, API, "MutatingAdmissionPolicy", name, spec=policy),
        managed_object(plan.name, API, "MutatingAdmissionPolicyBinding", name, spec=binding),
    ]


def _add(path: str, value: str) -> str:
    return f"JSONPatch{{op: 'add', path: {quoted(path)}, value: {value}}}"


def _named() -> str:
    """The scheduler and the team's queue; an author's own queue is validated."""
    annotations = optional("object", "metadata.annotations", "{}")
    whole = _add("/metadata/annotations", f"{{{quoted(VOLCANO_QUEUE)}: {_QUEUE}}}")
    one = _add(f"/metadata/annotations/{VOLCANO_QUEUE.replace('/', '~1')}", _QUEUE)
    return (
        f"[{_add('/spec/schedulerName', quoted(VOLCANO))}]"
        f" + ({quoted(VOLCANO_QUEUE)} in {annotations} ? []"
        f" : {annotations}.size() == 0 ? [{whole}] : [{one}])"
    )


def _tolerating(plan: PlatformPlan) -> str:
    """Tolerations of the taints of GPU nodes, which Kueue would add when it admits a pod."""
    taints = dict.fromkeys(taint for pool in plan.pools for taint in pool.taints)
    tolerations = [
        f"{{{', '.join(f'{quoted(key)}: {quoted(value)}' for key, value in toleration_object(taint).items())}}}"
        for taint in taints
    ]
    several = ", ".join(_add("/spec/tolerations/-", each) for each in tolerations)
    present = "has(object.spec.tolerations)"
    whole = _add("/spec/tolerations", f"[{', '.join(tolerations)}]")
    return f"{present} ? [{several}] : [{whole}]" if tolerations else "[]"
