"""Reasons for eviction of a running job."""

from gpuyard_advisor.scheduler.model import RunningJob

WITHIN_QUEUE = "it is in the same queue with a lower priority"
RECLAIM = "it borrows from the team's guarantee"
FAIR_SHARING = "its team borrows more, relative to its weight"
PreemptionTargets = list[tuple[RunningJob, str]]
"""Jobs to evict, each with the reason."""


def target_jobs(targets: PreemptionTargets) -> tuple[RunningJob, ...]:
    """The jobs without the reasons."""
    return tuple(job for job, _ in targets)
