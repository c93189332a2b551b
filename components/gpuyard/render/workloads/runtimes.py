"""Training runtimes: a ClusterTrainingRuntime of Kubeflow Trainer for each framework and pool.

Its pods are those of `pods.py` for all teams of the pool: names of ConfigMaps resolve in the
namespace of the TrainJob. A failed pod restarts the whole gang, which Trainer's own runtimes do not.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gpuyard.plan.records import PlatformPlan, RuntimePlan
from gpuyard.render.mirror import mirrored
from gpuyard.render.objects import Object, managed_object
from gpuyard.render.pulled_image import PulledImage, named_image
from gpuyard.render.workloads.pods import MainContainer, pod_template
from gpuyard.render.workloads.resources import PodResources, node_resources
from gpuyard.spec.sections import Framework
from gpuyard_core.names import CHANNEL_SUFFIX, TEAM_LABEL

JOBSET_API = "jobset.x-k8s.io/v1alpha2"
TRAINER_API = "trainer.kubeflow.org/v1alpha1"
RUNTIME_KIND = "ClusterTrainingRuntime"
NODE, LAUNCHER = "node", "launcher"
"""Names that Trainer gives meaning: its container, and the jobs of its pods."""
MAX_RESTARTS = 10
"""Restarts of the gang after failed pods. A pod that is evicted from its node is none of them."""
RESTART_INTERRUPTED: Object = {
    "name": "interrupted",
    "action": "RestartJobSetAndIgnoreMaxRestarts",
    "onJobFailureReasons": ["PodFailurePolicy"],
}
FAIL_INTERRUPTED: Object = {
    "rules": [
        {
            "action": "FailJob",
            "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
        }
    ]
}
"""For its jobs: the other pods of a gang cannot go on without an evicted one."""
JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"
"""On pods: the name of their JobSet, which is that of the TrainJob."""
_ANCESTOR = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
SSHD = ("/usr/sbin/sshd", "-De", "-f", "/home/mpiuser/.sshd_config")
_MPI_USER = 1000


@dataclass(frozen=True, slots=True)
class _FrameworkParts:
    """What the runtimes of one framework have, as in manifests/base/runtimes of Trainer v2.2.1."""

    image: str
    policy: Mapping[str, Any]


_MPI_IMAGE = "ghcr.io/kubeflow/trainer/deepspeed-runtime:v2.2.1"
_FRAMEWORKS: Mapping[Framework, _FrameworkParts] = {
    Framework.TORCH: _FrameworkParts(
        "docker.io/pytorch/pytorch:2.10.0-cuda12.8-cudnn9-runtime", {"torch": {}}
    ),
    # torchrun starts DeepSpeed, too: no SSH, and pods as restricted as those of PyTorch
    Framework.DEEPSPEED: _FrameworkParts(_MPI_IMAGE, {"torch": {}}),
    Framework.JAX: _FrameworkParts("nvcr.io/nvidia/jax:25.10-py3", {"jax": {}}),
    Framework.MPI: _FrameworkParts(
        _MPI_IMAGE,
        {
            "mpi": {
                "mpiImplementation": "OpenMPI",
                "sshAuthMountPath": "/home/mpiuser/.ssh",
                "runLauncherAsNode": True,
            }
        },
    ),
}
RUNTIME_IMAGES = tuple(dict.fromkeys(parts.image for parts in _FRAMEWORKS.values()))
"""The images of jobs that name none."""


def training_objects(plan: PlatformPlan) -> list[Object]:
    """The runtimes; none on a simulated cluster, on which gpuyard installs no Kubeflow Trainer."""
    return [] if plan.simulated else runtime_objects(plan)


def runtime_objects(plan: PlatformPlan) -> list[Object]:
    """The runtimes of all pools."""
    return [_runtime(plan, each) for each in plan.runtimes]


def runtime_images(plan: PlatformPlan) -> Iterator[PulledImage]:
    """The images of jobs that name none."""
    for each in {r.framework: r for r in plan.runtimes}.values():
        upstream = each.image or upstream_image(each.framework)
        yield named_image(_image(plan, each), f"{each.framework.value} runtime", upstream)


def runtime_resources(plan: PlatformPlan, runtime: RuntimePlan) -> PodResources:
    """A whole node for each pod, with the claims of its shape where pods claim GPUs."""
    pool = plan.pool(runtime.pool)
    pods = node_resources(pool, pods=min(2, pool.nodes.high))
    if runtime.shape is None or pool.dra is None:
        return pods
    channel = f"{runtime.shape}{CHANNEL_SUFFIX}" if pool.dra.compute_domains else ""
    return replace(pods, claim=runtime.shape, channel=channel)


def _image(plan: PlatformPlan, runtime: RuntimePlan) -> str:
    return runtime.image or mirrored(plan.spec, upstream_image(runtime.framework))


def upstream_image(framework: Framework) -> str:
    """The image of Trainer's own runtime for a framework."""
    return _FRAMEWORKS[framework].image


def _runtime(plan: PlatformPlan, runtime: RuntimePlan) -> Object:
    parts = _FRAMEWORKS[runtime.framework]
    policy = {key: dict(value) for key, value in parts.policy.items()}
    if "mpi" in policy:
        policy["mpi"]["numProcPerNode"] = plan.pool(runtime.pool).machine.gpus
    template: Object = {
        "failurePolicy": {"maxRestarts": MAX_RESTARTS, "rules": [dict(RESTART_INTERRUPTED)]},
        "replicatedJobs": list(runtime_jobs(plan, runtime)),
    }
    if "mpi" in policy:
        template["network"] = {"publishNotReadyAddresses": True}
        template["successPolicy"] = {"operator": "All", "targetReplicatedJobs": [LAUNCHER]}
    return managed_object(
        plan.name,
        TRAINER_API,
        RUNTIME_KIND,
        runtime.name,
        labels={"trainer.kubeflow.org/framework": runtime.framework.value},
        spec={"mlPolicy": {"numNodes": 1, **policy}, "template": {"spec": template}},
    )


def runtime_jobs(plan: PlatformPlan, runtime: RuntimePlan) -> Iterator[Object]:
    """The job of the pods; for MPI the launcher, which is the first node, and its SSH servers."""
    main = MainContainer(image=_image(plan, runtime), name=NODE)
    if runtime.framework is not Framework.MPI:
        yield _job(NODE, _ANCESTOR, _pod(plan, runtime, main))
        return
    probe = {"tcpSocket": {"port": 2222}, "initialDelaySeconds": 5}
    server = replace(main, command=SSHD[:1], args=SSHD[1:], fields={"readinessProbe": probe})
    yield _job(LAUNCHER, _ANCESTOR, as_mpi_user(_pod(plan, runtime, main)))
    yield _job(NODE, {}, as_mpi_user(_pod(plan, runtime, server)))


def _pod(plan: PlatformPlan, runtime: RuntimePlan, main: MainContainer) -> Object:
    teams = [plan.team(name) for name in runtime.teams]
    name = {"fieldRef": {"fieldPath": f"metadata.labels['{JOBSET_NAME}']"}}
    pod = pod_template(plan, teams, runtime_resources(plan, runtime), main, job_name=name)
    pod["metadata"]["labels"].pop(TEAM_LABEL, None)  # a team may get quota later
    return pod


def as_mpi_user(pod: Object) -> Object:
    """SSH as the user of the image; its server has a capability, also where all others are dropped."""
    for each in pod["spec"]["containers"]:
        context = each["securityContext"]
        dropped = context.get("capabilities", {})
        each["securityContext"] = {
            **context,
            "runAsUser": _MPI_USER,
            "capabilities": {**dropped, "add": [*dropped.get("add", []), "NET_BIND_SERVICE"]},
        }
    return pod


def _job(name: str, labels: Mapping[str, str], pod: Object) -> Object:
    """A pod that fails restarts the JobSet, not its own job."""
    metadata = {"metadata": {"labels": dict(labels)}} if labels else {}
    spec = {"backoffLimit": 0, "podFailurePolicy": dict(FAIL_INTERRUPTED), "template": pod}
    return {"name": name, "template": {**metadata, "spec": spec}}
