"""Teams in a plan: what each may have, where it is, and whom it may reach."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gpuyard.names import LOCAL_QUEUE
from gpuyard.plan.records.formatting import displayed
from gpuyard.plan.records.queues import Quota, ResourceGroup
from gpuyard.spec.teams import Isolation, PodSecurity, Stop


@dataclass(frozen=True, slots=True)
class HostAmount:
    """CPU threads and main memory."""

    cpu: int
    memory_gib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsPlan:
    """What a team may have beside GPUs, all of its pods together, and what one container may have."""

    cpu: int
    memory_gib: int
    storage_gib: int
    claims: int
    pods: int
    objects: int
    """Of each kind that members make."""
    container: HostAmount
    """The most for one container: the largest node, or all that the team may have."""
    explicit_fields: tuple[str, ...]
    """Which of the words the stack file gives; the others are derived."""


@dataclass(frozen=True, slots=True)
class Egress:
    """A network outside the cluster that pods may send to."""

    cidr: str
    without: tuple[str, ...] = ()
    """Addresses in it that they may not: of the cloud's metadata service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespacePlan:
    """A namespace of a team."""

    name: str
    existing: bool
    """Whether it was there before: it gets our labels and limits, and is neither made nor deleted by us."""
    limits: LimitsPlan
    """Its part of the team's limits; all of them where the team has no other namespace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamPlan:
    """Everything derived from one team."""

    name: str
    stable_name: str
    """Its first name: what its queue is called, and what its namespaces say whose they are."""
    namespaces: tuple[NamespacePlan, ...]
    """Where its jobs run, its home first."""
    cluster_queue: str
    local_queue: str
    """The queue of jobs that name none, called `default`; its first where it has none of that name."""
    groups: tuple[str, ...]
    isolation: Isolation
    weight: float
    quotas: tuple[Quota, ...]
    resource_groups: tuple[ResourceGroup, ...]
    hard: Mapping[str, int]
    """GPUs in the ResourceQuota of each namespace: guarantee, borrowing, and what waits as pods."""
    limits: LimitsPlan
    """Of all its namespaces together."""
    guarantee_usd_per_month: float | None
    """Its part of the worst bill: the guarantees at full use; None when a price is unknown."""
    expected_usd_per_month: float | None
    """Its part of the expected bill."""
    budget_usd_per_month: float | None
    priority: str | None = None
    """What its jobs have when they name none."""
    queues: Mapping[str, float] = field(default_factory=lambda: {LOCAL_QUEUE: 1.0})
    """All its queues, by name, and their weights."""
    cohort: str = ""
    """The object of the cohort its queue is in."""
    stop_policy: Stop | Literal[""] = ""
    """The stronger of the platform's and its own; empty: none."""
    viewers: tuple[str, ...] = ()
    protect: bool = True
    """Whether the namespaces that we made stay when the team goes."""
    pod_security: PodSecurity = PodSecurity.BASELINE
    name_servers: tuple[str, ...] = ()
    """Networks beside the cluster's own name service that answer for names, on port 53."""
    egress: tuple[Egress, ...] = ()
    """Networks outside the cluster that its pods may send to."""

    @property
    @displayed
    def has_default(self) -> bool:
        """Whether jobs that name no queue get one."""
        return LOCAL_QUEUE in self.queues

    @property
    def default_namespace(self) -> NamespacePlan:
        """Where its jobs are that name no namespace."""
        return self.namespaces[0]

    def space(self, name: str) -> NamespacePlan:
        """Its namespace of that name; its home for what is in none of them."""
        return next(
            (space for space in self.namespaces if space.name == name), self.default_namespace
        )

    def quota(self, pool: str, resource: str) -> Quota | None:
        """The team's quota of a resource in a pool."""
        return next((q for q in self.quotas if q.pool == pool and q.resource == resource), None)
