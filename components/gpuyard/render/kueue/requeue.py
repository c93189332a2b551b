"""Gangs that lose a node: the agent that requeues them, and a failure policy for jobs.

The same agent reports nodes that were bought at a later capacity option than the first of their
pool.

A pod evicted from its node fails a job that allows no failure, and a JobSet counts a restart. So
for jobs of teams without a failure policy, the API server adds one that ignores such pods.
"""

import json
from typing import Any

from gpuyard.plan.capacity.interruption import LOOK_SECONDS
from gpuyard.plan.queueing.kueue import queued_kinds
from gpuyard.plan.queueing.volcano import uses_volcano
from gpuyard.plan.records import InterruptionPlan, NamespacePlan, PlatformPlan
from gpuyard.render.access import account_subject, role_with_binding
from gpuyard.render.admission.cel import optional
from gpuyard.render.admission.policy_objects import (
    account_policy,
    json_patch,
    mutating_policy,
    other_metadata_unchanged_expressions,
    resource_rule,
)
from gpuyard.render.gpu_operator.objects import agent_tolerations
from gpuyard.render.objects import Object, service_account
from gpuyard.render.programs import AgentDeployment
from gpuyard.render.pulled_image import PulledImage, python_image
from gpuyard.render.scaling.priority_expander import expander_settings, selector_of
from gpuyard_core.catalogue.kubernetes.api import changes_jobs
from gpuyard_core.catalogue.kubernetes.interruptions import NOTICES
from gpuyard_core.manifests.queued import JOBS
from gpuyard_core.names import (
    INTERRUPTED_LABEL,
    KUEUE_GROUP,
    TEAM_LABEL,
    WORKLOAD_ANNOTATION,
    pod_failure_policy_name,
    requeue_name,
    system_namespace,
)

_KEPT = (
    "podSets",
    "queueName",
    "priority",
    "priorityClassRef",
    "maximumExecutionTimeSeconds",
    "preemptionGates",
)
"""All fields of a workload's spec (Kueue v0.19.2, v1beta2) except `active`."""


def requeue_objects(plan: PlatformPlan) -> list[Object]:
    """Permissions and limits first; none without interruptible nodes and later capacity options."""
    interruption = plan.interruption
    if interruption is None or uses_volcano(plan.spec):
        return []
    name, space = requeue_name(plan.name), system_namespace(plan.name)
    workloads = (KUEUE_GROUP, "*", "workloads")
    looker = AgentDeployment(
        name=name,
        namespace=space,
        agent="requeue",
        image=interruption.image,
        settings=settings_text(plan, interruption),
    )
    return [
        service_account(plan.name, name, space),
        *_rights(plan, interruption, name, space),
        *(
            account_policy(plan.name, name, space, workloads, _holds())
            if interruption.pools
            else []
        ),
        *looker.objects(plan.name, agent_tolerations(plan)),
    ]


def requeue_images(plan: PlatformPlan) -> list[PulledImage]:
    """The image of its pod."""
    return [python_image(plan, "requeueing")] if requeue_objects(plan) else []


def _spaces(plan: PlatformPlan, interruption: InterruptionPlan) -> list[NamespacePlan]:
    """Namespaces where gangs lose nodes; elsewhere the agent has no task and no permissions."""
    return [space for team in plan.teams if interruption.pools for space in team.namespaces]


def settings_text(plan: PlatformPlan, interruption: InterruptionPlan) -> str:
    """The settings of the agent, as JSON."""
    pools = [plan.pool(each.pool) for each in interruption.pools]
    settings = {
        "every_seconds": LOOK_SECONDS,
        "selectors": [selector_of(pool) for pool in pools],
        "flavors": [pool.flavor for pool in pools],
        "namespaces": [space.name for space in _spaces(plan, interruption)],
        "taints": list(NOTICES),
        "kinds": [kind for kind in JOBS if kind in queued_kinds(plan.spec)],
        "workload": WORKLOAD_ANNOTATION,
        "interrupted": INTERRUPTED_LABEL,
        "pool_options": _capacity_options(plan, interruption),
    }
    return json.dumps(settings, indent=2) + "\n"


def _capacity_options(plan: PlatformPlan, interruption: InterruptionPlan) -> list[dict[str, Any]]:
    return expander_settings(plan, [plan.pool(name) for name in interruption.fallback_pools])


def _rights(
    plan: PlatformPlan, interruption: InterruptionPlan, name: str, home: str
) -> list[Object]:
    """List nodes; in namespaces with pods list them, stop and start workloads, create events."""
    who = [account_subject(name, home)]
    nodes = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}]
    events = [{"apiGroups": [""], "resources": ["events"], "verbs": ["create"]}]
    inside = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
        *events,
        {"apiGroups": [KUEUE_GROUP], "resources": ["workloads"], "verbs": ["list", "patch"]},
    ]
    return [
        *role_with_binding(plan.name, None, name, nodes, who),
        # the namespace of events of nodes, which have none
        *(
            role_with_binding(plan.name, "default", name, events, who)
            if _capacity_options(plan, interruption)
            else []
        ),
        *(
            o
            for s in _spaces(plan, interruption)
            for o in role_with_binding(plan.name, s.name, name, inside, who)
        ),
    ]


def _holds() -> dict[str, str]:
    """On a workload, the account changes one gpuyard label and `active`, and nothing else."""
    same = (
        " == ".join(
            optional(f"dyn({each})", f"spec.{part}", "''") for each in ("object", "oldObject")
        )
        for part in _KEPT
    )
    return {
        **other_metadata_unchanged_expressions(labels=(INTERRUPTED_LABEL,), annotations=()),
        "parts of the spec": " && ".join(same),
    }


_POLICY = "Object.spec.podFailurePolicy"
_IGNORES = (
    f"{_POLICY}{{rules: [{_POLICY}.rules{{action: 'Ignore', onPodConditions:"
    f" [{_POLICY}.rules.onPodConditions{{type: 'DisruptionTarget', status: 'True'}}]}}]}}"
)
_ADDED = (
    f"[JSONPatch{{op: 'add', path: '/spec/podFailurePolicy', value: {_IGNORES}}},"
    " JSONPatch{op: 'add', path: '/spec/podReplacementPolicy', value: 'Failed'}]"
)
"""As a JSON patch: a merge patch does not merge atomic lists, such as rules."""


def pod_failure_policy_objects(plan: PlatformPlan) -> list[Object]:
    """Jobs of teams do not fail from an evicted pod, if the API server supports such policies.

    Only for pods that are never restarted in place: Kubernetes has no such rule otherwise. A job
    with its own rules keeps them.
    """
    interruption = plan.interruption
    if interruption is None or not interruption.pools or not changes_jobs(plan.kubernetes):
        return []
    name = pod_failure_policy_name(plan.name)
    return mutating_policy(
        plan.name,
        name,
        TEAM_LABEL,
        [resource_rule("batch", "v1", ["jobs"])],
        {
            "no-rules": "!has(object.spec.podFailurePolicy)",
            "never-in-place": "object.spec.template.spec.?restartPolicy.orValue('') == 'Never'",
        },
        [json_patch(_ADDED)],
    )
