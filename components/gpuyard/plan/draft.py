"""The draft of a platform's plan: passed from stage to stage and read by every check.

A stage takes a draft and returns it with more fields set; a check reads the last one and reports
findings. All subjects import this module, so it holds records only and imports no subject.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date

from gpuyard.plan.records import (
    Bill,
    IdlePlan,
    InterruptionPlan,
    LimitsPlan,
    ObservabilityPlan,
    Placement,
    PoolPlan,
    QueueingPlan,
    Quota,
    RuntimePlan,
    ServicePlan,
    ShapePlan,
    StoragePlan,
    TeamPlan,
    Total,
    ValidationPlan,
)
from gpuyard.plan.records.storage import NO_STORAGE
from gpuyard.provider import Provider, provider_of
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.queueing import Preemption
from gpuyard.spec.region import Region
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.findings import Path

DecidedAmounts = Mapping[tuple[str, str], int]
"""By pool and resource."""
TeamQuotas = Mapping[int, tuple[Quota, ...]]
"""By team index: its guarantees, and what it may borrow and lends."""

_UNBILLED = Bill(
    lines=(),
    commitments=(),
    shares=(),
    minimum=Total(),
    expected=Total(),
    maximum=Total(),
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
    """A cohort of the stack file: its parent and its limits."""

    index: int
    """Its index in the stack file."""
    parent: int | None
    """The index of the parent cohort; None directly below the platform's root cohort."""
    borrow: Mapping[tuple[str, str], int | None]
    """The maximum that it borrows, by pool and resource; None: no limit."""
    lend: Mapping[tuple[str, str], int | None]
    """The maximum that it lends."""
    used: frozenset[tuple[str, str]]
    """Every pool and resource of which its teams, or teams of cohorts below it, have a quota."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan in progress. Fields that no stage has set yet are empty."""

    spec: PlatformSpec
    """The typed content of the stack file."""
    today: date | None = None
    """The date for checks of support and of exceptions; None: they are not checked."""
    invalid_fields: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """By index of a pool that was read in part: the unread fields. Such a pool is invalid."""
    region: Region | None = None
    """The region of the platform; None if it is unknown."""
    system: Machine | None = None
    """The machine of the system nodes; None without such nodes, or if the machine is rejected."""
    pools: dict[str, PoolPlan | None] = field(default_factory=dict)
    """By name; None for an invalid pool, so that other checks skip it."""
    quotas: TeamQuotas = field(default_factory=dict)
    """What each team is guaranteed, may borrow and lends, by team index."""
    spare: DecidedAmounts = field(default_factory=dict)
    """Unassigned capacity: what no team is guaranteed."""
    are_quotas_resolved: bool = True
    """False when a guarantee or limit names an unknown pool or unit, so that no quota counts it."""
    borrowable_beyond_limit: Callable[[int, Quota], int] = _nothing
    """How much more than its limit the team of a quota could borrow if all others were idle."""
    cohorts: tuple[CohortDraft, ...] = ()
    """The cohorts of the stack file, parents first."""
    shapes: tuple[ShapePlan, ...] = ()
    """Every shape that can start, with the teams that can start it."""
    blocked_teams: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By shape: teams that have its GPUs, but whose limits are too low for its other resources."""
    limits: Mapping[int, LimitsPlan] = field(default_factory=dict)
    """By team index: its limits besides GPUs."""
    bill: Bill = _UNBILLED
    """The hourly cost."""
    teams: tuple[TeamPlan, ...] = ()
    """Namespace, queue and quota of each team."""
    queueing: QueueingPlan = _UNQUEUED
    """Flavors, cohorts and priorities."""
    storage: StoragePlan = NO_STORAGE
    """Datasets and checkpoints."""
    services: tuple[ServicePlan, ...] = ()
    """Inference services whose team and shapes exist."""
    placements: Mapping[Path, Placement] = field(default_factory=dict)
    """The pool of each group of replicas, by its path in the stack file."""
    idle: IdlePlan | None = None
    """How idle jobs are handled; None when no team requests it."""
    interruption: InterruptionPlan | None = None
    """How gangs are handled whose nodes are interrupted; None when no node can be."""
    observability: ObservabilityPlan | None = None
    """Prometheus and its alerts; None without `observability`."""
    runtimes: tuple[RuntimePlan, ...] = ()
    """Training runtimes."""
    validation: ValidationPlan | None = None
    """The hardware validation; None when it is not requested."""

    @property
    def provider(self) -> Provider:
        """The provider of its cloud."""
        return provider_of(self.spec.cloud)

    @property
    def valid_pools(self) -> dict[str, PoolPlan]:
        """The valid pools, by name."""
        return {name: pool for name, pool in self.pools.items() if pool is not None}

    @property
    def all_pools_valid(self) -> bool:
        """Whether every pool is valid: what an invalid one would use is unknown."""
        return None not in self.pools.values()
