"""The objects of admission: the policies of the platform, bound to the namespaces of its teams.

Values that differ between teams are annotations of the team's namespace, which the team cannot
change. If one is missing, every request is denied.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from gpuyard.plan.queueing.kueue import integrated_kinds, queued_kinds
from gpuyard.plan.queueing.volcano import uses_volcano
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.admission.cel import PolicyText, quoted, read_policy
from gpuyard.render.admission.classes import class_objects
from gpuyard.render.admission.kinds import pods_of_kinds, pods_per_role, unknown_roles
from gpuyard.render.admission.policy_objects import (
    json_patch,
    mutating_policy,
    policy_with_binding,
    resource_rule,
)
from gpuyard.render.admission.team_parameters import enforcement
from gpuyard.render.objects import Object, namespaces_with, toleration_object
from gpuyard.spec.sections import Enforce
from gpuyard_core.admission import bypass, host, queued, remaining_pods
from gpuyard_core.admission.priority_and_termination import MOST_CONTAINERS
from gpuyard_core.admission.requirement import Requirement
from gpuyard_core.admission.requirements import QUEUED, REQUIREMENTS
from gpuyard_core.catalogue.kubernetes.api import changes_jobs
from gpuyard_core.manifests.queued import QUEUED_KINDS
from gpuyard_core.names import (
    TEAM_LABEL,
    admission_name,
    deletion_policy_name,
    kueue_admission_policy_name,
    other_objects_policy_name,
    scaling_policy_name,
    volcano_policy_name,
)


def volcano_defaults(plan: PlatformPlan) -> list[Object]:
    """The policy that sets scheduler, queue and tolerations of pods with GPUs, and its binding."""
    if not changes_jobs(plan.kubernetes):
        return []
    text = PolicyText("volcano")
    conditions = {
        "has-gpus": text.expression("has_gpus"),
        "names-no-other-scheduler": text.expression("names_no_other_scheduler"),
    }
    return mutating_policy(
        plan.name,
        volcano_policy_name(plan.name),
        TEAM_LABEL,
        [resource_rule("", "v1", ["pods"])],
        conditions,
        [json_patch(text.expression("named")), json_patch(_tolerating(plan, text))],
    )


def _tolerating(plan: PlatformPlan, text: PolicyText) -> str:
    """Tolerations of the taints of GPU nodes, which Kueue would add when it admits a pod."""
    taints = dict.fromkeys(taint for pool in plan.pools for taint in pool.taints)
    tolerations = [
        f"{{{', '.join(f'{quoted(key)}: {quoted(value)}' for key, value in toleration_object(taint).items())}}}"
        for taint in taints
    ]
    several = ", ".join(text.expand(f'%add("/spec/tolerations/-", {each})') for each in tolerations)
    whole = text.expand(f'%add("/spec/tolerations", [{", ".join(tolerations)}])')
    return f"has(object.spec.tolerations) ? [{several}] : [{whole}]" if tolerations else "[]"


LONGEST = 3000
"""Characters of a message; the API server drops messages beyond 5 KiB."""
_ACTIONS = {
    Enforce.DENY: ["Deny"],
    Enforce.WARN: ["Warn", "Audit"],
    Enforce.AUDIT: ["Audit"],
}
_NAMES: Mapping[str, Callable[[str], str]] = {
    "pods": admission_name,
    "other_objects": other_objects_policy_name,
    "deletions": deletion_policy_name,
    "scale_up": scaling_policy_name,
    "kueue_admission": kueue_admission_policy_name,
    "volcano": volcano_policy_name,
}
"""The names of the policies, by their file."""
_STEP = re.compile(r"\.(filter|map)\(")
"""Points at which a long expression is wrapped."""


def admission_objects(plan: PlatformPlan) -> list[Object]:
    """Policies and bindings for pods, other objects, deletions, scale-up and admission; or none."""
    if not plan.teams:
        return []
    volcano = uses_volcano(plan.spec)
    engine = ["volcano"] if volcano else ["scale_up", "kueue_admission"]
    return [
        *(
            each
            for policy in ("pods", "other_objects", "deletions", *engine)
            for each in _policy(plan, policy)
        ),
        *(volcano_defaults(plan) if volcano else []),
        *class_objects(plan),
    ]


def variable_of(requirement: Requirement) -> str:
    """The name of the variable with the messages of a requirement."""
    return requirement.id.lower().replace("-", "_")


def _policy(plan: PlatformPlan, policy: str) -> list[Object]:
    name, file, selector = (
        _NAMES[policy](plan.name),
        read_policy(policy),
        namespaces_with(plan.name, TEAM_LABEL),
    )
    text = _text(policy, volcano=uses_volcano(plan.spec))
    allowed = text["allowed"]
    spec = {
        "failurePolicy": "Fail",
        **({"paramKind": dict(file["parameters"])} if "parameters" in file else {}),
        "matchConstraints": {"namespaceSelector": selector, "resourceRules": _rules(plan, policy)},
        **(
            {"matchConditions": [{"name": "concerns-it", "expression": text["only"]}]}
            if text["only"]
            else {}
        ),
        "variables": [{"name": key, "expression": each} for key, each in text["variables"].items()],
        "validations": [
            {
                "expression": "variables.said == ''" + (f" || ({allowed})" if allowed else ""),
                "messageExpression": (
                    f"variables.said.size() > {LONGEST}"
                    f" ? variables.said.substring(0, {LONGEST}) + ' …' : variables.said"
                ),
                "message": f"platform {plan.name} rejected the request; the reasons exceed the message limit",
                "reason": "Forbidden",
            }
        ],
    }
    # without a parameter object nothing was counted yet
    every = {"paramRef": {"selector": {}, "parameterNotFoundAction": "Allow"}}
    binding = {
        **(every if "parameters" in file else {}),
        "matchResources": {"namespaceSelector": namespaces_with(plan.name, TEAM_LABEL)},
        "validationActions": _ACTIONS[enforcement(plan)],
    }
    return policy_with_binding(plan.name, "Validating", name, spec, binding)


def _rules(plan: PlatformPlan, policy: str) -> list[Object]:
    """Those of the file, and the kinds of other projects that Kueue queues here."""
    file, here = read_policy(policy), queued_kinds(plan.spec)
    more = {
        "pods": [kind for kind in queued.OF_OTHER_PROJECTS if kind in here],
        "deletions": [*queued.QUEUE_FOR_THEIRS, *integrated_kinds(plan.spec)],
    }
    operations = file.get("operations", ("CREATE", "UPDATE"))
    kinds = more.get(policy, ())
    added = [(kind.partition("/")[0], "*", [QUEUED_KINDS[kind].plural]) for kind in kinds]
    return [
        resource_rule(group, version, resources, operations)
        for group, version, resources in (*file["match"], *added)
    ]


@cache
def _text(policy: str, *, volcano: bool) -> Mapping[str, Any]:
    """The expressions of a policy; with Volcano, pods need no queue of Kueue."""
    applied = [variable_of(each) for each in REQUIREMENTS if not volcano or each is not QUEUED]
    natives: Mapping[str, Callable[..., str]] = {
        "pods_of_kinds": pods_of_kinds,
        "pods_per_role": pods_per_role,
        "unknown_roles": unknown_roles,
        "requirements": lambda: " + ".join(f"variables.{each}" for each in applied),
    }
    constants = {
        "device_variables": (*bypass.VARIABLES, *bypass.FABRIC),
        "most_containers": str(MOST_CONTAINERS),
        "owned_kinds": queued.OF_ITSELF[1:],
        "templates": range(queued.MOST_TEMPLATES),
        "volume_fields": (host.NAME, *host.TYPES),
        "cleaned": {
            kind: fix
            for kind, (path, fix) in remaining_pods.OUTLIVING.items()
            if path == remaining_pods.CLEANS
        },
    }
    text = PolicyText(policy, natives, constants)
    left_out = {variable_of(QUEUED)} if volcano else set[str]()
    variables = {
        name: _STEP.sub(r"\n\g<0>", each) for name, each in text.variables() if name not in left_out
    }
    return {
        "variables": variables,
        "only": text.expression("only"),
        "allowed": text.expression("allowed"),
    }
