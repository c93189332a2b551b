"""Reasons for eviction of a running job."""

from gpuyard.scheduler.model import RunningJob

WITHIN_QUEUE = "the same queue has it, at a lower priority"
RECLAIM = "it borrows what the team is guaranteed"
FAIR_SHARING = "its team borrows more, by weight"
PreemptionTargets = list[tuple[RunningJob, str]]
"""Jobs that go, each with the right by which it is made to."""


def target_jobs(targets: PreemptionTargets) -> tuple[RunningJob, ...]:
    """The jobs alone."""
    return tuple(job for job, _ in targets)
