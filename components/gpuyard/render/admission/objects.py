"""The objects of admission: the policies of the platform, bound to the namespaces of its teams.

Values that differ between teams are annotations of the team's namespace, which the team cannot
change. If one is missing, every request is denied.
"""

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from gpuyard.plan.queueing.kueue import queued_kinds
from gpuyard.plan.queueing.volcano import uses_volcano
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.admission import belongings, reservations, scale_up, termination
from gpuyard.render.admission.cel import (
    label,
    listed,
    message_expression,
    namespace_annotation,
    optional,
    quoted,
    required_namespace_annotation,
)
from gpuyard.render.admission.cel_rules import CEL_RULES, named_workloads, parents, variable_of
from gpuyard.render.admission.classes import class_objects
from gpuyard.render.admission.pod_expressions import (
    BY_CONTROLLER,
    longest_grace,
    pod_expressions,
    too_many_containers_expression,
)
from gpuyard.render.admission.running_workloads import controllers, pods_per_template_expression
from gpuyard.render.admission.team_parameters import enforcement
from gpuyard.render.admission.volcano import RULES as VOLCANO_RULES
from gpuyard.render.admission.volcano import volcano_defaults, volcano_variables
from gpuyard.render.objects import Object, managed_object, namespaces_with
from gpuyard.spec.sections import Enforce
from gpuyard_core.admission import priority_and_termination, queued
from gpuyard_core.admission.parameters import (
    CSI_DRIVERS,
    IMAGES_FROM,
    PRIORITIES,
    PRIORITY_CLASSES,
    QUEUES,
    SHARES,
    TAINTS,
)
from gpuyard_core.admission.requirements import QUEUED, TURNS
from gpuyard_core.names import (
    PRIORITY_LABEL,
    QUEUE_LABEL,
    TEAM_LABEL,
    admission_name,
    deletion_policy_name,
    kueue_admission_policy_name,
    other_objects_policy_name,
    scaling_policy_name,
    volcano_policy_name,
)

API = "admissionregistration.k8s.io/v1"
LONGEST = 3000
"""Characters of a message; the API server drops messages beyond 5 KiB."""
_ACTIONS = {
    Enforce.DENY: ["Deny"],
    Enforce.WARN: ["Warn", "Audit"],
    Enforce.AUDIT: ["Audit"],
}
_Rules = tuple[tuple[str, str, tuple[str, ...]], ...]
_RULES: _Rules = (
    ("", "v1", ("pods", "pods/ephemeralcontainers", "replicationcontrollers")),
    ("apps", "v1", ("daemonsets", "deployments", "replicasets", "statefulsets")),
    ("batch", "v1", ("cronjobs", "jobs")),
)
"""Group, version and resources; a policy ignores those that the cluster does not have."""
_SOUND = "variables.said == ''"
_QUEUED = variable_of(QUEUED)
_STEP = re.compile(r"\.(filter|map)\(")
"""Points at which a long expression is wrapped."""
_JOBS = ("Job", "JobSet")
"""Kinds whose pod templates are immutable; what starts and stops them may change the rest."""


@dataclass(frozen=True, slots=True)
class _Policy:
    """What one policy matches, and its validation."""

    name: str
    rules: _Rules
    variables: Iterable[tuple[str, str]]
    sound: str = _SOUND
    operations: tuple[str, ...] = ("CREATE", "UPDATE")
    parameters: Mapping[str, str] | None = None
    """The parameter kind: the policy runs once for each such object in the request's namespace."""
    only: str = ""
    """The match condition."""


def admission_objects(plan: PlatformPlan) -> list[Object]:
    """Policies and bindings for pods, other objects, deletions, scale-up and admission; or none."""
    if not plan.teams:
        return []
    volcano = uses_volcano(plan.spec)
    without = {_QUEUED} if volcano else set[str]()
    policies = [
        _Policy(admission_name(plan.name), _rules(plan), _variables(without)),
        _Policy(
            other_objects_policy_name(plan.name),
            belongings.RULES,
            belongings.variables(),
            f"{_SOUND} || ({belongings.MAY})",
        ),
        _Policy(
            deletion_policy_name(plan.name),
            termination.rules(plan),
            termination.variables(),
            f"{_SOUND} || ({termination.MAY})",
            operations=("DELETE",),
        ),
        *([_of_volcano(plan)] if volcano else _of_kueue(plan)),
    ]
    return [
        *(each for one in policies for each in (_policy(plan.name, one), _binding(plan, one))),
        *(volcano_defaults(plan) if volcano else []),
        *class_objects(plan),
    ]


def _of_volcano(plan: PlatformPlan) -> _Policy:
    return _Policy(volcano_policy_name(plan.name), VOLCANO_RULES, volcano_variables())


def _of_kueue(plan: PlatformPlan) -> list[_Policy]:
    return [
        _Policy(
            scaling_policy_name(plan.name),
            scale_up.RULES,
            scale_up.variables(),
            operations=scale_up.OPERATIONS,
            parameters=scale_up.PARAMETERS,
            only=scale_up.ONLY,
        ),
        _Policy(
            kueue_admission_policy_name(plan.name),
            reservations.RULES,
            reservations.variables(),
            only=reservations.ONLY,
        ),
    ]


def _rules(plan: PlatformPlan) -> _Rules:
    """Those of Kubernetes, and the kinds of other projects that Kueue queues here."""
    kinds = queued_kinds(plan.spec)
    return (
        *_RULES,
        *((k.partition("/")[0], "*", (kinds[k],)) for k in queued.OF_OTHER_PROJECTS if k in kinds),
    )


def _binding(plan: PlatformPlan, policy: _Policy) -> Object:
    # without a parameter object nothing was counted yet
    every = {"paramRef": {"selector": {}, "parameterNotFoundAction": "Allow"}}
    spec = {
        "policyName": policy.name,
        **(every if policy.parameters else {}),
        "matchResources": {"namespaceSelector": namespaces_with(plan.name, TEAM_LABEL)},
        "validationActions": _ACTIONS[enforcement(plan)],
    }
    return managed_object(
        plan.name, API, "ValidatingAdmissionPolicyBinding", policy.name, spec=spec
    )


def _policy(owner: str, policy: _Policy) -> Object:
    spec = {
        "failurePolicy": "Fail",
        **({"paramKind": dict(policy.parameters)} if policy.parameters else {}),
        "matchConstraints": {
            "namespaceSelector": namespaces_with(owner, TEAM_LABEL),
            "resourceRules": [
                {
                    "apiGroups": [group],
                    "apiVersions": [version],
                    "operations": list(policy.operations),
                    "resources": list(resources),
                }
                for group, version, resources in policy.rules
            ],
        },
        **(
            {"matchConditions": [{"name": "concerns-it", "expression": policy.only}]}
            if policy.only
            else {}
        ),
        "variables": [
            {"name": key, "expression": _STEP.sub(r"\n\g<0>", text)}
            for key, text in policy.variables
        ],
        "validations": [
            {
                "expression": policy.sound,
                "messageExpression": (
                    f"variables.said.size() > {LONGEST}"
                    f" ? variables.said.substring(0, {LONGEST}) + ' …' : variables.said"
                ),
                "message": f"platform {owner} rejected the request; the reasons exceed the message limit",
                "reason": "Forbidden",
            }
        ],
    }
    return managed_object(owner, API, "ValidatingAdmissionPolicy", policy.name, spec=spec)


def _variables(without: Container[str] = ()) -> Iterable[tuple[str, str]]:
    """The variables of the requirements, the requirements, and all messages."""
    jobs = f"variables.it.kind in {listed(_JOBS)}"

    def parts(text: str) -> str:
        return f"{text}.split('\\n').filter(l, l != '')"

    def lines(name: str) -> str:
        return parts(required_namespace_annotation(name))

    taint = (
        "{'text': l, 'key': l.split('=')[0], 'value': l.split('=')[1].split(':')[0],"
        " 'effect': l.split(':')[1]}"
    )

    def suspended(value: str) -> str:
        paths = (optional(value, ".".join(path), "false") for path in queued.SUSPEND)
        return f"({' || '.join(paths)})"

    # with dyn the API server checks types at evaluation: kinds have their pods at different paths
    yield "it", "dyn(object)"
    yield "was", "dyn(oldObject)"
    yield "created", "request.operation == 'CREATE'"
    yield "by_controller", BY_CONTROLLER
    yield "controllers", controllers("variables.it")
    yield "allowed_images", lines(IMAGES_FROM)
    yield "queues", lines(QUEUES)
    yield "taints", f"{lines(TAINTS)}.map(l, {taint})"
    yield "priority_classes", parts(namespace_annotation(PRIORITY_CLASSES))
    yield "priorities", parts(namespace_annotation(PRIORITIES))
    yield "csi_drivers", parts(namespace_annotation(CSI_DRIVERS))
    yield "shares", parts(namespace_annotation(SHARES))
    yield "crowded", _newly_crowded()
    yield "longest_grace", longest_grace()
    yield "all_pods", pod_expressions("variables.it")
    yield "old_pods", f"variables.created ? [] : {pod_expressions('variables.was')}"
    yield "named_priorities", _priorities_of("variables.it", "all_pods")
    before = _priorities_of("variables.was", "old_pods")
    yield "old_priorities", f"variables.created ? [] : {before}"
    yield "named_workloads", named_workloads("it", "all_pods")
    before = named_workloads("was", "old_pods")
    yield "old_workloads", f"variables.created ? [] : {before}"
    yield "parents", parents("all_pods")
    yield "old_parents", f"variables.created ? [] : {parents('old_pods')}"
    # finalizers and annotations of an existing pod may always change, or none could be removed
    written, stored = (
        f"variables.{pods}.map(p, [p.labels, p.spec]"
        " + (variables.it.kind == 'Pod' ? [] : [p.annotations, p.finalizers]))"
        for pods in ("all_pods", "old_pods")
    )
    yield "changed", f"variables.created || {written} != {stored}"
    # pods of a Job are also checked one by one; existing workloads may still be stopped and removed
    yield "pods", f"variables.changed && (variables.created || !({jobs})) ? variables.all_pods : []"
    yield "queue", _queue_of("variables.it")
    yield "old_queue", f"variables.created ? '' : {_queue_of('variables.was')}"
    yield "waited", suspended("variables.was")
    yield "starts", f"!variables.created && variables.waited && !{suspended('variables.it')}"
    yield "runs", f"!variables.created && !variables.waited && !{suspended('variables.it')}"
    yield "counts", pods_per_template_expression("variables.it")
    yield "old_counts", f"variables.created ? [] : {pods_per_template_expression('variables.was')}"
    enters = f"{jobs} ? variables.starts : variables.changed"
    yield "enters", f"variables.created || variables.old_queue != '' || ({enters})"
    applied = {name: twin for name, twin in CEL_RULES.items() if name not in without}
    for name, (_, expression) in applied.items():
        yield name, expression
    result = " + ".join(f"variables.{name}" for name in applied)
    # the API server evaluates variables lazily
    sentence = message_expression(
        TURNS,
        priority_and_termination.CROWDED,
        most=quoted(str(priority_and_termination.MOST_CONTAINERS)),
    )
    yield "said", f"variables.crowded ? {sentence} : ({result}).join('. ')"


def _newly_crowded() -> str:
    before = too_many_containers_expression("variables.was")
    return f"{too_many_containers_expression('variables.it')} && (variables.created || !({before}))"


def _priorities_of(value: str, pods: str) -> str:
    """The priorities that a workload names: itself, for its jobs and in its pods."""
    own, of_jobs = (
        label(f"{value}{path}.?metadata.?labels", PRIORITY_LABEL)
        for path in ("", ".?spec.?jobTemplate")
    )
    of_pods = f"variables.{pods}.map(p, {label('p.labels', PRIORITY_LABEL)})"
    return f"([{own}, {of_jobs}] + (variables.it.kind == 'Pod' ? [] : {of_pods}))"


def _queue_of(value: str) -> str:
    """The queue that a workload names, as Kueue reads it."""

    def of(path: str) -> str:
        return label(f"{value}{path}.?metadata.?labels", QUEUE_LABEL)

    return (
        f"(variables.it.kind in {listed(queued.OF_ITSELF)} ? {of('')}"
        f" : variables.it.kind == {quoted(queued.CRON)} ? {of('.spec.jobTemplate')}"
        f" : variables.it.kind in {listed(queued.PASSED_ON)} && {of('')} != '' ? {of('')}"
        f" : {of('.spec.template')})"
    )
