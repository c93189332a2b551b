"""Gangs that lose a node: the program that queues them again whole, and jobs that do not fail by it.

The same program tells of nodes that were bought in a lower way than the best of their pool's ladder.

A pod that is put out of its node ends its job where that allows no failure, and a JobSet counts a restart. So
jobs of teams that say nothing of failures are told that such a pod is none, by the API server.
"""

import json
from typing import Any

from gpuyard.catalogue.kubernetes.api import changes_jobs
from gpuyard.catalogue.kubernetes.interruptions import NOTICES
from gpuyard.manifests.queued import JOBS, QUEUED_KINDS
from gpuyard.names import (
    INTERRUPTED_LABEL,
    KUEUE_GROUP,
    TEAM_LABEL,
    WORKLOAD_ANNOTATION,
    requeue_name,
    spared_name,
    system_namespace,
)
from gpuyard.plan.capacity.interruption import LOOK_SECONDS
from gpuyard.plan.records import InterruptionPlan, NamespacePlan, PlatformPlan
from gpuyard.render.access import RBAC, granted
from gpuyard.render.admission.accounts import account_policy
from gpuyard.render.admission.cel import metadata_kept, optional
from gpuyard.render.gpu_operator.objects import agent_tolerations
from gpuyard.render.kueue.priority import API
from gpuyard.render.objects import Object, managed_object, namespaces_with, service_account
from gpuyard.render.programs import AgentDeployment
from gpuyard.render.scaling.priority_expander import expander_settings, selector_of

PACKAGE = "gpuyard_requeue"
BORROWED = {"gpuyard_gate": ("__init__.py", "loop.py"), "gpuyard_idle": ("__init__.py", "web.py")}
STARTS_AGAIN = tuple(kind for kind in JOBS if QUEUED_KINDS[kind].by_default)
"""Owners of workloads that start again when these do."""
_KEPT = (
    "podSets",
    "queueName",
    "priority",
    "priorityClassRef",
    "maximumExecutionTimeSeconds",
    "preemptionGates",
)
"""All that a workload's spec says (Kueue v0.19.2, v1beta2) beside whether it is active."""


def requeue_objects(plan: PlatformPlan) -> list[Object]:
    """Rights and their limits first; nothing where no node goes, and each is bought in one way."""
    interruption = plan.interruption
    if interruption is None:
        return []
    name, space = requeue_name(plan.name), system_namespace(plan.name)
    workloads = (KUEUE_GROUP, "*", "workloads")
    looker = AgentDeployment(
        name=name,
        namespace=space,
        package=PACKAGE,
        shared_files=BORROWED,
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


def _spaces(plan: PlatformPlan, interruption: InterruptionPlan) -> list[NamespacePlan]:
    """Where gangs lose nodes; where none goes it has nothing to do there, and no rights."""
    return [space for team in plan.teams if interruption.pools for space in team.namespaces]


def settings_text(plan: PlatformPlan, interruption: InterruptionPlan) -> str:
    """What the program is told, as JSON."""
    pools = [plan.pool(each.pool) for each in interruption.pools]
    settings = {
        "every_seconds": LOOK_SECONDS,
        "selectors": [selector_of(pool) for pool in pools],
        "flavors": [pool.flavor for pool in pools],
        "namespaces": [space.name for space in _spaces(plan, interruption)],
        "taints": list(NOTICES),
        "kinds": list(STARTS_AGAIN),
        "workload": WORKLOAD_ANNOTATION,
        "interrupted": INTERRUPTED_LABEL,
        "ladders": _capacity_options(plan, interruption),
    }
    return json.dumps(settings, indent=2) + "\n"


def _capacity_options(plan: PlatformPlan, interruption: InterruptionPlan) -> list[dict[str, Any]]:
    return expander_settings(plan, [plan.pool(name) for name in interruption.ladders])


def _rights(
    plan: PlatformPlan, interruption: InterruptionPlan, name: str, home: str
) -> list[Object]:
    """Nodes to list; where teams run pods to list, workloads to stop and start, and events to tell."""
    who = [{"kind": "ServiceAccount", "name": name, "namespace": home}]
    ref = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
    nodes = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}]
    events = [{"apiGroups": [""], "resources": ["events"], "verbs": ["create"]}]
    inside = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
        *events,
        {"apiGroups": [KUEUE_GROUP], "resources": ["workloads"], "verbs": ["list", "patch"]},
    ]
    return [
        managed_object(plan.name, f"{RBAC}/v1", "ClusterRole", name, rules=nodes),
        managed_object(
            plan.name, f"{RBAC}/v1", "ClusterRoleBinding", name, roleRef=ref, subjects=who
        ),
        # where events of nodes stand, which have no namespace
        *(
            granted(plan.name, "default", name, events, who)
            if _capacity_options(plan, interruption)
            else []
        ),
        *(
            o
            for s in _spaces(plan, interruption)
            for o in granted(plan.name, s.name, name, inside, who)
        ),
    ]


def _holds() -> dict[str, str]:
    """Of a workload the account changes one label of ours and whether it is active, and nothing else."""
    same = (
        " == ".join(
            optional(each, f"spec.{part}", "''") for each in ("dyn(object)", "dyn(oldObject)")
        )
        for part in _KEPT
    )
    return {
        **metadata_kept(labels=(INTERRUPTED_LABEL,), annotations=()),
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
"""As a patch: lists that are one value, such as rules, are not merged."""


def eviction_policy_objects(plan: PlatformPlan) -> list[Object]:
    """Jobs of teams are not failed by a pod that is put out; where API servers know such policies.

    Only where the pods are never started again in their place: Kubernetes has no such rule else. Who has
    written rules of their own keeps them.
    """
    interruption = plan.interruption
    if interruption is None or not interruption.pools or not changes_jobs(plan.kubernetes):
        return []
    name = spared_name(plan.name)
    rule = {
        "apiGroups": ["batch"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["jobs"],
    }
    policy = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [
            {"name": "no-rules", "expression": "!has(object.spec.podFailurePolicy)"},
            {
                "name": "never-in-place",
                "expression": "object.spec.template.spec.?restartPolicy.orValue('') == 'Never'",
            },
        ],
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": _ADDED}}],
    }
    selector = namespaces_with(plan.name, TEAM_LABEL)
    binding = {"policyName": name, "matchResources": {"namespaceSelector": selector}}
    return [
        managed_object(plan.name, API, "MutatingAdmissionPolicy", name, spec=policy),
        managed_object(plan.name, API, "MutatingAdmissionPolicyBinding", name, spec=binding),
    ]
