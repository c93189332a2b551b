"""Advice for a workload class: queue, GPU sharing, and priority."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard.advice.classify.signals import JobClass
from gpuyard_core import names
from gpuyard_core.manifests.queued import UNQUEUED
from gpuyard_core.manifests.workloads import ParsedWorkload


@dataclass(frozen=True, slots=True)
class Advice:
    """A suggestion and its reason."""

    value: str
    why: str


def queue_of(job: ParsedWorkload) -> Advice:
    """The LocalQueue: its label, else the default queue."""
    named = job.labels.get(names.QUEUE_LABEL)
    if named:
        return Advice(named, f"its label {names.QUEUE_LABEL}")
    if job.kind in UNQUEUED:
        return Advice("none", f"Kueue does not queue kind {job.kind}; label its pods instead")
    return Advice(names.LOCAL_QUEUE, "the default queue of every team namespace")


_PRIORITIES = {
    JobClass.REAL_TIME: Advice("high", "users wait for each response"),
    JobClass.INFERENCE: Advice("high", "other services depend on its responses"),
    JobClass.NOTEBOOK: Advice("normal", "a user works in it interactively"),
    JobClass.TRAINING: Advice("normal", "it runs long and loses work on eviction"),
    JobClass.HPC: Advice("normal", "it runs long and loses work on eviction"),
    JobClass.BATCH: Advice("low", "no user waits for it, and it can be restarted"),
    JobClass.OTHER: Advice("low", "nothing indicates that it is urgent"),
}


def priority_of(job: ParsedWorkload, job_class: JobClass) -> Advice:
    """Its own priority, else the priority of its class."""
    named = job.labels.get(names.PRIORITY_LABEL)
    if named:
        return Advice(named, f"its label {names.PRIORITY_LABEL}")
    of_pods = sorted({p.priority_class for p in job.pods if p.priority_class})
    if of_pods:
        return Advice(of_pods[0], "its priorityClassName")
    return _PRIORITIES[job_class]


_OF_CLASS = {
    JobClass.TRAINING: Advice(
        "whole", "training uses a whole GPU, and another pod would slow each step"
    ),
    JobClass.HPC: Advice(
        "whole", "the slowest rank limits the speed, so no rank should share a GPU"
    ),
    JobClass.BATCH: Advice("whole", "throughput matters, and it finishes sooner alone"),
    JobClass.INFERENCE: Advice("mps", "small models run concurrently on one GPU"),
    JobClass.REAL_TIME: Advice("mig", "a dedicated slice keeps latency stable"),
    JobClass.NOTEBOOK: Advice("time-slicing", "mostly idle, so time-slicing costs little"),
    JobClass.OTHER: Advice("whole", "its effect on other pods of the GPU is unknown"),
}


def sharing_of(
    job_class: JobClass, asks: Mapping[str, int], claims: int, fills: str = ""
) -> Advice:
    """The sharing mode: as requested by resource name, else the mode of its class.

    `fills` is the program that uses all GPU memory; "" if none.
    """
    named = _by_name(job_class, asks)
    if named is not None:
        return named
    count = asks.get(names.GPU, 0)
    if count == 0:
        return _CLAIM if claims else Advice("none", "it requests no GPU")
    if count > 1:
        return Advice("whole", f"it requests {count} GPUs in one pod")
    if fills and job_class in _INFERS:
        return Advice("whole", f"{fills} uses all memory of its GPU")
    return _OF_CLASS[job_class]


_CLAIM = Advice("claim", "its resource claim decides (DRA)")
_INFERS = frozenset({JobClass.INFERENCE, JobClass.REAL_TIME})


def _by_name(job_class: JobClass, asks: Mapping[str, int]) -> Advice | None:
    """Advice from the resource names."""
    requested = [name for name, count in asks.items() if count]
    if any(name.startswith(names.MIG_PREFIX) for name in requested):
        return Advice("mig", "it requests MIG slices")
    if any(name == names.GPU_SHARED for name in requested):
        mode = "mps" if job_class in _INFERS else "time-slicing"
        return Advice(mode, "it requests a share; the pool sets the sharing mode")
    return None
