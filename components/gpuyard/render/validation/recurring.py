"""Recurring validation: a CronJob removes the verdict of idle nodes, which are then checked again.

It creates no pods and holds no GPU: the checks of nodes without a verdict run next to new jobs. Its
account may remove one label, and record which run did so.
"""

import json

from gpuyard.plan.records import PlatformPlan, PoolPlan, RecurringCheck, ValidationPlan
from gpuyard.render.access import account_subject, role_with_binding
from gpuyard.render.admission.cel import quoted
from gpuyard.render.admission.policy_objects import (
    account_policy,
    other_metadata_unchanged_expressions,
    unchanged_expression,
)
from gpuyard.render.gpu_operator.objects import agent_tolerations, operator_namespace
from gpuyard.render.objects import Object, managed_object, service_account
from gpuyard.render.programs import SETTINGS_FILE, AgentDeployment
from gpuyard.render.scaling.priority_expander import selector_of
from gpuyard_core.names import CHECK_AGAIN, CHECKED_LABEL, JOB_NAME_LABEL, recurring_validation_name

MODULE = "gpuyard_agents.gate.recurring"
EVERY_SECONDS = 30
_ENDS_SECONDS = 300
"""A run that hangs is ended this many seconds after its time."""


def recurring_objects(
    plan: PlatformPlan,
    validation: ValidationPlan,
    pools: list[PoolPlan],
    looker: AgentDeployment,
    names: Object,
) -> list[Object]:
    """Permissions and limits, then the scheduled program; none without recurring validation."""
    if validation.recurring is None or not pools:
        return []
    return [
        *_rights(plan),
        *_policy(plan),
        *_program(plan, validation.recurring, looker, _settings_json(validation, pools, names)),
    ]


def _settings_json(validation: ValidationPlan, pools: list[PoolPlan], names: Object) -> str:
    settings = {
        "every_seconds": EVERY_SECONDS,
        "run_seconds": validation.recurring.seconds if validation.recurring else 0,
        "most_at_once_percent": validation.max_unavailable_percent,
        "names": names,
        "again": CHECK_AGAIN,
        "pools": [
            {
                "name": pool.name,
                "selector": selector_of(pool),
                "resources": [each.resource for each in pool.advertised],
            }
            for pool in pools
        ],
    }
    return json.dumps(settings, indent=2) + "\n"


def _rights(plan: PlatformPlan) -> list[Object]:
    """List and patch nodes; list all pods, which show whether a node is idle."""
    name, space = recurring_validation_name(plan.name), operator_namespace(plan)
    rules = [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "patch"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    ]
    return [
        service_account(plan.name, name, space),
        *role_with_binding(plan.name, None, name, rules, [account_subject(name, space)]),
    ]


def _policy(plan: PlatformPlan) -> list[Object]:
    """It may remove the verdict, but not set one: only a check sets `passed`."""
    name = recurring_validation_name(plan.name)
    ours = f"metadata.?labels[?{quoted(CHECKED_LABEL)}].orValue('')"
    holds = {
        **other_metadata_unchanged_expressions(labels=(CHECKED_LABEL,), annotations=(CHECK_AGAIN,)),
        "marks": f"object.{ours} in ['', oldObject.{ours}]",
        "taints": unchanged_expression("spec.taints", "[]"),
        "cordons": unchanged_expression("spec.unschedulable", "false"),
    }
    return account_policy(plan.name, name, operator_namespace(plan), ("", "v1", "nodes"), holds)


def _program(
    plan: PlatformPlan, again: RecurringCheck, looker: AgentDeployment, settings: str
) -> list[Object]:
    name, space = recurring_validation_name(plan.name), operator_namespace(plan)
    pod = looker.pod(agent_tolerations(plan))
    (container,) = pod["containers"]
    (volume,) = pod["volumes"]
    container |= {
        "name": "again",
        "command": ["python3", "-B", "-m", MODULE],
        "args": ["--settings", f"/settings/{SETTINGS_FILE}", "--run", "$(RUN)"],
        "env": [
            {
                "name": "RUN",
                "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{JOB_NAME_LABEL}']"}},
            }
        ],
    }
    container["volumeMounts"] = [
        *container["volumeMounts"],
        {"name": "settings", "mountPath": "/settings", "readOnly": True},
    ]
    pod |= {
        "serviceAccountName": name,
        "restartPolicy": "Never",
        "volumes": [volume, {"name": "settings", "configMap": {"name": name}}],
    }
    job = {
        "backoffLimit": 2,
        "activeDeadlineSeconds": again.seconds + _ENDS_SECONDS,
        "template": {"metadata": {"labels": {"app.kubernetes.io/name": name}}, "spec": pod},
    }
    spec = {
        "schedule": again.cron,
        "timeZone": again.time_zone,
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": 3600,
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 3,
        "jobTemplate": {"spec": job},
    }
    return [
        managed_object(
            plan.name, "v1", "ConfigMap", name, namespace=space, data={SETTINGS_FILE: settings}
        ),
        managed_object(plan.name, "batch/v1", "CronJob", name, namespace=space, spec=spec),
    ]
