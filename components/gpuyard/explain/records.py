"""Records of an explanation."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from gpuyard.scheduler.flavors import ConsideredPool


class Verdict(StrEnum):
    """Whether a job starts; the order of the members is from good to bad."""

    STARTS = "starts"
    WAITS = "waits"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Preempted:
    """A running job that is evicted, and by which right."""

    name: str
    team: str
    why: str


@dataclass(frozen=True, slots=True)
class JobChange:
    """A change of the job; value None means: remove what stands there."""

    message: str
    at: str
    value: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The answer about one job."""

    kind: str
    name: str
    team: str | None
    namespace: str
    queue: str | None
    """The LocalQueue it waits in; None: no queue sees it."""
    verdict: Verdict
    message: str
    """The reason in one sentence."""
    admitted: bool
    """Whether its queue admits it; a job that never runs may still be admitted, and wait for nodes."""
    pools: tuple[str, ...]
    """Where its pods go, or where they would."""
    requests: Mapping[str, int]
    """What all its pods ask for together, of what nodes advertise or queues count."""
    pods: int
    pods_started: int
    nodes: int
    """Nodes its pods stand on."""
    nodes_to_start: Mapping[str, int]
    """By pool: nodes that do not run yet."""
    conditions: tuple[str, ...]
    """What must happen first; no clock knows when."""
    meanwhile: str
    """What the cluster does until then."""
    preempts: tuple[Preempted, ...]
    reasons: tuple[ConsideredPool, ...]
    cautions: tuple[str, ...]
    changes: tuple[JobChange, ...]
    """The nearest way to make it start, tried out; none when nothing small helps."""
    stack_change: str
    """What would have to change in the stack file instead, "" when that is not the way."""

    @property
    def scales_from_zero(self) -> bool:
        """True when nodes must start first."""
        return bool(self.nodes_to_start)
