"""Teams: guarantees, borrowing limits, and isolation from other teams."""

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field

from gpuyard_core.models.values import (
    Cidr,
    Count,
    ImagePrefix,
    MemoryGib,
    Name,
    NamedModel,
    NamespaceName,
    Positive,
    SpecModel,
    Switch,
    Text,
    Usd,
)
from gpuyard_core.names import LOCAL_QUEUE

MAX_TEAMS = 1000
MAX_NAMESPACES = 50

Weight = Annotated[float, Field(strict=True, gt=0, le=1000, allow_inf_nan=False)]
Shares = Annotated[dict[Text, Count], Field(max_length=1000)]
"""Amounts by pool: `train` counts whole GPUs, `serve/3g.20gb` slices, `dev/shared` shares."""


def _by_name(queues: dict[str, float]) -> dict[str, float]:
    """The default queue first, the others by name: mappings have no order, rendered objects do."""
    return dict(sorted(queues.items(), key=lambda each: (each[0] != LOCAL_QUEUE, each[0])))


class Isolation(StrEnum):
    """Minimum isolation between this team's pods and those of other teams.

    `shared` allows GPUs that teams share by time-slicing or MPS, `slice` requires at least a dedicated
    MIG slice, `node` at least a dedicated node.
    """

    SHARED = "shared"
    SLICE = "slice"
    NODE = "node"


class StopPolicy(StrEnum):
    """Stop policy: `hold` admits no new jobs, `drain` also evicts running jobs."""

    HOLD = "hold"
    DRAIN = "drain"


class PodSecurity(StrEnum):
    """The Pod Security level of a namespace.

    `restricted` rejects pods that may run as root, `baseline` rejects pods with access to the node,
    `privileged` rejects none.
    """

    RESTRICTED = "restricted"
    BASELINE = "baseline"
    PRIVILEGED = "privileged"


class Limits(SpecModel):
    """Limits of a team besides GPUs, for all its pods together (ResourceQuota)."""

    cpu: Positive | None = None
    """Maximum CPU threads of all pods. Default: those of the nodes that the team's GPUs fill."""
    memory_gib: MemoryGib | None = None
    """Maximum main memory of all pods in GiB. Default: that of the nodes that the team's GPUs fill."""
    storage_gib: MemoryGib | None = None
    """Maximum size of all PersistentVolumeClaims together in GiB. Default: 1024, plus 100 for each GPU,
    slice or share."""
    claims: Positive | None = None
    """Maximum number of PersistentVolumeClaims. Default: the same as pods."""
    pods: Positive | None = None
    """Maximum number of pods, pending ones included. Default: 100, plus 4 for each GPU, slice or share."""
    objects: Positive | None = None
    """Maximum number of objects of each kind: jobs, ConfigMaps, Secrets and so on. Default: 500, plus 4
    for each GPU."""


class Idle(SpecModel):
    """When a notebook or job with idle GPUs is warned about, and then suspended."""

    after_minutes: Annotated[int, Field(strict=True, ge=5, le=10_080)] = 60
    """Minutes of idle GPUs after which a warning is set. Default: 60."""
    grace_minutes: Annotated[int, Field(strict=True, ge=1, le=10_080)] = 30
    """Minutes from the warning to the suspension. Default: 30."""
    below_percent: Annotated[float, Field(strict=True, ge=0, lt=100, allow_inf_nan=False)] = 5
    """GPU activity, in percent, up to which a GPU counts as idle. Default: 5."""
    dry_run: Annotated[bool, Field(strict=True)] = False
    """Whether to report suspensions without carrying them out. Default: off."""


class TeamNamespace(NamedModel):
    """A namespace of a team; written `search-dev`, or `{name: search-old, existing: true}`."""

    name: NamespaceName
    """Name of the namespace."""
    existing: Switch = False
    """Whether the namespace already exists; gpuyard configures it like the team's others and never
    deletes it. Default: off."""
    percent: Annotated[int, Field(strict=True, ge=1, le=100)] | None = None
    """Percentage of the team's `limits` for this namespace. Default: an equal share of what the others
    leave."""


class Team(SpecModel):
    """A group of users with namespaces, queues, a guarantee and a budget."""

    name: Name
    """Name of the team; its namespace and queue are named after it."""
    namespaces: Annotated[tuple[TeamNamespace, ...], Field(max_length=MAX_NAMESPACES)] = ()
    """Namespaces of the team, its home namespace first: [search, {name: old, existing: true}].
    Default: one with the name of the team."""
    guarantee: Shares = Field(default_factory=dict)
    """Guaranteed capacity by pool (nominal quota): {train: 32, serve/3g.20gb: 8, dev/shared: 4}.
    Default: none."""
    borrow: Shares = Field(default_factory=dict)
    """Borrowing limit beyond the guarantee, by pool, while others leave theirs idle. Default: nothing."""
    lend: Shares | None = None
    """Lending limit: how much of an idle guarantee others may use, by pool. Default: all of it."""
    cohort: Name | None = None
    """Cohort of `queueing.cohorts` in which the team shares first. Default: the platform's root cohort."""
    weight: Weight = 1.0
    """Share of borrowed capacity relative to competing teams. Default: 1."""
    isolation: Isolation = Isolation.SHARED
    """Minimum isolation of its pods from those of other teams: shared, slice or node. Default: shared."""
    priority: Name | None = None
    """Priority of `priorities` for jobs that set none. Default: none."""
    queues: Annotated[
        dict[Name, Weight], Field(min_length=1, max_length=20), AfterValidator(_by_name)
    ] = Field(default_factory=lambda: {"default": 1.0})
    """Queues of the team and their weights: {default: 1, interactive: 2}. Default: one queue named
    default."""
    stop_policy: StopPolicy | None = None
    """Stop policy of the team's queues: hold or drain. Default: none."""
    groups: tuple[Text, ...] = ()
    """Identity groups whose members may create workloads in the team's namespaces. Default: none."""
    viewers: tuple[Text, ...] = ()
    """Identity groups whose members may read the team's namespaces. Default: none."""
    pod_security: PodSecurity = PodSecurity.BASELINE
    """Pod Security level of the namespaces: restricted, baseline or privileged.
    Default: baseline, because restricted rejects pods that use RDMA."""
    limits: Limits = Limits.model_construct()
    """Limits besides GPUs. Default: CPU and memory of the nodes that the team's GPUs fill."""
    idle: Idle | None = None
    """Suspension of jobs and notebooks with idle GPUs, after a warning: {after_minutes: 60}.
    Default: none; nothing is suspended."""
    budget_usd_per_month: Usd | None = None
    """Monthly budget in US dollars, compared with the cost of the guarantees at full use. Default: no
    limit."""
    allowed_images: Annotated[tuple[ImagePrefix, ...], Field(max_length=100)] = ()
    """Registries or repositories that the team's images may come from. Default: those in `admission`."""
    egress_cidrs: Annotated[tuple[Cidr, ...], Field(max_length=100)] = ()
    """Networks outside the cluster that the team's pods may reach. Default: those in `admission`."""
    protect: Switch | None = None
    """Whether its namespaces, with volumes and secrets, are kept when the team is removed.
    Default: on; off on simulated platforms."""
    previous_names: tuple[Name, ...] = ()
    """Earlier names, oldest first; a renamed team keeps its namespace and queue under its first name.
    Default: none."""

    @property
    def spaces(self) -> tuple[TeamNamespace, ...]:
        """All its namespaces: those in `namespaces`, otherwise the one named after the team."""
        return self.namespaces or (TeamNamespace(name=self.stable_name),)

    @property
    def stable_name(self) -> str:
        """The name that objects keep when the team is renamed."""
        return self.previous_names[0] if self.previous_names else self.name
