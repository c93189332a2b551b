"""Wholes of other projects that run: what a change of them would run has to be counted first."""

from dataclasses import replace

import pytest

from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.requirements import denials
from gpuyard_core.names import QUEUE_LABEL
from gpuyard_lint.kubernetes import resource
from gpuyard_lint.rules.adm import workload
from kit.every import every
from kit.generated.wholes import (
    CHANGES,
    KEPT,
    MADE,
    RECLAIMED,
    RENEWALS,
    UNCOUNTED,
    cluster,
    mpi,
    ray,
    service,
    template,
    whole,
)

MAIN = TeamParameters(queues=("main",), integrations=("kubeflow.org/PyTorchJob",))


def changed(before, after, **known):
    asked = replace(workload(resource(after)), previous=workload(resource(before)), **known)
    return [each.summary for each in denials(asked, MAIN) if "GPU-ADM-01" in each.summary]


def said(kind):
    field = "spec.runPolicy.suspend" if kind in {"MPIJob", "PyTorchJob"} else "spec.suspend"
    return (
        f"GPU-ADM-01: this {kind} is running, and Kueue has not counted what the change would "
        f"run; set {field}: true in the same change; Kueue then counts it again and restarts it"
    )


@every(("before", "after", "refused"), CHANGES)
def test_a_whole_that_runs_goes_on_running_what_was_counted(before, after, refused):
    assert changed(before, after) == ([said(refused)] if refused else [])
    assert changed(before, after, by_controller=True) == []


@every(("before", "after", "refused"), RECLAIMED)
def test_pods_of_a_whole_claim_the_devices_that_were_counted(before, after, refused):
    said = (
        f"GPU-ADM-01: Kueue counted the GPUs of this {before['kind']} at its creation and does "
        "not count a change; delete it and create it again with the GPUs that it needs"
    )
    assert changed(before, after) == ([said] if refused else [])
    assert changed(before, after, by_controller=True) == []


def test_what_names_no_queue_is_asked_for_one_instead():
    before, after = mpi(queue=""), mpi(queue="", workers=8)
    (found,) = changed(before, after)
    assert "this MPIJob requests GPUs but names no queue" in found


RENEWED = (
    "GPU-ADM-01: this RayService is running, and KubeRay creates a second cluster for this "
    "change; Kueue counted only one; do not change spec.rayClusterConfig, or delete the object "
    "and create it again"
)


@every(("before", "after", "refused"), RENEWALS)
def test_a_service_of_ray_gets_no_second_cluster_beside_the_one_that_was_counted(
    before, after, refused
):
    assert changed(before, after) == ([RENEWED] if refused else [])
    assert changed(before, after, by_controller=True) == []


def test_a_part_of_a_whole_is_told_that_alone():
    before, after = (ray(owner="RayJob", workers=each) for each in (1, 2))
    (found,) = changed(before, after)
    assert found.startswith("GPU-ADM-01: this RayCluster is part of RayJob o")


LEAST = (
    "GPU-ADM-01: worker group g has replicas: {counted}, which Kueue counts, but KubeRay creates "
    "minReplicas: {least}; set replicas: {least}"
)


def fresh(value, **known):
    found = denials(replace(workload(resource(value)), **known), MAIN)
    return [each.summary for each in found if "GPU-ADM-01" in each.summary]


@pytest.mark.parametrize("make", [ray, service])
def test_a_group_of_workers_is_never_larger_than_what_is_counted_of_it(make):
    few = make(workers=1, minReplicas=8)
    assert fresh(few) == [LEAST.format(counted=1, least=8)]
    assert fresh(few, by_controller=True) == []
    assert fresh(make(workers=1, minReplicas=8, gpus=0)) == []
    assert fresh(make(workers=8, minReplicas=8)) == fresh(make(workers=1, maxReplicas=8)) == []
    unsaid = make(minReplicas=2)
    (group,) = unsaid["spec"].get("rayClusterConfig", unsaid["spec"])["workerGroupSpecs"]
    del group["replicas"]
    assert fresh(unsaid) == [LEAST.format(counted=1, least=2)]


def test_the_same_of_a_job_of_ray_and_of_what_is_changed():
    job = whole("RayJob", {"rayClusterSpec": cluster(workers=0, minReplicas=2)})
    assert fresh(job) == [LEAST.format(counted=0, least=2)]
    assert changed(job, job) == []
    waits = {"suspend": True}
    before = ray(workers=2, minReplicas=2, **waits)
    assert changed(before, ray(workers=1, minReplicas=2, **waits)) == [
        LEAST.format(counted=1, least=2)
    ]


def test_nothing_is_asked_for_beside_a_ray_cluster_that_is_there():
    """Kueue leaves such a RayJob alone, and with it the Job that submits it: its GPUs ran uncounted."""
    spec = {"clusterSelector": {"ray.io/cluster": "mine"}, "submitterPodTemplate": template()}
    (found,) = fresh(whole("RayJob", spec))
    assert found == (
        "GPU-ADM-01: this RayJob uses an existing Ray cluster, so Kueue does not count its own "
        "requests; remove the GPU request of its submitter pod; the work runs in that cluster"
    )
    assert fresh(whole("RayJob", {**spec, "submitterPodTemplate": template(0)})) == []
    assert fresh(whole("RayJob", {**spec, "clusterSelector": {}})) == []


OUTLIVES = {
    "MPIJob": "spec.runPolicy.cleanPodPolicy: Running",
    "PyTorchJob": "spec.runPolicy.cleanPodPolicy: Running",
    "RayJob": "spec.ttlSecondsAfterFinished: 60 or less",
}


STRATEGY = "spec.shutdownAfterJobFinishes: true, and remove spec.deletionStrategy"


def outlives(value):
    kind, strategy = value["kind"], "deletionStrategy" in value["spec"]
    return (
        f"GPU-ADM-01: pods of this {kind} continue to run after it finishes, when Kueue no longer "
        f"counts them; write {(STRATEGY if strategy else OUTLIVES[kind])}"
    )


@every(("value", "refused"), MADE)
def test_pods_go_with_what_was_counted(value, refused):
    assert fresh(value) == ([outlives(value)] if refused else [])
    assert fresh(value, by_controller=True) == []


@every(("value", "refused"), UNCOUNTED)
def test_all_pods_of_a_kind_that_a_platform_integrates_are_counted(value, refused):
    assert fresh(value) == [f"GPU-ADM-01: {refused}"]
    alone = denials(workload(resource(value)), replace(MAIN, integrations=()))
    assert [each.summary for each in alone if "GPU-ADM-01" in each.summary] == []


@every(("before", "after", "refused"), KEPT)
def test_nothing_is_changed_so_that_its_pods_stay(before, after, refused):
    assert changed(before, after) == ([outlives(after)] if refused else [])
    assert changed(before, after, by_controller=True) == []


def pod_of(*owner, labels=None):
    made_by = dict(zip(("apiVersion", "kind"), owner, strict=True))
    metadata = {
        "name": "x",
        "labels": {QUEUE_LABEL: "main", **(labels or {})},
        "ownerReferences": [{**made_by, "name": "o", "uid": "u", "controller": True}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, **template()}


JOINS = {"kueue.x-k8s.io/prebuilt-workload-name": "statefulset-serve-0a1b2"}


@every(
    ("owner", "refused"),
    [
        (("apps/v1", "StatefulSet"), True),
        (("apps/v1", "ReplicaSet"), True),
        (("kubeflow.org/v1", "TFJob"), True),
        (("kubeflow.org/v1", "PyTorchJob"), False),
        (("batch/v1", "Job"), False),
    ],
)
def test_no_controller_makes_a_pod_that_joins_what_was_counted(owner, refused):
    """The template of a Notebook, which nobody looks at, is a member's: labels of it come to pods."""
    value = pod_of(*owner, labels=JOINS)
    found = fresh(value, by_controller=True)
    assert [each.partition(":")[2].strip()[:24] for each in found] == (
        ["this Pod names workload "] if refused else []
    )
    # Kueue itself writes them into pods that are there
    assert changed(pod_of(*owner), value, by_controller=True) == []


PARENT = "kueue.x-k8s.io/pod-suspending-parent"
GROUPS = {"leaderworkerset.sigs.k8s.io/name": "mine"}
BY_GROUPS = "leaderworkerset.x-k8s.io/leaderworkerset"


def said_held(kind, parent):
    return (
        f"GPU-ADM-01: this {kind} declares {parent} as its parent, which does not count its pods "
        f"and may start them; remove the annotation {PARENT} and the label "
        "leaderworkerset.sigs.k8s.io/name"
    )


def held_by(kind, parent="", labels=(), owner=None):
    """A pod, or what makes pods, that says who holds them."""
    notes = {PARENT: parent} if parent else {}
    metadata = {"name": "x", "annotations": notes, "labels": {QUEUE_LABEL: "main", **dict(labels)}}
    own = {"name": "x", "labels": {QUEUE_LABEL: "main"}}
    if owner:
        made_by = {"apiVersion": "x/v1", "kind": owner, "name": "o", "uid": "u"}
        (metadata if kind == "Pod" else own)["ownerReferences"] = [{**made_by, "controller": True}]
    if kind == "Pod":
        return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **template()}
    if kind == "LeaderWorkerSet":
        inner = {"workerTemplate": {"metadata": metadata, **template()}}
        spec = {"leaderWorkerTemplate": inner}
        version = "leaderworkerset.x-k8s.io/v1"
        return {"apiVersion": version, "kind": kind, "metadata": own, "spec": spec}
    version = "batch/v1" if kind == "Job" else "apps/v1"
    spec = {"template": {"metadata": metadata, **template()}}
    return {"apiVersion": version, "kind": kind, "metadata": own, "spec": spec}


@every(
    ("value", "by_controller", "parent"),
    [
        (held_by("Pod", BY_GROUPS), False, BY_GROUPS),
        (held_by("Pod", labels=GROUPS), False, BY_GROUPS),
        (held_by("Pod", "statefulset"), False, "statefulset"),
        (held_by("Deployment", "deployment"), False, ""),
        (held_by("Deployment", BY_GROUPS), False, BY_GROUPS),
        (held_by("Deployment", "deployment", labels=GROUPS), False, BY_GROUPS),
        (held_by("StatefulSet", "statefulset"), False, ""),
        (held_by("StatefulSet", BY_GROUPS), False, BY_GROUPS),
        (held_by("Job", "job"), False, "job"),
        (held_by("Pod", "deployment", owner="ReplicaSet"), True, ""),
        (held_by("Pod", BY_GROUPS, owner="ReplicaSet"), True, BY_GROUPS),
        (held_by("Pod", BY_GROUPS, owner="StatefulSet"), True, ""),
        (held_by("Pod", BY_GROUPS, owner="Job"), True, BY_GROUPS),
        (held_by("StatefulSet", BY_GROUPS, owner="LeaderWorkerSet"), True, ""),
        (held_by("StatefulSet", BY_GROUPS, owner="Pod"), True, ""),
        (held_by("StatefulSet", BY_GROUPS, owner="Notebook"), True, BY_GROUPS),
    ],
)
def test_nothing_says_that_its_pods_are_held_by_something_else(value, by_controller, parent):
    """Kueue took its gate out of such a pod, and counted it nowhere."""
    found = [each for each in fresh(value, by_controller=by_controller) if "as its parent" in each]
    assert found == ([said_held(value["kind"], parent)] if parent else [])
    assert not [each for each in changed(value, value) if "as its parent" in each]


def test_groups_of_leaders_hold_their_own_pods():
    assert fresh(held_by("LeaderWorkerSet", BY_GROUPS)) == []


def test_a_part_that_makes_pods_keeps_none_of_them_when_it_goes():
    """Kueue starts pods of a LeaderWorkerSet that is gone: those of a set that left them ran uncounted."""
    owner = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "o"}
    metadata = {"name": "x", "ownerReferences": [{**owner, "uid": "u", "controller": True}]}
    spec = {"template": template()}
    before = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}
    after = {**before, "metadata": {**metadata, "finalizers": ["orphan"]}}
    (found,) = changed(before, after)
    assert found.startswith("GPU-ADM-01: with the finalizer orphan, pods of this StatefulSet")
    assert changed(before, after, by_controller=True) == changed(after, before) == []


def test_a_part_of_a_whole_gets_no_second_owner():
    """The garbage collector keeps what has another owner: a Job of a deleted JobSet ran on uncounted."""

    def job(*owners):
        spec = {"template": template(0)}
        metadata = {"name": "x", "ownerReferences": list(owners)}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}

    version = "jobset.x-k8s.io/v1alpha2"
    whole = {"apiVersion": version, "kind": "JobSet", "name": "set", "uid": "u", "controller": True}
    beside = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "v"}
    (found,) = changed(job(whole), job(whole, beside))
    assert found == (
        "GPU-ADM-01: with a second owner, this Job stays after JobSet set is deleted, and its "
        "pods run uncounted; remove the added owner from metadata.ownerReferences"
    )
    assert changed(job(whole), job(whole, beside), by_controller=True) == []
    assert changed(job(whole, beside), job(whole)) == []
    assert changed(job(whole, beside), job(beside, whole)) == []
    other = {**whole, "apiVersion": "example.org/v1", "kind": "Operator"}
    assert changed(job(other), job(other, beside)) == []
