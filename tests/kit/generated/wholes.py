"""Workloads of other projects, and changes of them while they run: for a unit test and one on a server."""

import copy

from gpuyard_core.admission.queued import ELASTIC
from gpuyard_core.names import QUEUE_LABEL

GPU = "nvidia.com/gpu"
VERSIONS = {
    "AppWrapper": "workload.codeflare.dev/v1beta2",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "MPIJob": "kubeflow.org/v2beta1",
    "PyTorchJob": "kubeflow.org/v1",
    "TrainJob": "trainer.kubeflow.org/v1alpha1",
}


def template(gpus=1, image="nvcr.io/a:1", gates=()):
    limits = {"cpu": 1, **({GPU: gpus} if gpus else {})}
    results = {"containers": [{"name": "a", "image": image, "resources": {"limits": limits}}]}
    return {"spec": {**results, "schedulingGates": [{"name": each} for each in gates]}}


def whole(kind, spec, queue="main", owner=None, **annotations):
    metadata = {
        "name": "x",
        "labels": {QUEUE_LABEL: queue} if queue else {},
        "annotations": annotations,
    }
    if owner:
        made_by = {"apiVersion": "ray.io/v1", "kind": owner, "name": "o", "uid": "u"}
        metadata["ownerReferences"] = [{**made_by, "controller": True}]
    version = VERSIONS.get(kind, "ray.io/v1")
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def mpi(  # noqa: PLR0913  a whole has so many sides
    *,
    workers=2,
    gpus=1,
    launcher=0,
    suspend=False,
    queue="main",
    image="nvcr.io/a:1",
    launchers=1,
    cleans="Running",
):
    roles = {
        "Launcher": {"replicas": launchers, "template": template(launcher)},
        "Worker": {"replicas": workers, "template": template(gpus, image)},
    }
    policy = {"suspend": suspend, **({"cleanPodPolicy": cleans} if cleans else {})}
    return whole("MPIJob", {"runPolicy": policy, "mpiReplicaSpecs": roles}, queue)


def pytorch(*, workers=2, gpus=1, suspend=False, queue="main", cleans="Running", role="Worker"):
    pod = template(gpus)
    pod["spec"]["containers"][0]["resources"]["limits"]["memory"] = "1Gi"  # it is a training pod
    roles = {
        "Master": {"replicas": 1, "template": pod},
        role: {"replicas": workers, "template": pod},
    }
    policy = {"suspend": suspend, **({"cleanPodPolicy": cleans} if cleans else {})}
    return whole("PyTorchJob", {"runPolicy": policy, "pytorchReplicaSpecs": roles}, queue)


def jobset(replicas=1, parallelism=2, gpus=1, suspend=False, completions=None, jobs=1):
    body = {"parallelism": parallelism, "template": template(gpus)}
    if completions is not None:
        body["completions"] = completions
    each = {"replicas": replicas, "template": {"spec": body}}
    results = [{"name": f"r{index}", **each} for index in range(jobs)]
    return whole("JobSet", {"suspend": suspend, "replicatedJobs": results})


def cluster(
    workers=1, gpus=1, hosts=1, groups=1, gates=(), image="nvcr.io/a:1", suspend=False, **group
):
    """The spec of a Ray cluster."""
    each = {
        "groupName": "g",
        "replicas": workers,
        "numOfHosts": hosts,
        "template": template(gpus, image, gates),
        **group,
    }
    head = {"template": template(0)}
    return {"suspend": suspend, "headGroupSpec": head, "workerGroupSpecs": [each] * groups}


def ray(*, queue="main", owner=None, annotations=None, **given):
    return whole("RayCluster", cluster(**given), queue, owner, **(annotations or {}))


def rayjob(suspend=False, image="nvcr.io/a:1", gpus=1, **more):
    spec = {"suspend": suspend, "rayClusterSpec": cluster(image=image, gpus=gpus), **more}
    return whole("RayJob", spec)


def service(serve="a", queue="main", **given):
    spec = {"serveConfigV2": serve, "rayClusterConfig": cluster(**given)}
    return whole("RayService", spec, queue)


def trainjob(nodes=1, suspend=False, queue="main"):
    return whole("TrainJob", {"suspend": suspend, "trainer": {"numNodes": nodes}}, queue)


def wrapped(name):
    """The spec of an AppWrapper around one object."""
    inner = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    return {"components": [{"template": inner}]}


def claiming(value, name):
    """A copy whose pods claim devices by a ResourceClaimTemplate of this name."""
    found = copy.deepcopy(value)
    spec = found["spec"]
    groups = spec.get("rayClusterSpec", spec).get("workerGroupSpecs")
    for each in groups or spec["mpiReplicaSpecs"].values():
        claim = {"name": "gpus", "resourceClaimTemplateName": name}
        each["template"]["spec"]["resourceClaims"] = [claim]
    return found


IS_ELASTIC = {ELASTIC: "true"}
WAITS = {"gates": (ELASTIC,), "annotations": IS_ELASTIC}

CHANGES = [
    (mpi(), mpi(workers=8), "MPIJob"),
    (mpi(), mpi(gpus=8), "MPIJob"),
    (mpi(), mpi(launcher=8), "MPIJob"),
    (mpi(launcher=1), mpi(launcher=1, launchers=2), "MPIJob"),
    (mpi(gpus=0), mpi(workers=8, gpus=0), ""),
    (mpi(), mpi(workers=1), ""),
    (mpi(), mpi(image="nvcr.io/b:1"), ""),
    (mpi(), mpi(workers=8, suspend=True), ""),
    (mpi(suspend=True), mpi(workers=8, suspend=True), ""),
    (mpi(workers=8), mpi(gpus=0, workers=8), ""),
    (pytorch(), pytorch(workers=8), "PyTorchJob"),
    (pytorch(), pytorch(gpus=8), "PyTorchJob"),
    (pytorch(), pytorch(workers=1), ""),
    (pytorch(), pytorch(workers=8, suspend=True), ""),
    (jobset(), jobset(replicas=2), "JobSet"),
    (jobset(), jobset(parallelism=3), "JobSet"),
    (jobset(completions=2), jobset(parallelism=9, completions=2), ""),
    (jobset(), jobset(jobs=2), "JobSet"),
    (jobset(jobs=2), jobset(), ""),
    (ray(), ray(workers=4), "RayCluster"),
    (ray(), ray(hosts=2), "RayCluster"),
    (ray(), ray(groups=2), "RayCluster"),
    (ray(), ray(gpus=8), "RayCluster"),
    (ray(), ray(suspend=True, workers=4), ""),
    (ray(workers=4), ray(), ""),
    (ray(**WAITS), ray(workers=4, **WAITS), ""),
    (ray(annotations=IS_ELASTIC), ray(workers=4, annotations=IS_ELASTIC), "RayCluster"),
    (rayjob(), rayjob(image="nvcr.io/b:1"), "RayJob"),
    (rayjob(), rayjob(submissionMode="HTTPMode"), "RayJob"),
    (rayjob(gpus=0), rayjob(gpus=0, image="nvcr.io/b:1"), ""),
    (rayjob(), rayjob(), ""),
    (rayjob(), rayjob(image="nvcr.io/b:1", suspend=True), ""),
    (trainjob(), trainjob(nodes=2), "TrainJob"),
    (trainjob(), trainjob(nodes=2, suspend=True), ""),
    (
        whole("AppWrapper", wrapped("a")),
        whole("AppWrapper", wrapped("b")),
        "AppWrapper",
    ),
]
"""The object, its change, and the kind whose change is rejected."""
STRATEGY = {each: {"policy": "DeleteWorkers"} for each in ("onSuccess", "onFailure")}
MADE = [
    (mpi(), False),
    (pytorch(), False),
    (pytorch(cleans=""), True),
    (pytorch(gpus=0, cleans=""), False),
    (mpi(cleans="All"), False),
    (mpi(cleans=""), True),
    (mpi(cleans="None"), True),
    (mpi(cleans="", gpus=0), False),
    (mpi(cleans="", gpus=0, launcher=1), True),
    (rayjob(ttlSecondsAfterFinished=60), False),
    (rayjob(ttlSecondsAfterFinished=61), True),
    (rayjob(ttlSecondsAfterFinished=86400), True),
    (rayjob(ttlSecondsAfterFinished=86400, gpus=0), False),
    (ray(), False),
    (rayjob(deletionStrategy=STRATEGY), True),
    (rayjob(deletionStrategy=STRATEGY, gpus=0), False),
]
"""The created object, and whether it is rejected because its pods stay after it ends."""
UNCOUNTED = [
    (
        pytorch(queue=""),
        (
            "this PyTorchJob requests GPUs but names no queue; label it"
            " kueue.x-k8s.io/queue-name: main"
        ),
    ),
    (
        pytorch(role="worker"),
        (
            "Kueue counts no pods of role worker of this PyTorchJob; name the role as one of"
            " Master, Worker"
        ),
    ),
]
"""Objects with pods that Kueue does not count."""
KEPT = [
    (mpi(), mpi(cleans="None"), True),
    (mpi(cleans=""), mpi(cleans="None"), True),
    (mpi(cleans=""), mpi(cleans="", image="nvcr.io/b:1"), False),
    (mpi(cleans="", gpus=0, suspend=True), mpi(cleans="", suspend=True), True),
    (rayjob(suspend=True), rayjob(suspend=True, ttlSecondsAfterFinished=61), True),
    (rayjob(ttlSecondsAfterFinished=99), rayjob(ttlSecondsAfterFinished=99, suspend=True), False),
    (rayjob(suspend=True), rayjob(suspend=True, deletionStrategy=STRATEGY), True),
    (rayjob(deletionStrategy=STRATEGY), rayjob(deletionStrategy=STRATEGY, suspend=True), False),
    (
        rayjob(gpus=0, suspend=True, deletionStrategy=STRATEGY),
        rayjob(suspend=True, deletionStrategy=STRATEGY),
        True,
    ),
]
"""The same for changes."""
RENEWALS = [
    (service(), service(image="nvcr.io/b:1"), True),
    (service(), service(workers=2), True),
    (service(), service(image="nvcr.io/b:1", suspend=True), True),
    (service(), service(serve="b"), False),
    (service(), service(suspend=True), False),
    (service(suspend=True), service(image="nvcr.io/b:1", suspend=True), False),
    (service(gpus=0), service(gpus=0, image="nvcr.io/b:1"), False),
    (service(gpus=0), service(), True),
]
"""The same for Ray services, and whether it is rejected."""
RECLAIMED = [
    *(
        (claiming(value, "one"), claiming(value, "eight"), True)
        for value in (mpi(), mpi(suspend=True), ray(), ray(suspend=True), rayjob(suspend=True))
    ),
    (mpi(suspend=True), claiming(mpi(suspend=True), "one"), True),
    (claiming(mpi(), "one"), claiming(mpi(image="nvcr.io/b:1"), "one"), False),
    (claiming(ray(suspend=True), "one"), claiming(ray(suspend=True, groups=2), "one"), False),
]
"""The same for device claims, and whether the change is rejected."""
