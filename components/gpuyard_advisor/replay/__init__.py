"""Replay of jobs on a platform: when and where each runs, its evictions, and the figures of all.

Replays Kueue's scheduler on plain values, and with `ReplayOptions.nodes` kube-scheduler, autoscalers and
interruptions: no cluster, no clock, and no randomness beside a seed; see docs/concepts/queue-model.md.
"""

from gpuyard_advisor.replay.accounts import Outcome, PoolHour, PoolOutcome, Waits
from gpuyard_advisor.replay.jobs import EndReason, JobHistory, RunInterval, SubmittedJob
from gpuyard_advisor.replay.options import ReplayOptions, Timing
from gpuyard_advisor.replay.run import NoConvergence, Replay, replay

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
