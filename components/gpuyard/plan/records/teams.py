"""Teams in a plan: quotas, limits, namespaces and network access."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gpuyard.plan.records.queues import Quota, ResourceGroup
from gpuyard.spec.teams import Isolation, PodSecurity, StopPolicy
from gpuyard_core.displayed import displayed
from gpuyard_core.names import LOCAL_QUEUE


@dataclass(frozen=True, slots=True)
class CpuAndMemory:
    """CPU threads and main memory."""

    cpu: int
    memory_gib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsPlan:
    """Limits of a team besides GPUs, for all of its pods together, and for one container."""

    cpu: int
    memory_gib: int
    storage_gib: int
    claims: int
    pods: int
    objects: int
    """Objects of each kind that members create."""
    container: CpuAndMemory
    """The maximum of one container: the largest node, or the limits of the team."""
    explicit_fields: tuple[str, ...]
    """The fields that the stack file sets; the others are derived."""


@dataclass(frozen=True, slots=True)
class EgressNetwork:
    """A network outside the cluster to which pods may send."""

    cidr: str
    without: tuple[str, ...] = ()
    """Excluded addresses in it: those of the cloud's metadata service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespacePlan:
    """A namespace of a team."""

    name: str
    existing: bool
    """Whether it existed before: gpuyard adds labels and limits, but neither creates nor deletes it."""
    limits: LimitsPlan
    """Its part of the team's limits; all of them if it is the team's only namespace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamPlan:
    """Everything derived from one team."""

    name: str
    stable_name: str
    """Its first name, which names its queue and is the team label of its namespaces."""
    namespaces: tuple[NamespacePlan, ...]
    """Where its jobs run, the home namespace first."""
    cluster_queue: str
    local_queue: str
    """The queue of jobs that name none: `default`, else the first queue."""
    groups: tuple[str, ...]
    isolation: Isolation
    weight: float
    quotas: tuple[Quota, ...]
    resource_groups: tuple[ResourceGroup, ...]
    hard: Mapping[str, int]
    """GPUs in the ResourceQuota of each namespace: guarantee, borrowing, and waiting pods."""
    limits: LimitsPlan
    """The limits of all its namespaces together."""
    guarantee_usd_per_month: float | None
    """Its part of the maximum cost: the guarantees at full use; None if a price is unknown."""
    expected_usd_per_month: float | None
    """Its part of the expected cost."""
    budget_usd_per_month: float | None
    priority: str | None = None
    """The priority of its jobs that name none."""
    queues: Mapping[str, float] = field(default_factory=lambda: {LOCAL_QUEUE: 1.0})
    """The weights of all its queues, by name."""
    cohort: str = ""
    """The Cohort object of its queue."""
    stop_policy: StopPolicy | Literal[""] = ""
    """The stricter of the platform's stop policy and its own; empty: none."""
    viewers: tuple[str, ...] = ()
    protect: bool = True
    """Whether namespaces that gpuyard created stay when the team is removed."""
    pod_security: PodSecurity = PodSecurity.BASELINE
    name_servers: tuple[str, ...] = ()
    """Networks of DNS servers besides the cluster's own, on port 53."""
    egress: tuple[EgressNetwork, ...] = ()
    """Networks outside the cluster to which its pods may send."""

    @property
    @displayed
    def has_default(self) -> bool:
        """Whether jobs that name no queue get one."""
        return LOCAL_QUEUE in self.queues

    @property
    def default_namespace(self) -> NamespacePlan:
        """The home namespace, for jobs that name no namespace."""
        return self.namespaces[0]

    def namespace_or_default(self, name: str) -> NamespacePlan:
        """Its namespace with that name, else the home namespace."""
        return next(
            (space for space in self.namespaces if space.name == name), self.default_namespace
        )

    def quota(self, pool: str, resource: str) -> Quota | None:
        """The team's quota of a resource in a pool."""
        return next((q for q in self.quotas if q.pool == pool and q.resource == resource), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleTeam:
    """One namespace of a team with idle reclaim."""

    team: str
    label: str
    """The value of the label by which the namespace names its team."""
    namespace: str
    after_minutes: int
    grace_minutes: int
    below_percent: float
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IdlePlan:
    """The program that warns of idle GPUs and suspends workloads, and for which teams."""

    prometheus: str
    """The address of the Prometheus that it queries for GPU use."""
    image: str
    resources: tuple[str, ...]
    """The extended resources of GPUs, slices and shares."""
    paused: bool
    """Whether its CronJob is suspended: pods on simulated nodes run no program."""
    teams: tuple[IdleTeam, ...]
    """One for each namespace."""
