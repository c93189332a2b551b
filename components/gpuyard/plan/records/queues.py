"""Queues in a plan: quotas, the cohorts that share them, and what all queues have in common."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from gpuyard.plan.records.formatting import displayed
from gpuyard.plan.records.nodes import TopologyPlan
from gpuyard.plan.records.pools import Taint
from gpuyard.spec.queueing import PoolChoice, Preemption
from gpuyard.spec.sections import Provisioning
from gpuyard.spec.teams import Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """One team's quota of one resource in one pool."""

    pool: str
    resource: str
    nominal: int
    borrow: int
    lend: int | None
    """None: all of it."""


def usable_pools(quotas: Iterable[Quota]) -> list[str]:
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
class CheckPlan:
    """What an autoscaler is asked before a job is admitted."""

    name: str
    """Of the admission check, and of its configuration."""
    provisioning: Provisioning
    """What the stack file calls it."""
    provisioning_class: str
    parameters: Mapping[str, str]
    """What the class is told."""
    resources: tuple[str, ...]
    """Pods that ask for one of these are what is asked about; none: all pods."""
    node_label: tuple[str, str] | None
    """A label that the nodes get which were made for the job, and the answer's detail that says its value."""
    retries: int
    first_wait_seconds: int
    longest_wait_seconds: int


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """A cluster that runs jobs of this platform."""

    name: str
    title: str
    """What Kueue calls it."""
    secret: str
    """What leads there; its content is known to nobody here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchPlan:
    """Where a platform sends its jobs that runs none itself."""

    config: str
    check: str
    """The admission check of every queue."""
    clusters: tuple[WorkerPlan, ...]
    """In the order of the stack file."""
    dispatcher: str
    """Who is asked first: every cluster, or a few more at a time."""

    @property
    def names(self) -> tuple[str, ...]:
        """As the stack file calls them."""
        return tuple(worker.name for worker in self.clusters)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueingPlan:
    """What every queue has in common."""

    cohorts: tuple[CohortPlan, ...]
    """The root first; children hold unassigned capacity of pools beyond what one cohort can list. After
    them those of the stack file, parents first."""
    flavors: tuple[FlavorPlan, ...]
    preemption: Preemption
    fair_sharing: bool
    pool_choice: PoolChoice | None = None
    """As the stack file says it, for all queues; None: `plan.queueing.pool_choice` says it for each."""
    priorities: tuple[PriorityPlan, ...] = ()
    """The highest first."""
    stop_policy: Stop | Literal[""] = ""
    """For every queue; empty: none."""
    slices_of: Mapping[str, int] = field(default_factory=dict)
    """Compute slices by profile resource, where queues count those instead of profiles."""
    install: bool = False
    """Whether Kueue's own chart is part of the platform."""
    topologies: tuple[TopologyPlan, ...] = ()
    """Of all flavors."""
    checks: tuple[CheckPlan, ...] = ()
    """What is asked of autoscalers."""
    start_minutes: int
    """How long an admitted job has until all its pods run."""
    usage_half_life_hours: int | None = None
    """Among the queues of a team, who used less goes first; None: whoever came first."""
    dispatch: DispatchPlan | None = None
    """Where jobs are sent; None: they run here, and the pools have nodes."""

    @property
    @displayed
    def unassigned(self) -> tuple[Quota, ...]:
        """What no team is guaranteed; whose queue has the pool may borrow it within its limits."""
        return tuple(q for c in self.cohorts for q in c.quotas)
