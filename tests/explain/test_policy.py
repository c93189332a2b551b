"""What the platform's admission policy would refuse is never said to start."""

import pytest

from gpuyard_advisor.explain import Verdict
from gpuyard_advisor.explain.answer import submit
from gpuyard_advisor.scheduler.model import EMPTY, SchedulerModel
from gpuyard_advisor.workloads import read_job
from kit.cases.explain import job, local, pod_spec, said

HOST = (
    "GPU-ADM-02: with hostNetwork the pod has the node's IP address and bypasses network policies;"
    " remove hostNetwork"
)


def test_a_job_that_the_policy_refuses_never_starts():
    found = said(local(), job(hostNetwork=True))
    assert (found.verdict, found.admitted, found.changes) == (Verdict.NEVER, False, ())
    assert found.message == f"the platform's admission policy rejects it: {HOST}"
    assert found.queue == "default"


def test_everything_that_is_wrong_is_said():
    toleration = {"operator": "Exists"}
    found = said(local(), job(hostNetwork=True, tolerations=[toleration]))
    assert found.message.count("GPU-ADM-") == 2


@pytest.mark.parametrize(
    ("enforce", "does"), [("warn", "warns about it"), ("audit", "records it in the audit log")]
)
def test_a_policy_that_lets_pass_is_a_caution(enforce, does):
    found = said(local(admission={"enforce": enforce}), job(hostNetwork=True))
    assert found.verdict is Verdict.STARTS
    assert found.cautions == (f"the platform's admission policy {does}: {HOST}",)


def test_what_the_api_server_refuses_is_said_first():
    found = said(local(), job(gpus="0.5", hostNetwork=True))
    assert found.message.startswith("the API server rejects it")


def test_a_namespace_of_no_team_is_held_to_nothing():
    found = said(local(), job(namespace="elsewhere", hostNetwork=True))
    assert "policy" not in found.message


def test_a_team_without_a_default_queue_has_to_name_one():
    teams = [{"name": "vision", "guarantee": {"train": 8}, "queues": {"main": 1.0}}]
    plan = local(teams=teams)
    says = said(plan, job()).message
    assert says.endswith("names no queue; label it kueue.x-k8s.io/queue-name: main")
    cron = {
        "kind": "CronJob",
        "metadata": {"name": "x", "namespace": "vision"},
        "spec": {"jobTemplate": {"spec": {"template": {"spec": pod_spec()}}}},
    }
    assert "label its spec.jobTemplate" in said(plan, cron).message
    assert "label it " in said(plan, job(kind="Pod")).message
    assert "label its spec.template" in said(plan, job(kind="Deployment")).message


def test_the_class_of_a_pod_is_its_own_label():
    training = {"gpuyard.dev/class": "training"}
    for labels in ({"labels": training}, {"pod_labels": training}):
        assert "GPU-ADM-06" in said(local(), job(**labels)).message
    assert "GPU-ADM-06" in said(local(), job(kind="Pod", labels=training)).message
    assert (
        said(local(admission={"guaranteed": False}), job(labels=training)).verdict is Verdict.STARTS
    )


def test_what_the_policy_refuses_does_not_run_before_others():
    plan = local()
    refused = read_job(job(hostNetwork=True))
    assert not submit(SchedulerModel(plan, EMPTY), refused, plan.team("vision"))
    assert submit(SchedulerModel(plan, EMPTY), read_job(job()), plan.team("vision"))


@pytest.mark.parametrize(
    ("cleans", "verdict"), [("Running", Verdict.STARTS), (None, Verdict.NEVER)]
)
def test_what_an_mpi_job_does_with_its_pods_is_read(cleans, verdict):
    template = job(gpus=8)["spec"]["template"]
    value = {
        "kind": "MPIJob",
        "metadata": {"name": "job", "namespace": "vision"},
        "spec": {
            "runPolicy": {"cleanPodPolicy": cleans} if cleans else {},
            "mpiReplicaSpecs": {"Launcher": {"template": template}},
        },
    }
    found = said(local(), value)
    assert found.verdict is verdict, found.message
    assert ("pods of this MPIJob continue to run after it finishes" in found.message) is not bool(
        cleans
    )
