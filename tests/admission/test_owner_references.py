"""Who may name the controller of an object, and what a queue takes from one."""

from dataclasses import replace

import pytest

from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.requirement import Workload
from gpuyard_core.admission.requirements import denials
from gpuyard_core.manifests.pods import Pod
from kit.every import every

MAIN = TeamParameters(queues=("main",))
JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "1", "controller": True}
OTHER = {**JOB, "uid": "2"}
BESIDE = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "3"}


def made(*owners, gpus=0, **more):
    metadata = {"name": "x", "ownerReferences": list(owners)}
    limits = {"nvidia.com/gpu": gpus} if gpus else {}
    spec = {"containers": [{"name": "a", "resources": {"limits": limits}}]}
    return Workload("Pod", metadata, (Pod((), metadata, spec),), **more)


def said(workload, parameters=MAIN):
    return [each.summary.partition(":")[0] for each in denials(workload, parameters)]


def test_a_controller_may_name_one_and_a_person_may_not():
    assert said(made(JOB)) == ["GPU-ADM-07"]
    assert said(made(JOB, by_controller=True)) == []
    assert said(made(BESIDE)) == []


CRON = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": "4", "controller": True}


@every(
    ("kind", "owner", "refused"),
    [
        ("Job", CRON, False),
        ("Pod", CRON, True),
        ("Job", {**CRON, "apiVersion": "x.example/v1"}, True),
        ("Job", JOB, True),
    ],
)
def test_a_job_may_be_made_of_a_cron_job_by_hand(kind, owner, refused):
    """As `kubectl create job --from=cronjob/…` does."""
    assert said(replace(made(owner), kind=kind)) == (["GPU-ADM-07"] if refused else [])


def test_such_a_job_names_a_queue_as_any_other():
    assert said(replace(made(CRON, gpus=1), kind="Job")) == ["GPU-ADM-01"]


@every(
    ("before", "after", "refused"),
    [
        ((), (JOB,), True),
        ((JOB,), (), True),
        ((JOB,), (OTHER,), True),
        ((JOB,), ({**JOB, "controller": False},), True),
        ((JOB,), (JOB,), False),
        ((JOB,), (BESIDE, JOB), False),
        ((BESIDE,), (), False),
    ],
)
def test_a_person_changes_no_controller_of_what_is_there(before, after, refused):
    workload = made(*after, previous=made(*before))
    assert said(workload) == (["GPU-ADM-07"] if refused else [])
    assert said(replace(workload, by_controller=True)) == []


@pytest.mark.parametrize(
    ("version", "kind", "counted"),
    [
        ("batch/v1", "Job", True),
        ("jobset.x-k8s.io/v1alpha2", "JobSet", True),
        ("ray.io/v1", "RayCluster", True),
        ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", True),
        ("batch/v1", "CronJob", False),
        ("apps/v1", "ReplicaSet", False),
        ("v1", "ReplicationController", False),
        ("kubeflow.org/v1", "PyTorchJob", False),
        ("x.example/v1", "Job", False),
    ],
)
def test_only_kinds_that_queue_with_all_they_make_stand_for_their_pods(version, kind, counted):
    owner = {**JOB, "apiVersion": version, "kind": kind}
    assert said(made(owner, gpus=1, by_controller=True)) == ([] if counted else ["GPU-ADM-01"])
