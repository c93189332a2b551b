"""Reasons for eviction of a running job."""

from gpuyard.scheduler.desk import Running

OWN = "the same queue has it, at a lower priority"
RECLAIM = "it borrows what the team is guaranteed"
FAIR = "its team borrows more, by weight"
Evictions = list[tuple[Running, str]]
"""Jobs that go, each with the right by which it is made to."""


def leavers(targets: Evictions) -> tuple[Running, ...]:
    """The jobs alone."""
    return tuple(job for job, _ in targets)
