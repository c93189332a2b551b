"""Replay of jobs on a platform's queues: admission time, pool and evictions of each job.

Replays Kueue's scheduler on plain values: no cluster, no clock, no randomness. It evaluates quota,
not whether a pod then finds a node; see docs/concepts/queue-model.md.
"""

from gpuyard.replay.compare import Disagreement, compare_orders
from gpuyard.replay.jobs import JobHistory, RunInterval, SubmittedJob
from gpuyard.replay.run import NoConvergence, Replay, Timing, replay

__all__ = [
    "Disagreement",
    "JobHistory",
    "NoConvergence",
    "Replay",
    "RunInterval",
    "SubmittedJob",
    "Timing",
    "compare_orders",
    "replay",
]
