"""The hardware validation in a plan: frozen records of plain values."""

from dataclasses import dataclass

from gpuyard_core.manifests.pods import Taint
from gpuyard_core.names import GATE_TAINT, GATE_VALUE

STARTS_WITH = Taint(GATE_TAINT, GATE_VALUE)
"""The startup taint of new nodes, if the validation gate is a taint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolCheck:
    """The validation of one pool."""

    pool: str
    nodes: int
    """How many of its nodes are checked before a deployment ends: those that run from the start."""
    skip_reason: str
    """Why the pool is not checked at all; empty if it is."""
    gate: str
    """The validation gate of later nodes: taint, label, or empty if they are not checked."""
    idle: str = "the profile quick puts no load on a GPU"
    """Why its GPUs are not tested under load; empty if they are."""
    transport: str = "tcp"
    """The transport between its nodes in the load test: efa, infiniband, roce or tcp."""
    single_node_reason: str = ""
    """Why collectives run within each node only; empty if they run across nodes."""
    shares_skip_reason: str = "the profile quick tests no share of a GPU"
    """Why its shares are not tested; empty if they are."""
    volumes_skip_reason: str = "the profile quick reads no volume"
    """Why its nodes read no volumes; empty if one does."""
    spare: int = 0
    """Extra pods beyond its shares that must wait: 1, or 0 if such a pod could run elsewhere."""

    @property
    def runs_load_checks(self) -> bool:
        """Whether a deployment tests its GPUs under load."""
        return self.checks_any_node and not self.idle

    @property
    def runs_share_checks(self) -> bool:
        """Whether a deployment tests its shares."""
        return self.checks_any_node and not self.shares_skip_reason

    @property
    def runs_read_checks(self) -> bool:
        """Whether one of its nodes reads volumes before a deployment ends."""
        return self.checks_any_node and not self.volumes_skip_reason

    @property
    def checks_any_node(self) -> bool:
        """Whether a deployment checks any node of it."""
        return self.nodes > 0 and not self.skip_reason


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadThreshold:
    """The minimum read speed of one node from a dataset."""

    name: str
    mb_per_s: float
    source: str
    """The source of the threshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedThreshold:
    """A lower threshold of one check for the nodes of a pool, until a date."""

    pool: str
    check: str
    value: float
    unit: str
    reason: str
    until: str
    """The last day on which it applies."""
    at_work: bool
    """Whether its check tests GPUs under load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurringCheck:
    """When nodes that passed are checked again."""

    cron: str
    time_zone: str
    seconds: int
    """Seconds for which it waits for idle nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationPlan:
    """The hardware validation of the stack file."""

    profile: str
    required: bool
    image: str
    """The image of its pods; empty if none is configured."""
    deadline_seconds: int
    max_unavailable_percent: int
    """The maximum share of a pool's nodes that failed checks may take out of service."""
    recurring: RecurringCheck | None
    textfile: str
    """Directory of a node for its node exporter; empty if none is configured."""
    pools: tuple[PoolCheck, ...]
    readings: tuple[ReadThreshold, ...] = ()
    """Read thresholds of the datasets that nodes read."""
    accepted_thresholds: tuple[AcceptedThreshold, ...] = ()
    """Accepted thresholds; the check itself ignores those whose last day is past."""

    @property
    def checks_any_node(self) -> bool:
        """Whether any node is checked, now or when it starts."""
        return bool(self.image) and any(pool.checks_any_node or pool.gate for pool in self.pools)
