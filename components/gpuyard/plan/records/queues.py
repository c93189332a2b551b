"""Queues in a plan: quotas, cohorts, and the settings of all queues."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from gpuyard.plan.records.pools import TopologyPlan
from gpuyard.spec.queueing import PoolChoice, Preemption
from gpuyard.spec.sections import Provisioning
from gpuyard.spec.teams import StopPolicy
from gpuyard_core.displayed import displayed
from gpuyard_core.manifests.pods import Taint


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """One team's quota of one resource in one pool."""

    pool: str
    resource: str
    nominal: int
    borrow: int
    lend: int | None
    """None: the whole guarantee."""


def usable_pools(quotas: Iterable[Quota]) -> list[str]:
    """The pools in which these quotas are above zero, each once."""
    return list(dict.fromkeys(q.pool for q in quotas if q.nominal or q.borrow))


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """Resources that Kueue counts together, and the flavors it tries for them, in order."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PriorityPlan:
    """A priority that jobs can name: a larger value takes precedence."""

    name: str
    value: int


@dataclass(frozen=True, slots=True)
class FlavorPlan:
    """A ResourceFlavor of Kueue: the nodes of one pool."""

    name: str
    node_labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    """Taints of its nodes; Kueue adds the tolerations to the pods that it admits."""
    stopped: bool = False
    """Whether a stop policy keeps every queue from using it."""
    topology: str | None = None
    """The topology by which its pods are placed near each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CohortLimit:
    """Limits of one resource in one pool between a cohort and its parent."""

    pool: str
    resource: str
    borrow: int | None
    """Borrowing limit; None: no limit."""
    lend: int | None
    """Lending limit; None: all that its teams lend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CohortPlan:
    """Queues that borrow from and lend to each other, and the unassigned capacity that all may borrow."""

    name: str
    parent: str | None
    resource_groups: tuple[ResourceGroup, ...]
    quotas: tuple[Quota, ...]
    title: str = ""
    """Its name in the stack file; empty for the platform's own."""
    weight: float = 1.0
    limits: tuple[CohortLimit, ...] = ()
    """One for each resource of which its teams have a quota; empty if the cohort has no limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionCheckPlan:
    """The request to an autoscaler before a job is admitted."""

    name: str
    """Name of the admission check and of its configuration."""
    provisioning: Provisioning
    """The value of `provisioning` in the stack file."""
    provisioning_class: str
    parameters: Mapping[str, str]
    """Parameters of the provisioning class."""
    resources: tuple[str, ...]
    """The request covers pods with one of these resources; empty: all pods."""
    node_label: tuple[str, str] | None
    """A label of the nodes that were created for the job, and the response detail that holds its value."""
    retries: int
    first_wait_seconds: int
    longest_wait_seconds: int


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """A cluster that runs jobs of this platform."""

    name: str
    title: str
    """Its name in Kueue."""
    secret: str
    """The Secret with its kubeconfig; gpuyard does not read its content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiKueuePlan:
    """The worker clusters to which a platform without nodes of its own dispatches its jobs."""

    config: str
    check: str
    """The admission check of every queue."""
    clusters: tuple[WorkerPlan, ...]
    """In the order of the stack file."""
    dispatcher: str
    """The dispatcher: it nominates every cluster at once, or a few more at a time."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the clusters in the stack file."""
        return tuple(worker.name for worker in self.clusters)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueingPlan:
    """The settings of all queues."""

    cohorts: tuple[CohortPlan, ...]
    """The root first, then children with the unassigned capacity of pools that do not fit in one cohort, then
    the cohorts of the stack file, parents first."""
    flavors: tuple[FlavorPlan, ...]
    preemption: Preemption
    fair_sharing: bool
    pool_choice: PoolChoice | None = None
    """The value of the stack file, for all queues; None: `plan.queueing.pool_choice` decides for each queue."""
    priorities: tuple[PriorityPlan, ...] = ()
    """The highest first."""
    stop_policy: StopPolicy | Literal[""] = ""
    """The stop policy of every queue; empty: none."""
    slices_of: Mapping[str, int] = field(default_factory=dict)
    """Compute slices by profile resource, if queues count slices instead of profiles."""
    install: bool = False
    """Whether gpuyard installs Kueue's chart."""
    topologies: tuple[TopologyPlan, ...] = ()
    """The topologies of all flavors."""
    checks: tuple[AdmissionCheckPlan, ...] = ()
    """Requests to autoscalers before jobs are admitted."""
    start_minutes: int
    """Minutes that an admitted job has until all its pods run."""
    usage_half_life_hours: int | None = None
    """Among the queues of a team, the one with less usage is admitted first; None: the oldest job first."""
    dispatch: MultiKueuePlan | None = None
    """The worker clusters that run the jobs; None: they run here, and the pools have nodes."""

    @property
    @displayed
    def unassigned(self) -> tuple[Quota, ...]:
        """Unassigned capacity; teams whose queue has the pool may borrow it within their limits."""
        return tuple(q for c in self.cohorts for q in c.quotas)
