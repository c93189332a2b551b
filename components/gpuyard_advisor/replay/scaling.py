"""When a pool gets more nodes or fewer: policies that a replay observes in place of the stack's own.

A policy decides; the replay starts nodes with the delays of boot and image pull, and removes only
nodes without pods.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Protocol

from gpuyard.plan.capacity.cron import WEEK_DAYS, Cron, read_cron, run_times
from gpuyard.plan.records import PlatformPlan
from gpuyard.spec.sections import KeepWarmWindow

WEEK_SECONDS = WEEK_DAYS * 24 * 3600
EMPTY_NODE_SECONDS = 600.0
"""How long a node stays empty before it is removed: consolidateAfter of Karpenter's NodePools here,
and scale-down-unneeded-time of the Cluster Autoscaler (autoscaler FAQ, default 10 minutes).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolObservation:
    """One pool at one moment, as an autoscaler sees it."""

    pool: str
    seconds: float
    """Time since the start of the replay."""
    nodes: int
    """Nodes that are ready."""
    booting: int
    """Nodes that were requested and are not ready."""
    min_nodes: int
    max_nodes: int
    needed_nodes: int
    """Nodes with pods, and the nodes that the pending pods of this pool would need beside them."""
    pending_jobs: int
    """Jobs that wait for this pool."""
    oldest_wait_seconds: float
    """How long the first of them has waited; 0 without one."""
    utilisation: float
    """Requested share of the GPUs of ready nodes, 0 to 1; 0 without nodes."""


class ScalingPolicy(Protocol):
    """Decides on the nodes of pools. It may remember observations: one object serves one replay."""

    interval_seconds: float
    """The replay calls `desired_nodes` for each pool at multiples of this, in order of time."""

    def desired_nodes(self, observation: PoolObservation) -> int:
        """The nodes that the pool should have, ready and booting, within its minimum and maximum."""
        ...

    def constant_until(self, observation: PoolObservation) -> float:
        """Until when the last decision stays the same if nothing but time changes: no need to call."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """When a pool scales. None: never for this reason."""

    queue_jobs: int | None = None
    """Up when more jobs than this wait."""
    wait_seconds: float | None = None
    """Up when the first job has waited longer than this."""
    high_utilisation: float | None = None
    """Up when a larger share of the GPUs is requested, to the nodes that bring it back to this."""
    low_utilisation: float = 0.30
    """Down when no job waits and a smaller share is requested. Between the two nothing changes."""


@dataclass(slots=True)
class ThresholdPolicy:
    """Scales a pool to the nodes that its pods need when a threshold is passed."""

    thresholds: Thresholds
    up_seconds: float = 60.0
    """Stabilisation: the smallest recommendation of this period counts to scale up."""
    down_seconds: float = 300.0
    """The largest recommendation of this period counts to scale down."""
    interval_seconds: float = 15.0
    """As the Horizontal Pod Autoscaler (--horizontal-pod-autoscaler-sync-period)."""
    _stabilisers: dict[str, "_Stabiliser"] = field(default_factory=dict[str, "_Stabiliser"])

    def desired_nodes(self, observation: PoolObservation) -> int:
        """The nodes that the pool should have."""
        recommended = _bounded(observation, recommend_nodes(self.thresholds, observation))
        return _stabilise(
            self._stabilisers, observation, recommended, self.up_seconds, self.down_seconds
        )

    def constant_until(self, observation: PoolObservation) -> float:
        """Until a period of stabilisation is over, or the first job has waited for long enough."""
        until = self._stabilisers[observation.pool].constant_until()
        limit = self.thresholds.wait_seconds
        if limit is not None and observation.pending_jobs:
            left = limit - observation.oldest_wait_seconds
            until = min(until, observation.seconds + left) if left >= 0 else until
        return until


@dataclass(slots=True)
class NodeAutoscalerPolicy:
    """What Karpenter, Cluster Autoscaler and GKE do.

    Pending pods get nodes at once. Empty nodes are removed after `empty_seconds`, except those of
    keep-warm windows.
    """

    warm: Mapping[str, "WarmNodes"] = field(default_factory=dict[str, "WarmNodes"])
    """By pool."""
    empty_seconds: float = EMPTY_NODE_SECONDS
    interval_seconds: float = 10.0
    """As the Cluster Autoscaler (--scan-interval)."""
    _stabilisers: dict[str, "_Stabiliser"] = field(default_factory=dict[str, "_Stabiliser"])

    def desired_nodes(self, observation: PoolObservation) -> int:
        """The nodes that the pool should have."""
        recommended = _bounded(observation, observation.needed_nodes)
        stable = _stabilise(self._stabilisers, observation, recommended, 0.0, self.empty_seconds)
        warm = self.warm.get(observation.pool)
        return _bounded(observation, max(stable, warm.at(observation.seconds) if warm else 0))

    def constant_until(self, observation: PoolObservation) -> float:
        """Until a period of stabilisation is over, or a keep-warm window starts or ends."""
        until = self._stabilisers[observation.pool].constant_until()
        warm = self.warm.get(observation.pool)
        return min(until, warm.constant_until(observation.seconds)) if warm else until


@dataclass(slots=True)
class WarmPolicy:
    """Another policy, with a share of the pool's maximum kept warm.

    It is kept always, or in the windows of a cron expression.
    """

    policy: ScalingPolicy
    share: float
    cron: str = ""
    """Start of a window; empty: always."""
    hours: float = 0.0
    interval_seconds: float = field(init=False)
    _windows: "WarmNodes" = field(init=False)

    def __post_init__(self) -> None:
        self.interval_seconds = self.policy.interval_seconds
        window = KeepWarmWindow(cron=self.cron, hours=self.hours, nodes=1) if self.cron else None
        self._windows = WarmNodes((window,) if window else ())

    def desired_nodes(self, observation: PoolObservation) -> int:
        """The nodes of the other policy, or the warm ones if those are more."""
        nodes = self.policy.desired_nodes(observation)
        if self.cron and not self._windows.at(observation.seconds):
            return nodes
        return _bounded(observation, max(nodes, ceil(self.share * observation.max_nodes)))

    def constant_until(self, observation: PoolObservation) -> float:
        """Until the other policy may decide otherwise, or a window starts or ends."""
        until = self.policy.constant_until(observation)
        return min(until, self._windows.constant_until(observation.seconds)) if self.cron else until


class WarmNodes:
    """The nodes that keep-warm windows keep at each moment of a week. A replay starts on Monday 00:00."""

    def __init__(self, windows: tuple[KeepWarmWindow, ...]) -> None:
        """Read the windows; one with an invalid cron expression keeps nothing."""
        runs = [
            (begin * 60, end * 60, window.nodes)
            for window in windows
            if isinstance(cron := read_cron(window.cron), Cron)
            for begin, end in run_times(cron, window.hours * 60, WEEK_DAYS)
        ]
        # the week repeats: what extends past its end continues at its start
        runs += [(begin - WEEK_SECONDS, end - WEEK_SECONDS, n) for begin, end, n in runs]
        self._starts = sorted({0.0, *(max(0.0, edge) for run in runs for edge in run[:2])})
        self._nodes = [
            max((n for begin, end, n in runs if begin <= start < end), default=0)
            for start in self._starts
        ]

    def at(self, seconds: float) -> int:
        """The nodes kept at this time."""
        return self._nodes[bisect_right(self._starts, seconds % WEEK_SECONDS) - 1]

    def constant_until(self, seconds: float) -> float:
        """The next time at which a window starts or ends, or the week."""
        week, now = divmod(seconds, WEEK_SECONDS)
        place = bisect_right(self._starts, now)
        ends = self._starts[place] if place < len(self._starts) else WEEK_SECONDS
        return week * WEEK_SECONDS + min(ends, WEEK_SECONDS)


def stack_policy(plan: PlatformPlan) -> NodeAutoscalerPolicy:
    """The policy of the plan's own node autoscaler."""
    return NodeAutoscalerPolicy(
        {pool.name: WarmNodes(pool.keep_warm) for pool in plan.pools if pool.keep_warm}
    )


def recommend_nodes(thresholds: Thresholds, observation: PoolObservation) -> int:
    """The nodes that thresholds recommend now, before stabilisation and the pool's limits."""
    total = observation.nodes + observation.booting
    high = thresholds.high_utilisation
    # a pool without nodes has no utilisation, and its first job no other way to start
    up = observation.pending_jobs > 0 and total == 0
    if thresholds.queue_jobs is not None:
        up |= observation.pending_jobs > thresholds.queue_jobs
    if thresholds.wait_seconds is not None:
        up |= observation.oldest_wait_seconds > thresholds.wait_seconds
    nodes = total
    if up:
        nodes = max(nodes, observation.needed_nodes)
    if high is not None and observation.utilisation > high:
        busy = ceil(observation.nodes * observation.utilisation / high)
        nodes = max(nodes, busy, observation.needed_nodes)
    if observation.pending_jobs == 0 and observation.utilisation < thresholds.low_utilisation:
        nodes = min(nodes, observation.needed_nodes)
    return nodes


SCALING_POLICIES: Mapping[str, Callable[[], ScalingPolicy]] = {
    "queue": lambda: ThresholdPolicy(Thresholds(queue_jobs=10)),
    "wait": lambda: ThresholdPolicy(Thresholds(wait_seconds=300)),
    "utilisation": lambda: ThresholdPolicy(Thresholds(high_utilisation=0.80)),
    "any": lambda: ThresholdPolicy(
        Thresholds(queue_jobs=10, wait_seconds=300, high_utilisation=0.80)
    ),
    "any, not stabilised": lambda: ThresholdPolicy(
        Thresholds(queue_jobs=10, wait_seconds=300, high_utilisation=0.80), 0.0, 0.0
    ),
    "any, warm at work": lambda: WarmPolicy(
        SCALING_POLICIES["any"](), share=0.25, cron="0 8 * * 1-5", hours=12
    ),
    "any, always warm": lambda: WarmPolicy(SCALING_POLICIES["any"](), share=0.25),
}
"""Policies to compare with the stack's own, by name: each call returns one for another replay."""


def _bounded(observation: PoolObservation, nodes: int) -> int:
    return max(observation.min_nodes, min(observation.max_nodes, nodes))


class _Window:
    """The extreme of the recommendations in force during the last seconds."""

    __slots__ = ("_last", "_values", "seconds", "sign")

    def __init__(self, seconds: float, sign: int) -> None:
        """Keep the smallest (sign 1) or the largest (sign -1) one."""
        self.seconds, self.sign = seconds, sign
        self._values: deque[tuple[float, int]] = deque()
        """Until when it was in force, and the signed recommendation; both increase."""
        self._last: int | None = None

    def add(self, now: float, value: int) -> int:
        """Add a recommendation, which is in force from now, and return the extreme."""
        for signed in (self._last, value * self.sign):
            if signed is not None:
                while self._values and self._values[-1][1] >= signed:
                    self._values.pop()
                self._values.append((now, signed))
        self._last = value * self.sign
        while len(self._values) > 1 and self._values[0][0] <= now - self.seconds:
            self._values.popleft()
        return self._values[0][1] * self.sign

    def constant_until(self) -> float:
        """When the extreme leaves the window; never if it is the last recommendation."""
        return self._values[0][0] + self.seconds if len(self._values) > 1 else inf


class _Stabiliser:
    """Stabilisation of the Horizontal Pod Autoscaler (Kubernetes 1.36, horizontal.go)."""

    __slots__ = ("down", "up")

    def __init__(self, up_seconds: float, down_seconds: float) -> None:
        """Start without recommendations."""
        self.up, self.down = _Window(up_seconds, 1), _Window(down_seconds, -1)

    def stable(self, now: float, current: int, recommended: int) -> int:
        """The nodes between the smallest and the largest recommendation nearest to the current."""
        low, high = self.up.add(now, recommended), self.down.add(now, recommended)
        return min(max(current, low), high)

    def constant_until(self) -> float:
        """When an extreme leaves its window."""
        return min(self.up.constant_until(), self.down.constant_until())


def _stabilise(
    stabilisers: dict[str, _Stabiliser],
    observation: PoolObservation,
    recommended: int,
    up_seconds: float,
    down_seconds: float,
) -> int:
    """The stabilised recommendation, within the pool's limits."""
    stabiliser = stabilisers.get(observation.pool)
    if stabiliser is None:
        stabiliser = stabilisers[observation.pool] = _Stabiliser(up_seconds, down_seconds)
        # a replay starts with the pool as it is
        stabiliser.stable(observation.seconds, 0, observation.nodes + observation.booting)
    current = observation.nodes + observation.booting
    return _bounded(observation, stabiliser.stable(observation.seconds, current, recommended))
