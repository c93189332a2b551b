"""What suits a class of work, and what a job's own words override."""

import pytest

from gpuyard.job_classes.signals import JobClass
from gpuyard_advisor.job_classes.classify import priority_of, queue_of, sharing_of
from gpuyard_advisor.workloads import read_job
from gpuyard_core.manifests.templates import WORKLOADS

GPU, SHARED, MIG = "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb"
MIG_SHARED = "nvidia.com/mig-1g.10gb.shared"


@pytest.mark.parametrize(
    ("job_class", "asks", "claims", "fills", "mode"),
    [
        (JobClass.TRAINING, {GPU: 1}, 0, "", "whole"),
        (JobClass.HPC, {GPU: 1}, 0, "", "whole"),
        (JobClass.BATCH, {GPU: 1}, 0, "", "whole"),
        (JobClass.INFERENCE, {GPU: 1}, 0, "", "mps"),
        (JobClass.REAL_TIME, {GPU: 1}, 0, "", "mig"),
        (JobClass.REAL_TIME, {GPU: 1}, 0, "vllm", "whole"),
        (JobClass.NOTEBOOK, {GPU: 1}, 0, "vllm", "time-slicing"),
        (JobClass.NOTEBOOK, {GPU: 2}, 0, "", "whole"),
        (JobClass.OTHER, {GPU: 1}, 0, "", "whole"),
        (JobClass.TRAINING, {MIG: 1}, 0, "", "mig"),
        (JobClass.NOTEBOOK, {MIG_SHARED: 1}, 0, "", "mig"),
        (JobClass.NOTEBOOK, {SHARED: 1}, 0, "", "time-slicing"),
        (JobClass.REAL_TIME, {SHARED: 1}, 0, "", "mps"),
        (JobClass.TRAINING, {}, 0, "", "none"),
        (JobClass.TRAINING, {GPU: 0, SHARED: 0, MIG: 0}, 0, "", "none"),
        (JobClass.TRAINING, {}, 1, "", "claim"),
        (JobClass.TRAINING, {GPU: 1}, 1, "", "whole"),
    ],
)
def test_a_gpu_is_held_as_asked_else_as_suits_the_class(job_class, asks, claims, fills, mode):
    advice = sharing_of(job_class, asks, claims, fills)
    assert advice.value == mode
    assert advice.why


@pytest.mark.parametrize("job_class", JobClass)
def test_every_class_has_a_priority(job_class):
    assert priority_of(read_job({"kind": "Job"}), job_class).value in {"high", "normal", "low"}


@pytest.mark.parametrize("kind", WORKLOADS)
def test_a_named_queue_is_kept_for_every_kind(kind):
    labels = {"kueue.x-k8s.io/queue-name": "mine"}
    assert queue_of(read_job({"kind": kind, "metadata": {"labels": labels}})).value == "mine"
    assert queue_of(read_job({"kind": kind})).value in {"default", "none"}


def test_the_label_of_a_priority_goes_before_that_of_the_pods():
    job = {
        "kind": "Pod",
        "metadata": {"labels": {"kueue.x-k8s.io/priority-class": "urgent"}},
        "spec": {"priorityClassName": "low"},
    }
    assert priority_of(read_job(job), JobClass.BATCH).value == "urgent"
    del job["metadata"]
    assert priority_of(read_job(job), JobClass.TRAINING).value == "low"
