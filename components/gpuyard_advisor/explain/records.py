"""Records of an explanation."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from gpuyard_advisor.scheduler.flavors import ConsideredPool


class Verdict(StrEnum):
    """Whether a job starts; members are ordered from best to worst."""

    STARTS = "starts"
    WAITS = "waits"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Preempted:
    """A preempted running job, and the reason."""

    name: str
    team: str
    why: str


@dataclass(frozen=True, slots=True)
class JobChange:
    """A change of the job; the value None removes the field."""

    message: str
    at: str
    value: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The explanation of one job."""

    kind: str
    name: str
    team: str | None
    namespace: str
    queue: str | None
    """Its LocalQueue; None when it bypasses the queues."""
    verdict: Verdict
    message: str
    """The reason in one sentence."""
    admitted: bool
    """Whether its queue admits it; an admitted job may still wait for nodes."""
    pools: tuple[str, ...]
    """Pools of its pods, or candidate pools."""
    requests: Mapping[str, int]
    """Total requests of its pods for resources that nodes advertise or queues count."""
    pods: int
    pods_started: int
    nodes: int
    """Nodes of its pods."""
    nodes_to_start: Mapping[str, int]
    """Nodes to be started, by pool."""
    conditions: tuple[str, ...]
    """Conditions for the start; their time is unknown."""
    meanwhile: str
    """What the cluster does until then."""
    preempts: tuple[Preempted, ...]
    reasons: tuple[ConsideredPool, ...]
    cautions: tuple[str, ...]
    changes: tuple[JobChange, ...]
    """The nearest simulated change with which it starts; empty when no small change suffices."""
    stack_change: str
    """The alternative change of the stack file; "" when there is none."""

    @property
    def scales_from_zero(self) -> bool:
        """True when nodes must start first."""
        return bool(self.nodes_to_start)
