"""The pod template of a workload: what a pod needs to start in a pool and to use its fabric.

Training runtimes, the manifests of `gpuyard job new`, services and notebooks are made of it. A
template fits every team that is passed: the strictest Pod Security level, and only what all have.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gpuyard.plan.records import DatasetPlan, PlatformPlan, TeamPlan
from gpuyard.plan.workloads.training import strictest_level
from gpuyard.render.limits import gib
from gpuyard.render.objects import Object, toleration_object
from gpuyard.render.workloads.fabrics import pod_fabric
from gpuyard.render.workloads.resources import PodResources
from gpuyard.spec.sections import DatasetKind
from gpuyard.spec.teams import PodSecurity
from gpuyard_core.names import (
    CHECKPOINTS,
    CLASS_LABEL,
    CLIQUE_LABEL,
    DATA_ACCOUNT,
    HOSTNAME_LABEL,
    TEAM_LABEL,
)

_USER = 1000
"""User and group of pods under `restricted`, which rejects root."""
DATA = "/data"
"""Datasets are mounted below it, by name."""
CHECKPOINT_PATH = "CHECKPOINT_PATH"
"""Variable with the URL of the checkpoints of one job: the same after every restart."""


class Purpose(StrEnum):
    """The purpose of a workload, which is the workload class of its pods."""

    TRAINING = "training"
    SERVICE = "inference"
    NOTEBOOK = "notebook"


@dataclass(frozen=True, slots=True, kw_only=True)
class MainContainer:
    """What the author of a workload chooses."""

    image: str
    name: str = "main"
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: tuple[Object, ...] = ()
    """Variables in the form of Kubernetes."""
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further fields, such as ports and probes."""


def pod_template(
    plan: PlatformPlan,
    teams: Sequence[TeamPlan],
    pods: PodResources,
    container: MainContainer,
    purpose: Purpose = Purpose.TRAINING,
    *,
    job_name: str | Object = "",
) -> Object:
    """A pod template that starts in its pool for each of these teams.

    `job_name` names the folder of the job's checkpoints: a literal, or a source of a variable.
    """
    fabric = pod_fabric(plan, teams, pods)
    team = {TEAM_LABEL: teams[0].stable_name} if len(teams) == 1 else {}
    annotations = {
        **_topology(pods),
        **fabric.get("annotations", {}),
        **(_bucket_annotations(plan) if _datasets(plan, teams, DatasetKind.BUCKET) else {}),
    }
    pod_context, _ = _security(teams)
    daemons = fabric.get("init", [])
    spec: Object = {
        **({"serviceAccountName": DATA_ACCOUNT} if _has_account(plan, teams) else {}),
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "restartPolicy": "Never" if purpose is Purpose.TRAINING else "Always",
        **_grace(plan, purpose),
        "nodeSelector": dict(pods.pool.node_selector),
        "tolerations": [toleration_object(taint) for taint in pods.pool.taints],
        "securityContext": pod_context,
        **({"initContainers": daemons} if daemons else {}),
        "containers": [_container(plan, teams, pods, container, fabric, purpose, job_name)],
        **_claims(pods),
        "volumes": [
            {
                "name": "shared-memory",
                "emptyDir": {"medium": "Memory", "sizeLimit": gib(max(1, pods.memory_gib // 2))},
            },
            *fabric.get("volumes", []),
            *(
                {"name": f"data-{n}", "persistentVolumeClaim": {"claimName": data.name}}
                for n, data in enumerate(_datasets(plan, teams))
            ),
        ],
    }
    labels = {CLASS_LABEL: purpose.value, **team}
    metadata = {"labels": labels, **({"annotations": annotations} if annotations else {})}
    return {"metadata": metadata, "spec": spec}


def with_script(script: str, command: Sequence[str]) -> list[str]:
    """The command, after the file that sets NCCL's variables: Bash reads it from BASH_ENV."""
    return ["/bin/bash", "-c", 'exec "$0" "$@"', *command] if script and command else list(command)


# ── the container ─────────────────────────────────────────────────────────────────────────────────
def _container(
    plan: PlatformPlan,
    teams: Sequence[TeamPlan],
    pods: PodResources,
    main: MainContainer,
    fabric: Object,
    purpose: Purpose,
    job_name: str | Object,
) -> Object:
    script = pods.pool.nccl.script if fabric and pods.pool.nccl else ""
    command = with_script(script, main.command)
    amounts = {
        "cpu": str(_within(teams, pods, "cpu", pods.cpu) - fabric.get("cpu", 0)),
        "memory": gib(
            _within(teams, pods, "memory_gib", pods.memory_gib) - fabric.get("memory", 0)
        ),
        **({} if pods.claim else {pods.resource: str(pods.count)}),
        **fabric.get("resources", {}),
    }
    claims = [{"name": name} for name, _ in _claim_templates(pods)]
    env = [
        *({"name": name, "value": value} for name, value in fabric.get("env", {}).items()),
        *([{"name": "BASH_ENV", "value": script}] if script else []),
        *(_checkpoints(plan, teams, job_name) if purpose is Purpose.TRAINING else ()),
        *main.env,
    ]
    sources = [
        {"configMapRef": {"name": name, "optional": True}} for name in fabric.get("env_from", [])
    ]
    _, context = _security(teams)
    if fabric.get("locks_memory") and strictest_level(teams) is PodSecurity.PRIVILEGED:
        context = {**context, "capabilities": {"add": ["IPC_LOCK"]}}
    return {
        "name": main.name,
        "image": main.image,
        **({"command": command} if command else {}),
        **({"args": list(main.args)} if main.args else {}),
        **({"envFrom": sources} if sources else {}),
        **({"env": env} if env else {}),
        "resources": {
            "requests": dict(amounts),
            "limits": dict(amounts),
            **({"claims": claims} if claims else {}),
        },
        "securityContext": context,
        "volumeMounts": [
            {"name": "shared-memory", "mountPath": "/dev/shm"},  # noqa: S108  the path that NCCL uses
            *fabric.get("mounts", []),
            *(_data_mount(teams, n, data) for n, data in enumerate(_datasets(plan, teams))),
        ],
        **main.fields,
    }


def _within(teams: Sequence[TeamPlan], pods: PodResources, word: str, share: int) -> int:
    """The share of the pod, at most what the limits of each team allow all pods to have."""
    limits = [
        min(
            int(getattr(each, word)) // count
            for each, count in ((team.limits.container, 1), (team.limits, pods.pods))
        )
        for team in teams
    ]
    return max(1, min([share, *limits]))


def _security(teams: Sequence[TeamPlan]) -> tuple[Object, Object]:
    """The security contexts of the pod and of its container."""
    pod: Object = {"seccompProfile": {"type": "RuntimeDefault"}}
    container: Object = {"allowPrivilegeEscalation": False}
    if strictest_level(teams) is PodSecurity.RESTRICTED:
        pod |= {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "fsGroupChangePolicy": "OnRootMismatch",
        }
        container["capabilities"] = {"drop": ["ALL"]}
    return pod, container


def _grace(plan: PlatformPlan, purpose: Purpose) -> Object:
    """Time to write a checkpoint after an interruption notice."""
    interruption = plan.spec.queueing.interruption
    seconds = interruption.checkpoint_seconds if interruption else None
    training = purpose is Purpose.TRAINING
    return {"terminationGracePeriodSeconds": seconds} if seconds and training else {}


def _claim_templates(pods: PodResources) -> list[tuple[str, str]]:
    return [
        (name, template)
        for name, template in (("gpus", pods.claim), ("channel", pods.channel))
        if template
    ]


def _claims(pods: PodResources) -> Object:
    claims = [
        {"name": name, "resourceClaimTemplateName": template}
        for name, template in _claim_templates(pods)
    ]
    return {"resourceClaims": claims} if claims else {}


# ── data ──────────────────────────────────────────────────────────────────────────────────────────
def _datasets(
    plan: PlatformPlan, teams: Sequence[TeamPlan], kind: DatasetKind | None = None
) -> list[DatasetPlan]:
    """The datasets that all teams have; a simulated cluster has none."""
    return [
        data
        for data in (() if plan.simulated else plan.storage.datasets)
        if teams
        and all(team.stable_name in data.teams for team in teams)
        and kind in {None, data.kind}
    ]


def _data_mount(teams: Sequence[TeamPlan], number: int, data: DatasetPlan) -> Object:
    writes = all(team.stable_name in data.writers for team in teams)
    mount: Object = {"name": f"data-{number}", "mountPath": f"{DATA}/{data.name}"}
    return mount if writes else {**mount, "readOnly": True}


def _bucket_annotations(plan: PlatformPlan) -> Mapping[str, str]:
    return plan.provider.bucket_pod_annotations


def _has_account(plan: PlatformPlan, teams: Sequence[TeamPlan]) -> bool:
    """Whether the namespaces of all teams have the account with access to their buckets."""
    names = [team.stable_name for team in teams]
    asks = all(plan.storage.buckets(n) or plan.storage.keeps_checkpoints(n) for n in names)
    return bool(names) and asks and not plan.simulated and plan.provider.sells_machines


def _checkpoints(
    plan: PlatformPlan, teams: Sequence[TeamPlan], job_name: str | Object
) -> Iterator[Object]:
    """The bucket, the folder of the team, and the URL of the job's own folder.

    By reference, because Kubernetes expands only variables of `env`; optional, because a runtime
    also serves teams without checkpoints.
    """
    keeps = any(plan.storage.keeps_checkpoints(team.stable_name) for team in teams)
    if plan.simulated or not keeps:
        return
    for key in ("CHECKPOINT_BUCKET", "CHECKPOINT_PREFIX"):
        reference = {"name": CHECKPOINTS, "key": key, "optional": True}
        yield {"name": key, "valueFrom": {"configMapKeyRef": reference}}
    if not job_name:
        return
    end = job_name
    if not isinstance(job_name, str):
        yield {"name": "JOB_NAME", "valueFrom": job_name}
        end = "$(JOB_NAME)"
    yield {"name": CHECKPOINT_PATH, "value": f"$(CHECKPOINT_BUCKET)/$(CHECKPOINT_PREFIX){end}"}


def _topology(pods: PodResources) -> dict[str, str]:
    """Pods of several nodes near each other: in one NVLink domain, else as near as there is room."""
    levels = pods.pool.topology.levels if pods.pool.topology else ()
    if pods.pods == 1 or len(levels) < 2:  # noqa: PLR2004  a level above the node
        return {}
    if pods.channel and CLIQUE_LABEL in levels:
        return {"kueue.x-k8s.io/podset-required-topology": CLIQUE_LABEL}
    narrowest = next(level for level in reversed(levels) if level != HOSTNAME_LABEL)
    return {"kueue.x-k8s.io/podset-preferred-topology": narrowest}
