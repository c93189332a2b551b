"""Replay of jobs on a platform: when and where each runs, its evictions, and the figures of all.

Replays Kueue's scheduler on plain values, and with `ReplayOptions.nodes` kube-scheduler, autoscalers and
interruptions: no cluster, no clock, and no randomness beside a seed; see docs/concepts/queue-model.md.
"""

from gpuyard.replay.accounts import Outcome, PoolHour, PoolOutcome, Waits
from gpuyard.replay.jobs import EndReason, JobHistory, RunInterval, SubmittedJob
from gpuyard.replay.options import ReplayOptions, Timing
from gpuyard.replay.run import NoConvergence, Replay, replay

__all__ = [
    "EndReason",
    "JobHistory",
    "NoConvergence",
    "Outcome",
    "PoolHour",
    "PoolOutcome",
    "Replay",
    "ReplayOptions",
    "RunInterval",
    "SubmittedJob",
    "Timing",
    "Waits",
    "replay",
]
