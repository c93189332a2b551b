"""What a plan says of queues: quotas, the cohorts that share them, and what all queues have in common."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gpuyard.plan.queueing.kueue import START_MINUTES
from gpuyard.plan.records.nodes import CheckPlan, DispatchPlan, TopologyPlan
from gpuyard.plan.records.pools import Taint


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """One team's quota of one resource in one pool."""

    pool: str
    resource: str
    nominal: int
    borrow: int
    lend: int | None
    """None: all of it."""


def within_reach(quotas: Iterable[Quota]) -> list[str]:
    """The pools of which these quotas can give anything, each once."""
    return list(dict.fromkeys(q.pool for q in quotas if q.nominal or q.borrow))


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """Resources that Kueue counts together, and the flavors it tries for them, in order."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PriorityPlan:
    """A priority that jobs can name: a larger value goes first."""

    name: str
    value: int


@dataclass(frozen=True, slots=True)
class FlavorPlan:
    """A kind of node a queue can hand out: one pool."""

    name: str
    node_labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    """What its nodes have, and what queues tolerate for the pods they admit."""
    stopped: bool = False
    """True when no queue may hand it out now."""
    topology: str | None = None
    """By which its pods are placed near each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CohortLimit:
    """How much of one resource in one pool passes between a cohort and the one above."""

    pool: str
    resource: str
    borrow: int | None
    """From above; None: as much as there is."""
    lend: int | None
    """To above; None: all that its teams lend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CohortPlan:
    """Queues that lend to each other, and what belongs to all of them: capacity no team is guaranteed."""

    name: str
    parent: str | None
    resource_groups: tuple[ResourceGroup, ...]
    quotas: tuple[Quota, ...]
    title: str = ""
    """What the stack file calls it; empty for the platform's own."""
    weight: float = 1.0
    limits: tuple[CohortLimit, ...] = ()
    """One for each resource that its teams have a quota of; none when it has no limit at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueingPlan:
    """What every queue has in common."""

    cohorts: tuple[CohortPlan, ...]
    """The root first; children hold unassigned capacity of pools beyond what one cohort can list. After
    them those of the stack file, parents first."""
    flavors: tuple[FlavorPlan, ...]
    preemption: str
    fair_sharing: bool
    priorities: tuple[PriorityPlan, ...] = ()
    """The highest first."""
    stop: str = ""
    """hold or drain, for every queue; empty: none."""
    slices_of: Mapping[str, int] = field(default_factory=dict)
    """Compute slices by profile resource, where queues count those instead of profiles."""
    install: bool = False
    """Whether Kueue's own chart is part of the platform."""
    topologies: tuple[TopologyPlan, ...] = ()
    """Of all flavors."""
    checks: tuple[CheckPlan, ...] = ()
    """What is asked of autoscalers."""
    start_minutes: int = START_MINUTES
    """How long an admitted job has until all its pods run."""
    usage_half_life_hours: int | None = None
    """Among the queues of a team, who used less goes first; None: whoever came first."""
    dispatch: DispatchPlan | None = None
    """Where jobs are sent; None: they run here, and the pools have nodes."""

    @property
    def unassigned(self) -> tuple[Quota, ...]:
        """What no team is guaranteed; whose queue has the pool may borrow it within its limits."""
        return tuple(q for c in self.cohorts for q in c.quotas)
