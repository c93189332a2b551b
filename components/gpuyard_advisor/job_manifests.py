"""Manifests of workloads of a shape: what `gpuyard job new` writes, by kind.

Each has the queue and the priority of its team, and pods that start in the pool of the shape. A
gang starts whole, and restarts whole after a failed pod.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gpuyard.plan.queueing.kueue import integrated_kinds
from gpuyard.plan.records import PlatformPlan, RuntimePlan, ShapePlan, TeamPlan
from gpuyard.plan.shapes.shapes import candidate_pools, shape_plan
from gpuyard.plan.sharing.compute_slices import quota_resource_and_amount
from gpuyard.plan.workloads.addons import addons_of
from gpuyard.render.limits import gib
from gpuyard.render.objects import Object
from gpuyard.render.text import yaml_documents
from gpuyard.render.workloads.fabrics import missing_fabric
from gpuyard.render.workloads.pods import (
    MainContainer,
    Purpose,
    pod_template,
)
from gpuyard.render.workloads.resources import shape_resources
from gpuyard.render.workloads.runtimes import (
    FAIL_INTERRUPTED,
    MAX_RESTARTS,
    RESTART_INTERRUPTED,
    SSHD,
    TRAINER_API,
    as_mpi_user,
    upstream_image,
)
from gpuyard.spec.sections import Framework
from gpuyard.spec.sections.addons import AddonName
from gpuyard_core.manifests.queued import OPERATORS
from gpuyard_core.names import CLASS_LABEL, GPU, PRIORITY_LABEL, QUEUE_LABEL

PORT, SERVER_PORT, RENDEZVOUS = 8888, 8000, 29400
HOME = "/home/jovyan"
_USER, _GROUP = 1000, 100
"""User and group of the Jupyter images."""


class ManifestKind(StrEnum):
    """The kinds, by their names on the command line."""

    JOB = "job"
    JOBSET = "jobset"
    TRAINJOB = "trainjob"
    PYTORCHJOB = "pytorchjob"
    MPIJOB = "mpijob"
    RAYJOB = "rayjob"
    LEADERWORKERSET = "leaderworkerset"
    NOTEBOOK = "notebook"
    SERVICE = "service"


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestRequest:
    """What the author of a manifest chooses."""

    kind: ManifestKind
    name: str
    team: TeamPlan
    shape: ShapePlan
    queue: str
    image: str
    command: str = ""
    """A line for the shell; empty: a default of the kind, or what the image starts."""
    home_gib: int = 20
    """Size of the home volume of a notebook."""


_PURPOSE = {ManifestKind.NOTEBOOK: Purpose.NOTEBOOK, ManifestKind.SERVICE: Purpose.SERVICE}
_PURPOSE |= {ManifestKind.LEADERWORKERSET: Purpose.SERVICE}
RAY_IMAGE = "rayproject/ray:2.52.0-gpu"
"""The version of ray-project/kuberay v1.6.2 ray-operator/config/samples, with CUDA (2026-11-29)."""
NOTEBOOK_IMAGE = "quay.io/jupyter/pytorch-notebook:cuda12-2026-08-03"
"""Of jupyter/docker-stacks; tags with a date do not move (2026-11-29)."""
_IMAGES = {ManifestKind.RAYJOB: RAY_IMAGE, ManifestKind.NOTEBOOK: NOTEBOOK_IMAGE}
WITHOUT_IMAGE = (ManifestKind.LEADERWORKERSET, ManifestKind.SERVICE)
"""Kinds without a default image: no server runs without a model."""
ALL_REDUCE = """torchrun --no-python python -c '
import os, torch, torch.distributed as dist
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
ones = torch.ones(1, device="cuda")
dist.all_reduce(ones)
print(f"rank {dist.get_rank()}: all-reduce over {int(ones)} GPUs")
dist.destroy_process_group()
'"""
"""The command of training jobs whose author names none: it shows that all GPUs communicate."""
_MPI_COMMAND = "mpirun hostname"
_RAY_COMMAND = "python -c 'import ray; ray.init(); print(ray.cluster_resources())'"


def default_image(kind: ManifestKind) -> str:
    """The image of a kind for authors who name none; empty for a TrainJob, which has that of its runtime."""
    if kind is ManifestKind.TRAINJOB:
        return ""
    framework = Framework.MPI if kind is ManifestKind.MPIJOB else Framework.TORCH
    return _IMAGES.get(kind) or upstream_image(framework)


def place_shape(plan: PlatformPlan, team: TeamPlan, name: str) -> ShapePlan | None:
    """The shape in the first pool where the team has quota for all of it; None if there is none."""
    planned = next(each for each in plan.shapes if each.name == name)
    if team.name in planned.teams:
        return planned
    shape = next(each for each in plan.spec.shapes if each.name == name)
    pools = (each for each in plan.pools if shape.pool in {None, each.name} and each.dra is None)
    for pool, offer in candidate_pools(shape, pools):
        resource, amount = quota_resource_and_amount(pool, offer.resource)
        quota, found = team.quota(pool.name, resource), shape_plan(shape, pool, offer)
        if quota and quota.nominal + quota.borrow >= amount * found.per_node * found.nodes:
            return found
    return None


_ADDONS = {
    ManifestKind.JOBSET: AddonName.JOBSET,
    ManifestKind.TRAINJOB: AddonName.KUBEFLOW_TRAINER,
    ManifestKind.RAYJOB: AddonName.KUBERAY,
    ManifestKind.LEADERWORKERSET: AddonName.LEADER_WORKER_SET,
}
"""Add-ons whose controllers run a kind."""
_PYTORCHJOB = "kubeflow.org/PyTorchJob"
WITHOUT_ADDON = (ManifestKind.PYTORCHJOB, ManifestKind.MPIJOB)
"""Kinds whose controllers gpuyard does not install."""
_ONE_POD = (ManifestKind.NOTEBOOK, ManifestKind.SERVICE)


def kind_obstacle(
    plan: PlatformPlan, team: TeamPlan, shape: ShapePlan, kind: ManifestKind
) -> tuple[str, str]:
    """Why the platform runs no workload of this kind for a team, and the fix; empty if it does."""
    return next(_obstacles(plan, team, shape, kind), ("", ""))


def _obstacles(
    plan: PlatformPlan, team: TeamPlan, shape: ShapePlan, kind: ManifestKind
) -> Iterator[tuple[str, str]]:
    if plan.queueing.dispatch and kind is not ManifestKind.JOB:
        yield "the stack dispatches only Jobs to its worker clusters", "Submit it to one of these"
    if kind in _ONE_POD and shape.nodes > 1:
        yield f"it has one pod, and shape {shape.name} has {shape.nodes}", "Use another shape"
    addon = _ADDONS.get(kind)
    if addon is not None and not plan.has_addon(addon):
        yield f"the stack has no add-on {addon}", f"Add it to addons: [{addon}]"
    if addon is not None and addon not in addons_of(plan, team):
        why = f"team {team.name} may not use add-on {addon}"
        yield why, "Add the team to its `teams` in `addons`"
    if kind is ManifestKind.TRAINJOB and not _torch_runtimes(plan, shape):
        why = f"pool {shape.pool} has no training runtime of torch for shape {shape.name}"
        yield why, "Add workloads: {training: [torch]}"
    if kind is ManifestKind.PYTORCHJOB and _PYTORCHJOB not in integrated_kinds(plan.spec):
        why = "Kueue does not queue PyTorchJobs, as its integration is off"
        yield why, "Add queueing: {integrations: [pytorchjob]}"


def _torch_runtimes(plan: PlatformPlan, shape: ShapePlan) -> list[RuntimePlan]:
    """The runtime of PyTorch for the pool of a shape, with its claims; or none."""
    return [
        each
        for each in plan.runtimes
        if (each.framework, each.pool) == (Framework.TORCH, shape.pool)
        and each.shape in {None, shape.name}
    ]


def default_kind(plan: PlatformPlan, team: TeamPlan, shape: ShapePlan) -> ManifestKind:
    """The kind for a shape: for whole GPUs the one that restarts a gang whole, if its controller is installed."""
    options = (ManifestKind.TRAINJOB, ManifestKind.JOBSET) if shape.resource == GPU else ()
    usable = (each for each in options if not kind_obstacle(plan, team, shape, each)[0])
    return next(usable, ManifestKind.JOB)


def manifest_objects(plan: PlatformPlan, request: ManifestRequest) -> list[Object]:
    """The workload and what it needs in the namespace of the team."""
    return _WRITERS[request.kind](plan, request)


def manifest_text(plan: PlatformPlan, request: ManifestRequest) -> str:
    """The objects as YAML, with comments for their author."""
    shape, team = request.shape, request.team.name
    each = f"{shape.per_node} {shape.resource}"
    pods = f"{shape.nodes} pods with {each} each" if shape.nodes > 1 else f"1 pod with {each}"
    lines = [
        f"Shape {shape.name} for team {team}: {pods}, in pool {shape.pool}.",
        *_fabric_notes(plan, request),
        *_notes(plan, request),
    ]
    comments = "".join(f"# {line}\n" for line in lines)
    return comments + yaml_documents(manifest_objects(plan, request))


def _fabric_notes(plan: PlatformPlan, request: ManifestRequest) -> list[str]:
    """What the image needs for the fabric between nodes, or why the pods use TCP."""
    pods = shape_resources(plan, request.shape)
    if plan.simulated or pods.pods == 1:
        return []
    if why := missing_fabric(plan, [request.team], pods):
        return [f"The pods use TCP between nodes: {why}."]
    nccl = pods.pool.nccl
    of_image = nccl is not None and "in the image" in nccl.needs
    return [f"{nccl.fabric} needs {nccl.needs}."] if nccl and of_image else []


def _notes(plan: PlatformPlan, request: ManifestRequest) -> list[str]:
    """What the author of a manifest of this kind must know."""
    match request.kind:
        case ManifestKind.JOB if request.shape.nodes > 1:
            return [
                "A Job replaces only the failed pod. torchrun then restarts the ranks of all pods."
            ]
        case ManifestKind.PYTORCHJOB:
            return [
                _needs_operator("PyTorchJob"),
                "gpuyard: ignore-file GPU-OLD-01 because the stack queues PyTorchJobs of the training operator v1",
            ]
        case ManifestKind.MPIJOB:
            return [
                _needs_operator("MPIJob"),
                "The image needs mpirun, and an SSH server for user mpiuser.",
            ]
        case ManifestKind.NOTEBOOK:
            return _notes_of_notebook(plan, request)
        case _:
            return []


def _needs_operator(kind: str) -> str:
    return f"gpuyard installs no {OPERATORS[kind]}: the cluster must have one."


def _notes_of_notebook(plan: PlatformPlan, request: ManifestRequest) -> list[str]:
    name, namespace = request.name, request.team.default_namespace.name
    idle = plan.idle.teams if plan.idle else ()
    minutes = next((each.after_minutes for each in idle if each.namespace == namespace), None)
    return [
        f"Open http://localhost:{PORT} after: kubectl -n {namespace} port-forward service/{name} {PORT}",
        f"The token is in the log: kubectl -n {namespace} logs {name}-0",
        f"The volume home-{name}-0 stays when the notebook is scaled to zero or deleted.",
        f"Team {request.team.name} has no `idle`: the notebook keeps its quota until you scale it to zero."
        if minutes is None
        else f"When its GPUs are idle for {minutes} minutes, it is warned and then scaled to zero.",
    ]


def _template(plan: PlatformPlan, request: ManifestRequest, container: MainContainer) -> Object:
    purpose = _PURPOSE.get(request.kind, Purpose.TRAINING)
    resources = shape_resources(plan, request.shape)
    return pod_template(plan, [request.team], resources, container, purpose, job_name=request.name)


def _container(
    request: ManifestRequest,
    default: str = "",
    name: str = "main",
    env: tuple[Object, ...] = (),
    **fields: Any,
) -> MainContainer:
    """The main container; the shell expands variables in its command."""
    line = request.command or default
    shell = ("/bin/sh", "-c", line) if line else ()
    return MainContainer(image=request.image, name=name, command=shell, env=env, fields=fields)


def _object(
    request: ManifestRequest, api_version: str, kind: str, spec: Object, *, queued: bool = True
) -> Object:
    labels = _queue_labels(request) if queued else {}
    purpose = _PURPOSE.get(request.kind, Purpose.TRAINING)
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": request.name,
            "namespace": request.team.default_namespace.name,
            "labels": {**labels, CLASS_LABEL: purpose.value},
        },
        "spec": spec,
    }


def _queue_labels(request: ManifestRequest) -> dict[str, str]:
    priority = request.team.priority
    return {QUEUE_LABEL: request.queue, **({PRIORITY_LABEL: priority} if priority else {})}


def _variables(request: ManifestRequest, **values: object) -> tuple[Object, ...]:
    """Settings of torchrun, which reads them without the prefix PET_ as its options."""
    settings = {
        "NNODES": request.shape.nodes,
        "NPROC_PER_NODE": request.shape.per_node,
        "MAX_RESTARTS": MAX_RESTARTS,
        **values,
    }
    return tuple(
        {"name": f"PET_{name}", **(value if isinstance(value, dict) else {"value": str(value)})}
        for name, value in settings.items()
    )


def _headless_service(request: ManifestRequest, selector: Mapping[str, str]) -> Object:
    """DNS names of the pods, also before they are ready."""
    spec = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": dict(selector)}
    return _object(request, "v1", "Service", spec, queued=False)


# ── training ──────────────────────────────────────────────────────────────────────────────────────
def _job(plan: PlatformPlan, request: ManifestRequest) -> list[Object]:
    """A Job replaces only the failed pod; the rendezvous of torchrun restarts the ranks of all pods."""
    nodes, name = request.shape.nodes, request.name
    first = f"{name}-0.{name}:{RENDEZVOUS}" if nodes > 1 else f"localhost:{RENDEZVOUS}"
    env = _variables(request, RDZV_BACKEND="c10d", RDZV_ID=name, RDZV_ENDPOINT=first)
    template = _template(plan, request, _container(request, ALL_REDUCE, env=env))
    spec: Object = {"backoffLimit": MAX_RESTARTS * nodes, "template": template}
    if nodes == 1:
        return [_object(request, "batch/v1", "Job", spec)]
    template["spec"] = {"subdomain": name, **template["spec"]}
    gang = {"completionMode": "Indexed", "completions": nodes, "parallelism": nodes}
    service = _headless_service(request, {"batch.kubernetes.io/job-name": name})
    return [service, _object(request, "batch/v1", "Job", {**gang, **spec})]


def _jobset(plan: PlatformPlan, request: ManifestRequest) -> list[Object]:
    """JobSet restarts all pods after the first one fails."""
    nodes, name = request.shape.nodes, request.name
    index = {"fieldRef": {"fieldPath": f"metadata.annotations['{_INDEX}']"}}
    env = _variables(
        request,
        NODE_RANK={"valueFrom": index},
        MASTER_ADDR=f"{name}-node-0-0.{name}",
        MASTER_PORT=RENDEZVOUS,
    )
    template = _template(plan, request, _container(request, ALL_REDUCE, env=env))
    job = {
        "completionMode": "Indexed",
        "completions": nodes,
        "parallelism": nodes,
        "backoffLimit": 0,
        "podFailurePolicy": dict(FAIL_INTERRUPTED),
        "template": template,
    }
    spec = {
        "failurePolicy": {"maxRestarts": MAX_RESTARTS, "rules": [dict(RESTART_INTERRUPTED)]},
        "replicatedJobs": [{"name": "node", "replicas": 1, "template": {"spec": job}}],
    }
    return [_object(request, "jobset.x-k8s.io/v1alpha2", "JobSet", spec)]


_INDEX = "batch.kubernetes.io/job-completion-index"


def _trainjob(plan: PlatformPlan, request: ManifestRequest) -> list[Object]:
    """The runtime of the pool has everything else."""
    (runtime, *_) = _torch_runtimes(plan, request.shape)
    template = _template(plan, request, _container(request, ALL_REDUCE))
    (container,) = template["spec"]["containers"]
    trainer = {
        "numNodes": request.shape.nodes,
        "numProcPerNode": request.shape.per_node,
        **({"image": request.image} if request.image else {}),
        "command": container["command"],
        "resourcesPerNode": container["resources"],
    }
    spec = {"runtimeRef": {"name": runtime.name}, "trainer": trainer}
    return [_object(request, TRAINER_API, "TrainJob", spec)]


def _pytorchjob(plan: PlatformPlan, request: ManifestRequest) -> list[Object]:
    """The training operator sets the other variables of torchrun."""
    nodes = request.shape.nodes
    env = ({"name": "PET_MAX_RESTARTS", "value": str(MAX_RESTARTS)},)
    template = _template(plan, request, _container(request, ALL_REDUCE, "pytorch", env=env))
    del template["spec"]["restartPolicy"]  # that of the replicas counts
    replicas = {"Master": 1, **({"Worker": nodes - 1} if nodes > 1 else {})}
    spec = {
        "nprocPerNode": str(request.shape.per_node),
        "runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": MAX_RESTARTS * nodes},
        "pytorchReplicaSpecs": {
            role: {"replicas": count, "restartPolicy": "OnFailure", "template": template}
            for role, count in replicas.items()
        },
    }
    return [_object(request, "kubeflow.org/v1", "PyTorchJob", spec)]


def _mpijob(plan: PlatformPlan, request: ManifestRequest) -> list[Object]:
    """The launcher is the first of the pods with GPUs; when it fails, it starts all ranks again."""
    nodes = request.shape.nodes
    launcher = _template(plan, request, _container(request, _MPI_COMMAND))
    worker = _template(plan, request, MainContainer(image=request.image, command=SSHD))
    launcher, worker = as_mpi_user(launcher), as_mpi_user(worker)
    replicas = {"Launcher": {"replicas": 1, "template": launcher}}
    if nodes > 1:
        replicas["Worker"] = {"replicas": nodes - 1, "template": worker}
    spec = {
        "slotsPerWorker": request.shape.per_node,
        "runLauncherAsWorker": True,
        "sshAuthMountPath": "/home/mpiuser/.ssh",
        "runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": MAX_RESTARTS},
        "mpiReplicaSpecs": replicas,
    }
    return [_object(request, "kubeflow.org/v2beta1", "MPIJob", spec)]


def _rayjob(plan: PlatformPlan, request: ManifestRequest) -> list[Object]:
    """The head is the first of the pods with GPUs; KubeRay submits the job to it.

    After a failure KubeRay creates the whole cluster again.
    """
    nodes = request.shape.nodes
    head = _template(plan, request, MainContainer(image=request.image, name="ray-head"))
    workers = _template(plan, request, MainContainer(image=request.image, name="ray-worker"))
    count = {"replicas": nodes - 1, "minReplicas": nodes - 1, "maxReplicas": nodes - 1}
    group = {"groupName": "gpus", **count, "rayStartParams": {}, "template": workers}
    cluster: Object = {"headGroupSpec": {"rayStartParams": {}, "template": head}}
    if nodes > 1:
        cluster["workerGroupSpecs"] = [group]
    spec = {
        "entrypoint": request.command or _RAY_COMMAND,
        "submissionMode": "HTTPMode",
        "backoffLimit": MAX_RESTARTS,
        "shutdownAfterJobFinishes": True,
        "ttlSecondsAfterFinished": 0,
        "rayClusterSpec": cluster,
    }
    return [_object(request, "ray.io/v1", "RayJob", spec)]


# ── services and notebooks ────────────────────────────────────────────────────────────────────────
def _leaderworkerset(plan: PlatformPlan, request: ManifestRequest) -> list[Object]:
    """One group of pods, which restarts whole."""
    template = _template(plan, request, _container(request))
    group = {
        "size": request.shape.nodes,
        "restartPolicy": "RecreateGroupOnPodRestart",
        "workerTemplate": template,
    }
    spec = {"replicas": 1, "leaderWorkerTemplate": group}
    return [_object(request, "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec)]


def _notebook(plan: PlatformPlan, request: ManifestRequest) -> list[Object]:
    """Jupyter in a StatefulSet of one pod: its home volume stays when it is scaled to zero or deleted."""
    health = {"httpGet": {"path": "/api", "port": "http"}}
    container = _container(
        request,
        ports=[{"name": "http", "containerPort": PORT}],
        startupProbe={**health, "periodSeconds": 10, "failureThreshold": 60},
        readinessProbe={**health, "periodSeconds": 10},
        livenessProbe={**health, "periodSeconds": 30, "failureThreshold": 5},
    )
    template = _template(plan, request, container)
    selector = {"app.kubernetes.io/name": request.name}
    # Kueue holds a pod of a StatefulSet until it has both labels.
    template["metadata"]["labels"] |= {**selector, **_queue_labels(request)}
    pod = template["spec"]
    pod["securityContext"] |= {"runAsUser": _USER, "fsGroup": _GROUP}
    pod["containers"][0]["volumeMounts"].append({"name": "home", "mountPath": HOME})
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": gib(request.home_gib)}},
    }
    spec = {
        "replicas": 1,
        "serviceName": request.name,
        "selector": {"matchLabels": selector},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
        "template": template,
        "volumeClaimTemplates": [{"metadata": {"name": "home"}, "spec": claim}],
    }
    return [_service(request, selector, PORT), _object(request, "apps/v1", "StatefulSet", spec)]


def _service(request: ManifestRequest, selector: Mapping[str, str], port: int) -> Object:
    ports = [{"name": "http", "port": port, "targetPort": "http"}]
    spec = {"selector": dict(selector), "ports": ports}
    return _object(request, "v1", "Service", spec, queued=False)


def _deployment(plan: PlatformPlan, request: ManifestRequest) -> list[Object]:
    """A server of one replica. An update stops the old pod first: a second one would need more quota."""
    probe = {"tcpSocket": {"port": "http"}, "periodSeconds": 10}
    container = _container(
        request,
        ports=[{"name": "http", "containerPort": SERVER_PORT}],
        startupProbe={**probe, "failureThreshold": 180},  # half an hour to load a model
        readinessProbe=probe,
    )
    template = _template(plan, request, container)
    selector = {"app.kubernetes.io/name": request.name}
    template["metadata"]["labels"] |= selector
    spec = {
        "replicas": 1,
        "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
        "selector": {"matchLabels": selector},
        "template": template,
    }
    deployment = _object(request, "apps/v1", "Deployment", spec)
    return [_service(request, selector, SERVER_PORT), deployment]


_WRITERS: Mapping[ManifestKind, Callable[[PlatformPlan, ManifestRequest], list[Object]]] = {
    ManifestKind.JOB: _job,
    ManifestKind.JOBSET: _jobset,
    ManifestKind.TRAINJOB: _trainjob,
    ManifestKind.PYTORCHJOB: _pytorchjob,
    ManifestKind.MPIJOB: _mpijob,
    ManifestKind.RAYJOB: _rayjob,
    ManifestKind.LEADERWORKERSET: _leaderworkerset,
    ManifestKind.NOTEBOOK: _notebook,
    ManifestKind.SERVICE: _deployment,
}
