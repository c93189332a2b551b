"""The agent that suspends idle workloads: source, settings, permissions and schedule.

Its source is in a ConfigMap.
"""

import json
from typing import Any

from gpuyard.plan.queueing.kueue import queued_by_group, queued_kinds
from gpuyard.plan.records import IdlePlan, IdleTeam, PlatformPlan
from gpuyard.plan.teams.idle import CHECK_MINUTES
from gpuyard.render.access import account_subject, role_with_binding
from gpuyard.render.admission.policy_objects import (
    account_policy,
    other_metadata_unchanged_expressions,
    other_spec_unchanged_expression,
)
from gpuyard.render.objects import Object, managed_object, service_account, system_tolerations
from gpuyard.render.programs import (
    AGENTS,
    CONFINED,
    SETTINGS_FILE,
    UNPRIVILEGED_USER,
    agent_source,
    config_map,
    program_volume,
)
from gpuyard.render.pulled_image import PulledImage, python_image
from gpuyard_core.catalogue.metrics import ACTIVITY, DEVICE_LABELS, POD_LABELS
from gpuyard_core.names import (
    IDLE,
    IDLE_PROGRAM,
    IDLE_REPLICAS,
    IDLE_SETTINGS,
    IDLE_SUSPENDED,
    IDLE_WARNED,
    KEEP_IDLE_LABEL,
    KUEUE_GROUP,
    PLATFORM_LABEL,
    PODSET_LABEL,
    TEAM_LABEL,
    WORKLOAD_ANNOTATION,
    admission_name,
    system_namespace,
)

_AGENT = "idle"
_SCALED = ("deployments", "statefulsets")


def idle_objects(plan: PlatformPlan) -> list[Object]:
    """Permissions first, the schedule last; none if no team uses it."""
    idle = plan.idle
    if idle is None:
        return []
    space = system_namespace(plan.name)
    return [
        service_account(plan.name, IDLE, space),
        *_limits(plan.name),
        *(obj for team in idle.teams for obj in _rights(plan, team)),
        config_map(plan.name, IDLE_PROGRAM, space, agent_source(_AGENT)),
        config_map(plan.name, IDLE_SETTINGS, space, {SETTINGS_FILE: settings_text(plan, idle)}),
        _schedule(plan.name, idle),
    ]


def idle_images(plan: PlatformPlan) -> list[PulledImage]:
    """The image of its pods."""
    return [python_image(plan, "idle reclaim")] if plan.idle else []


def settings_text(plan: PlatformPlan, idle: IdlePlan) -> str:
    """The settings of the agent, as JSON."""
    namespace, pod = POD_LABELS
    settings = {
        "platform": plan.name,
        "prometheus": idle.prometheus,
        "signals": [{"metric": name, "percent": unit} for name, unit in ACTIVITY.items()],
        "labels": {"namespace": namespace, "pod": pod, "device": list(DEVICE_LABELS)},
        "names": {
            "platform": PLATFORM_LABEL,
            "team": TEAM_LABEL,
            "keep": KEEP_IDLE_LABEL,
            "warned": IDLE_WARNED,
            "suspended": IDLE_SUSPENDED,
            "replicas": IDLE_REPLICAS,
            "workload": WORKLOAD_ANNOTATION,
            "pod_set": PODSET_LABEL,
        },
        "resources": list(idle.resources),
        "kinds": dict(sorted(queued_kinds(plan.spec).items())),
        "teams": [_team_settings(team) for team in idle.teams],
    }
    return json.dumps(settings, indent=2) + "\n"


def _team_settings(team: IdleTeam) -> dict[str, Any]:
    return {
        "name": team.team,
        "label": team.label,
        "namespace": team.namespace,
        "after_minutes": team.after_minutes,
        "grace_minutes": team.grace_minutes,
        "below_percent": team.below_percent,
        "dry_run": team.dry_run,
    }


def _limits(owner: str) -> list[Object]:
    """Limits the account's patches to one field and its own annotations: RBAC has no fields."""
    changes = {
        ("apps", "v1", "deployments"): ("replicas", (IDLE_SUSPENDED, IDLE_REPLICAS)),
        ("apps", "v1", "statefulsets"): ("replicas", (IDLE_SUSPENDED, IDLE_REPLICAS)),
        (KUEUE_GROUP, "*", "workloads"): ("active", (IDLE_SUSPENDED, IDLE_WARNED)),
    }
    return [
        policy
        for of, (field, annotations) in changes.items()
        for policy in account_policy(
            owner,
            f"{admission_name(owner)}-idle-{of[2]}",
            system_namespace(owner),
            of,
            {
                **other_metadata_unchanged_expressions(labels=(), annotations=annotations),
                "fields": other_spec_unchanged_expression(field),
            },
            account=IDLE,
        )
    ]


def _rights(plan: PlatformPlan, team: IdleTeam) -> list[Object]:
    """In the team's namespace only: read, suspend, create events. A dry run may not suspend."""
    act = [] if team.dry_run else ["patch"]
    rules = [
        {
            "apiGroups": [""],
            "resources": ["namespaces"],
            "resourceNames": [team.namespace],
            "verbs": ["get"],
        },
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
        {"apiGroups": [KUEUE_GROUP], "resources": ["workloads"], "verbs": ["list", *act]},
        {"apiGroups": ["apps"], "resources": list(_SCALED), "verbs": ["list", *act]},
        {"apiGroups": ["apps"], "resources": ["replicasets"], "verbs": ["list"]},
        *(  # to read the label that exempts them
            {"apiGroups": [group], "resources": plurals, "verbs": ["list"]}
            for group, plurals in queued_by_group(plan.spec).items()
            if group != "apps"
        ),
    ]
    account = account_subject(IDLE, system_namespace(plan.name))
    return role_with_binding(plan.name, team.namespace, IDLE, rules, [account])


def _schedule(owner: str, idle: IdlePlan) -> Object:
    """One run at a time; a run that hangs is ended before the next is due."""
    job = {
        "backoffLimit": 0,
        "activeDeadlineSeconds": CHECK_MINUTES * 60 - 30,
        "template": {"spec": _pod(idle)},
    }
    spec = {
        "schedule": f"*/{CHECK_MINUTES} * * * *",
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": CHECK_MINUTES * 60,
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 3,
        "suspend": idle.paused,
        "jobTemplate": {"spec": job},
    }
    return managed_object(
        owner, "batch/v1", "CronJob", IDLE, namespace=system_namespace(owner), spec=spec
    )


def _pod(idle: IdlePlan) -> Object:
    """Complies with Pod Security `restricted`; runs on system nodes too, never on GPU nodes."""
    return {
        "serviceAccountName": IDLE,
        "automountServiceAccountToken": True,
        "restartPolicy": "Never",
        "tolerations": system_tolerations(),
        "securityContext": dict(UNPRIVILEGED_USER),
        "containers": [_container(idle)],
        "volumes": [
            program_volume(IDLE_PROGRAM, agent_source(_AGENT)),
            {"name": "settings", "configMap": {"name": IDLE_SETTINGS}},
        ],
    }


def _container(idle: IdlePlan) -> Object:
    return {
        "name": "idle",
        "image": idle.image,
        # -B: no bytecode is written to the source, which is read-only.
        "command": ["python", "-B", "-m", f"{AGENTS}.{_AGENT}"],
        "args": ["--settings", f"/settings/{SETTINGS_FILE}"],
        "workingDir": "/program",
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            "limits": {"memory": "512Mi"},
        },
        "securityContext": dict(CONFINED),
        "volumeMounts": [
            {"name": "program", "mountPath": "/program", "readOnly": True},
            {"name": "settings", "mountPath": "/settings", "readOnly": True},
        ],
    }
