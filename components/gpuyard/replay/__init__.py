"""Replay of jobs on a platform's queues: who is admitted when, in which pool, at whose expense.

Kueue's scheduler, replayed on plain values: no cluster, no clock, no chance. Quota decides here; whether
a pod then finds a node is another question, see docs/concepts/queue-model.md.
"""

from gpuyard.replay.compare import Disagreement, disagreement
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
    "disagreement",
    "replay",
]
