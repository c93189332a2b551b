"""Advice for a class of work: the queue it waits in, how it shares a GPU, what goes first."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard import names
from gpuyard.advice.classify.signals import JobClass
from gpuyard.manifests.queued import UNQUEUED
from gpuyard.manifests.workloads import JobRead


@dataclass(frozen=True, slots=True)
class Advice:
    """A suggestion and its reason."""

    value: str
    why: str


def queue_of(job: JobRead) -> Advice:
    """The LocalQueue: the one it names, else the one every team has."""
    named = job.labels.get(names.QUEUE_LABEL)
    if named:
        return Advice(named, f"its label {names.QUEUE_LABEL}")
    if job.kind in UNQUEUED:
        return Advice("none", f"Kueue queues no {job.kind}; its pods can be labelled")
    return Advice(names.LOCAL_QUEUE, "the queue every team's namespace has")


_PRIORITIES = {
    JobClass.REAL_TIME: Advice("high", "somebody waits for every answer"),
    JobClass.INFERENCE: Advice("high", "others depend on its answers"),
    JobClass.NOTEBOOK: Advice("normal", "somebody sits in front of it"),
    JobClass.TRAINING: Advice("normal", "it runs long, and loses work when it is evicted"),
    JobClass.HPC: Advice("normal", "it runs long, and loses work when it is evicted"),
    JobClass.BATCH: Advice("low", "nobody waits for it, and it can start again"),
    JobClass.OTHER: Advice("low", "nothing says that it is urgent"),
}


def priority_of(job: JobRead, job_class: JobClass) -> Advice:
    """The priority it names, else what its class can bear."""
    named = job.labels.get(names.PRIORITY_LABEL)
    if named:
        return Advice(named, f"its label {names.PRIORITY_LABEL}")
    of_pods = sorted({p.priority_class for p in job.pods if p.priority_class})
    if of_pods:
        return Advice(of_pods[0], "its priorityClassName")
    return _PRIORITIES[job_class]


_OF_CLASS = {
    JobClass.TRAINING: Advice(
        "whole", "training fills a GPU, and a neighbour would slow every step"
    ),
    JobClass.HPC: Advice("whole", "the slowest rank decides, so none should share"),
    JobClass.BATCH: Advice("whole", "throughput counts; it is done sooner alone"),
    JobClass.INFERENCE: Advice("mps", "small models run beside each other at the same time"),
    JobClass.REAL_TIME: Advice("mig", "a slice of its own keeps the answers' delay steady"),
    JobClass.NOTEBOOK: Advice("time-slicing", "mostly idle, so turns cost little"),
    JobClass.OTHER: Advice("whole", "nothing is known of what it does to a neighbour"),
}


def sharing_of(
    job_class: JobClass, asks: Mapping[str, int], claims: int, fills: str = ""
) -> Advice:
    """How it should hold a GPU: as it asks where the name says so, else as suits its class.

    `fills` is the program that takes all memory of a GPU, "" when there is none.
    """
    named = _by_name(job_class, asks)
    if named is not None:
        return named
    count = asks.get(names.GPU, 0)
    if count == 0:
        return _CLAIM if claims else Advice("none", "it asks for no GPU")
    if count > 1:
        return Advice("whole", f"it asks for {count} GPUs in one pod")
    if fills and job_class in _INFERS:
        return Advice("whole", f"{fills} takes all the memory of its GPU")
    return _OF_CLASS[job_class]


_CLAIM = Advice("claim", "its resource claim decides (DRA)")
_INFERS = frozenset({JobClass.INFERENCE, JobClass.REAL_TIME})


def _by_name(job_class: JobClass, asks: Mapping[str, int]) -> Advice | None:
    """What the names of the resources already say."""
    requested = [name for name, count in asks.items() if count]
    if any(name.startswith(names.MIG_PREFIX) for name in requested):
        return Advice("mig", "it asks for MIG slices")
    if any(name == names.GPU_SHARED for name in requested):
        mode = "mps" if job_class in _INFERS else "time-slicing"
        return Advice(mode, "it asks for a share; the pool decides which kind")
    return None
