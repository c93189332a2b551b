"""The check of hardware in a plan: frozen records of plain values."""

from dataclasses import dataclass

from gpuyard.names import GATE_TAINT, GATE_VALUE
from gpuyard.plan.records.pools import Taint

STARTS_WITH = Taint(GATE_TAINT, GATE_VALUE)
"""What every maker of nodes gives a new one, where the check keeps jobs off it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolCheck:
    """What becomes of the check on one pool."""

    pool: str
    nodes: int
    """How many of its nodes are checked before a deployment ends: those that run from the beginning."""
    skip_reason: str
    """What keeps it from being made at all; empty where nothing does."""
    gate: str
    """What nodes wait for that come later: taint, label, or empty where they are not checked."""
    idle: str = "the profile quick puts no load on a GPU"
    """What keeps its GPUs from being put to work; empty where nothing does."""
    transport: str = "tcp"
    """What its nodes reach each other by at work: efa, infiniband, roce or tcp."""
    single_node_reason: str = ""
    """Why its nodes run collectives each for itself; empty where they run them together."""
    shares_skip_reason: str = "the profile quick holds no share of a GPU"
    """What keeps its shares from being tried; empty where nothing does."""
    volumes_skip_reason: str = "the profile quick reads no volume"
    """What keeps a node of it from reading volumes; empty where nothing does."""
    spare: int = 0
    """So many pods more than it has shares, to wait: 1, or 0 where such a pod would find another place."""

    @property
    def works(self) -> bool:
        """Whether a deployment puts GPUs of it to work."""
        return self.runs and not self.idle

    @property
    def tried(self) -> bool:
        """Whether a deployment tries its shares."""
        return self.runs and not self.shares_skip_reason

    @property
    def reads(self) -> bool:
        """Whether one of its nodes reads volumes before a deployment ends."""
        return self.runs and not self.volumes_skip_reason

    @property
    def runs(self) -> bool:
        """Whether a deployment checks any node of it."""
        return self.nodes > 0 and not self.skip_reason


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadThreshold:
    """How fast one node reads a dataset at least."""

    name: str
    mb_per_s: float
    source: str
    """Who says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedThreshold:
    """What one check asks of the nodes of a pool for a while, instead of more."""

    pool: str
    check: str
    value: float
    unit: str
    reason: str
    until: str
    """The last day it holds."""
    at_work: bool
    """Its check puts GPUs to work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurringCheck:
    """When nodes that have passed are checked again."""

    cron: str
    time_zone: str
    seconds: int
    """For so long it waits for nodes to be idle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationPlan:
    """The check that the stack file asks for."""

    profile: str
    required: bool
    image: str
    """What its pods run in; empty where none is named."""
    deadline_seconds: int
    max_unavailable_percent: int
    """Of a pool's nodes that take jobs, how many failed checks may close."""
    recurring: RecurringCheck | None
    textfile: str
    """Folder of a node for its node exporter; empty where none is named."""
    pools: tuple[PoolCheck, ...]
    readings: tuple[ReadThreshold, ...] = ()
    """The datasets that nodes read."""
    accepted_thresholds: tuple[AcceptedThreshold, ...] = ()
    """Floors that somebody has lowered; whether one is over, the check itself sees on its day."""

    @property
    def checks(self) -> bool:
        """Whether any node is checked, now or when it comes."""
        return bool(self.image) and any(pool.runs or pool.gate for pool in self.pools)
