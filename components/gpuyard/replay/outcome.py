"""Figures of a replay: waits, utilisation, nodes, fragmentation and cost."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard.plan.records import Total


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Seconds from submission until all pods of a job first ran."""

    jobs: int
    """Jobs that ran."""
    never: int
    """Jobs that never ran; they are in no other figure."""
    mean: float | None
    """None, as the other figures, if no job ran."""
    p50: float | None
    p90: float | None
    p95: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolHour:
    """One hour of a pool, by hours since the start."""

    hour: int
    node_hours: float
    """Hours of nodes that are paid for, including those that boot."""
    gpu_hours: float
    """GPU hours of nodes that are ready."""
    allocated_gpu_hours: float
    used_gpu_hours: float | None
    """Of jobs whose utilisation is known; None if none is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOutcome:
    """Figures of one pool, from the first submission to the last end."""

    pool: str
    hours: tuple[PoolHour, ...]
    """Every hour in which it had nodes."""
    node_hours: float
    gpu_hours: float
    allocated_gpu_hours: float
    used_gpu_hours: float | None
    nodes_started: int
    """Nodes that were requested after the start."""
    nodes_removed: int
    """Nodes that the autoscaler removed."""
    flaps: int
    """Nodes that were removed soon after their request."""
    interruptions: int
    """Nodes that were interrupted."""
    max_nodes: int
    """The most nodes at once."""
    fragmentation: float | None
    """Share of free GPUs that a typical pod of the trace cannot use (FGD), over time; None if no GPU was
    free, or nodes are not modelled."""

    @property
    def utilisation(self) -> float | None:
        """The allocated share of GPU hours; None without any."""
        return self.allocated_gpu_hours / self.gpu_hours if self.gpu_hours else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Figures of a whole replay."""

    begin: float
    """The first submission, in seconds since the start."""
    end: float
    """The last end of a job."""
    waits: Waits
    waits_by_team: Mapping[str, Waits]
    waits_by_priority: Mapping[int, Waits]
    """The highest first."""
    pools: tuple[PoolOutcome, ...]
    evictions: int
    """Jobs preempted by others, every time."""
    interruptions: int
    """Jobs stopped because a node ended, every time."""
    not_ready: int
    """Jobs stopped because their pods did not all run in time, every time."""
    lost_gpu_hours: float
    """GPU hours of work since the last checkpoint, when jobs were stopped."""
    cost: Total
    """Cost of the whole time in USD: nodes by capacity option, commitments, system nodes and fees."""

    @property
    def node_hours(self) -> float:
        """Hours of all nodes."""
        return sum(pool.node_hours for pool in self.pools)

    @property
    def utilisation(self) -> float | None:
        """The allocated share of all GPU hours."""
        gpus = sum(pool.gpu_hours for pool in self.pools)
        return sum(pool.allocated_gpu_hours for pool in self.pools) / gpus if gpus else None

    @property
    def used_gpu_hours(self) -> float | None:
        """GPU hours used by jobs whose utilisation is known; None if none is."""
        used = [pool.used_gpu_hours for pool in self.pools if pool.used_gpu_hours is not None]
        return sum(used) if used else None

    @property
    def flaps(self) -> int:
        """Nodes that were removed soon after their request."""
        return sum(pool.flaps for pool in self.pools)
