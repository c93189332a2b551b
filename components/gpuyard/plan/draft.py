"""What is decided so far of a platform: handed from stage to stage, and read by every check.

A stage takes a draft and returns it with more decided; a check reads the last one and says what is wrong.
It stands below all subjects, so it holds records only, and nothing that would make one subject know another.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date

from gpuyard.catalogue.machines import Machine
from gpuyard.plan.records import (
    Bill,
    IdlePlan,
    InterruptionPlan,
    LimitsPlan,
    PoolPlan,
    QueueingPlan,
    Quota,
    ShapePlan,
    StoragePlan,
    TeamPlan,
    Total,
    ValidationPlan,
)
from gpuyard.plan.records.storage import NO_STORAGE
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.queueing import Preemption
from gpuyard.spec.region import Region

DecidedAmounts = Mapping[tuple[str, str], int]
"""By pool and resource."""
TeamQuotas = Mapping[int, tuple[Quota, ...]]
"""By team index: what it is guaranteed, may borrow and lends."""

_UNBILLED = Bill(
    lines=(),
    commitments=(),
    shares=(),
    floor=Total(),
    expected=Total(),
    worst=Total(),
    utilisation_percent=0.0,
    simulated=False,
)
_UNQUEUED = QueueingPlan(
    cohorts=(), flavors=(), preemption=Preemption.NEVER, fair_sharing=False, start_minutes=0
)


def _nothing(_team: int, _quota: Quota) -> int:
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CohortDraft:
    """Where a cohort of the stack file stands, and what may pass through it."""

    index: int
    """Its place in the stack file."""
    parent: int | None
    """The place of the cohort above; None below the platform's own."""
    borrow: Mapping[tuple[str, str], int | None]
    """The most that it borrows, by pool and resource; None: all there is."""
    lend: Mapping[tuple[str, str], int | None]
    """The most that it lends."""
    used: frozenset[tuple[str, str]]
    """Every pool and resource that its teams, and those of the cohorts below, have a quota of."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A platform in the making. What no stage has decided yet is empty."""

    spec: PlatformSpec
    """What was asked for."""
    today: date | None = None
    """The day, by which support and exceptions end; None where no calendar is known."""
    invalid_fields: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """By index of a pool that was read in part: the fields that were lost. Such a pool never stands."""
    region: Region | None = None
    """Where the platform is; None where nobody says it."""
    system: Machine | None = None
    """The machine of the system nodes; None without such nodes, and where it is refused."""
    pools: dict[str, PoolPlan | None] = field(default_factory=dict)
    """By name; None where nobody can say what its nodes have, so that nothing else blames the pool."""
    quotas: TeamQuotas = field(default_factory=dict)
    """What each team is guaranteed, may borrow and lends."""
    spare: DecidedAmounts = field(default_factory=dict)
    """What no team is guaranteed."""
    are_quotas_resolved: bool = True
    """False when a claim means something that no quota counts: a misspelt pool or unit."""
    room_to_borrow: Callable[[int, Quota], int] = _nothing
    """What the team of a quota could borrow beyond what it may, with everybody else idle."""
    cohorts: tuple[CohortDraft, ...] = ()
    """The cohorts of the stack file, parents first."""
    shapes: tuple[ShapePlan, ...] = ()
    """Every shape that can start, with the teams that can start it."""
    blocked_teams: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By shape: teams that have the GPUs for it, and whose own limits do not hold the rest of it."""
    limits: Mapping[int, LimitsPlan] = field(default_factory=dict)
    """By team index: what it may have beside GPUs."""
    bill: Bill = _UNBILLED
    """What an hour costs."""
    teams: tuple[TeamPlan, ...] = ()
    """Namespace, queue and quota of each team."""
    queueing: QueueingPlan = _UNQUEUED
    """Flavors, cohorts and priorities."""
    storage: StoragePlan = NO_STORAGE
    """Data and checkpoints, as far as they are understood."""
    idle: IdlePlan | None = None
    """What becomes of idle jobs; None when no team asks for it."""
    interruption: InterruptionPlan | None = None
    """What becomes of gangs whose nodes go; None where none do."""
    validation: ValidationPlan | None = None
    """What becomes of the hardware check; None when none is asked for."""

    @property
    def valid_pools(self) -> dict[str, PoolPlan]:
        """The pools that stand, by name."""
        return {name: pool for name, pool in self.pools.items() if pool is not None}

    @property
    def all_pools_valid(self) -> bool:
        """Whether all pools stand: what one that does not would have used is not known."""
        return None not in self.pools.values()
