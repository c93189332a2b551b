"""What a replay models besides queues, and the delays of the cluster."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from gpuyard_advisor.replay.scaling import ScalingPolicy
from gpuyard_core.catalogue.kubernetes.kueue import REQUEUE_SECONDS

MOST_EVICTIONS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Delays of the cluster in seconds; by default only those of Kueue."""

    requeue: float = REQUEUE_SECONDS
    """From free quota to the retry of inadmissible jobs."""
    start: float = 0.0
    """From admission to running pods, on nodes that run."""
    stop: float = 0.0
    """From the end of the last pod to free quota."""
    eviction: float = 1.0
    """From the eviction to free quota: pods terminate, then the job queues again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """What a replay models. By default only queues, on nodes that all run."""

    nodes: bool = False
    """Whether pods are placed on nodes, which autoscalers start and remove."""
    seed: int = 0
    """Selects the interruptions, and among nodes of the same score."""
    interruptions: bool = False
    """Whether spot nodes are interrupted; only with `nodes`."""
    interruptions_per_month: float | None = None
    """Share of spot nodes interrupted within a month of running, above 0 and below 1. None: the catalogue's."""
    boot_seconds: float | None = None
    """From the request for a node until its GPUs are usable. None: the middle of the catalogue's
    range; 0 where it is unknown."""
    image_gb: float = 0.0
    """Size of the image that a new node pulls before its first pod runs, in GB."""
    scaling: ScalingPolicy | None = None
    """What adds and removes nodes of pools that scale. None: the autoscaler of the stack."""
    flap_seconds: float = 1800.0
    """A node that is removed within this time of its request counts as a flap."""
    most_evictions: int = MOST_EVICTIONS
    """A job that is evicted more often ends the replay with NoConvergence."""
    progress: Callable[[int, int], None] | None = None
    """Called with the number of submitted jobs and of all jobs, now and then and at the end."""


_MASK = (1 << 64) - 1


class Chance:
    """SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014)."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        """Start at a seed."""
        self._state = seed & _MASK

    def uniform(self) -> float:
        """A number from 0 to below 1."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return ((mixed ^ (mixed >> 31)) >> 11) / (1 << 53)

    def exponential(self, rate: float) -> float:
        """The time until an event that happens at this rate."""
        return -math.log(1 - self.uniform()) / rate
