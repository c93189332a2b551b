"""Teams: what each is guaranteed, what it may borrow, and how far apart it is kept from others."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_serializer, model_validator

from gpuyard.names import LOCAL_QUEUE
from gpuyard.spec.base import SpecModel
from gpuyard.spec.values import (
    Cidr,
    Count,
    ImagePrefix,
    MemoryGib,
    Name,
    NamespaceName,
    Positive,
    Switch,
    Text,
    Usd,
)

MAX_TEAMS = 1000
MAX_NAMESPACES = 50

Weight = Annotated[float, Field(strict=True, gt=0, le=1000, allow_inf_nan=False)]
Shares = Annotated[dict[Text, Count], Field(max_length=1000)]
"""Amounts by pool: `train` counts whole GPUs, `serve/3g.20gb` slices, `dev/shared` shares."""


def _by_name(queues: dict[str, float]) -> dict[str, float]:
    """That of jobs which name none first: a mapping has no order, and what is made of it has one."""
    return dict(sorted(queues.items(), key=lambda each: (each[0] != LOCAL_QUEUE, each[0])))


class Isolation(StrEnum):
    """The least that must lie between this team's pods and other teams' pods.

    `shared` allows time-sliced and MPS GPUs beside other teams, `slice` at least a MIG slice of its
    own, `node` at least a node of its own.
    """

    SHARED = "shared"
    SLICE = "slice"
    NODE = "node"


class Stop(StrEnum):
    """A brake: `hold` admits nothing new, `drain` also evicts what runs."""

    HOLD = "hold"
    DRAIN = "drain"


class PodSecurity(StrEnum):
    """The Pod Security level of a namespace.

    `restricted` refuses pods that may become root, `baseline` those that reach the node, `privileged` none.
    """

    RESTRICTED = "restricted"
    BASELINE = "baseline"
    PRIVILEGED = "privileged"


class Limits(SpecModel):
    """What a team may have beside GPUs, all of its pods together."""

    cpu: Positive | None = None
    """CPU threads. Default: those of the nodes that its GPUs fill."""
    memory_gib: MemoryGib | None = None
    """Main memory in GiB. Default: that of the nodes that its GPUs fill."""
    storage_gib: MemoryGib | None = None
    """All volumes that it claims, in GiB. Default: 1024, and 100 for each GPU, slice or share."""
    claims: Positive | None = None
    """Volumes that it claims. Default: as many as pods."""
    pods: Positive | None = None
    """Pods, those that wait among them. Default: 100, and 4 for each of its GPUs, slices and shares."""
    objects: Positive | None = None
    """Objects of each kind: jobs, config maps, secrets and so on. Default: 500, and 4 for each GPU."""


class Idle(SpecModel):
    """When a notebook or job that leaves its GPUs idle is warned, and then suspended."""

    after_minutes: Annotated[int, Field(strict=True, ge=5, le=10_080)] = 60
    """Minutes without work on any of its GPUs before it is warned. Default 60."""
    grace_minutes: Annotated[int, Field(strict=True, ge=1, le=10_080)] = 30
    """Minutes from the warning until it is suspended. Default 30."""
    below_percent: Annotated[float, Field(strict=True, ge=0, lt=100, allow_inf_nan=False)] = 5
    """Activity of a GPU, in percent, up to which it counts as idle. Default 5."""
    dry_run: Annotated[bool, Field(strict=True)] = False
    """Only say what would be suspended. Default off."""


class TeamNamespace(SpecModel):
    """A namespace of a team; written `search-dev`, or `{name: search-old, existing: true}`."""

    name: NamespaceName
    """The namespace's name."""
    existing: Switch = False
    """It is there already: it gets what the team's others have, and is never deleted. Default off."""
    percent: Annotated[int, Field(strict=True, ge=1, le=100)] | None = None
    """Its part of the team's `limits`, in percent. Default: an equal part of what others leave."""

    @model_validator(mode="before")
    @classmethod
    def _from_shorthand(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @model_serializer
    def _to_shorthand(self) -> Any:
        fields: dict[str, Any] = {"existing": True} if self.existing else {}
        fields |= {} if self.percent is None else {"percent": self.percent}
        return {"name": self.name, **fields} if fields else self.name


class Team(SpecModel):
    """A group of people with namespaces, a queue, a guarantee and a budget."""

    name: Name
    """The team's name; its namespace and queue are named for it."""
    namespaces: Annotated[tuple[TeamNamespace, ...], Field(max_length=MAX_NAMESPACES)] = ()
    """Where its jobs run, its home first: [search, {name: old, existing: true}]. Default: its name."""
    guarantee: Shares = Field(default_factory=dict)
    """What the team can always have, by pool: {train: 32, serve/3g.20gb: 8, dev/shared: 4}."""
    borrow: Shares = Field(default_factory=dict)
    """What it may take beyond its guarantee while others leave it idle. Default: nothing."""
    lend: Shares | None = None
    """What others may take of its guarantee while it is idle. Default: all of it."""
    cohort: Name | None = None
    """The cohort, of `queueing.cohorts`, that it shares in first. Default: the platform's own."""
    weight: Weight = 1.0
    """Share of borrowed capacity relative to other teams, when they compete for it."""
    isolation: Isolation = Isolation.SHARED
    """The least that separates its pods from other teams': shared, slice or node."""
    priority: Name | None = None
    """The priority, of `priorities`, that its jobs have when they name none. Default: none."""
    queues: Annotated[
        dict[Name, Weight], Field(min_length=1, max_length=20), AfterValidator(_by_name)
    ] = Field(default_factory=lambda: {"default": 1.0})
    """Its queues and their weights, {default: 1, interactive: 2}. Default: one, called default."""
    stop_policy: Stop | None = None
    """hold or drain: a brake for its queues. Default: none."""
    groups: tuple[Text, ...] = ()
    """Identity groups whose members may work in the team's namespace."""
    viewers: tuple[Text, ...] = ()
    """Identity groups whose members may look into the team's namespace."""
    pod_security: PodSecurity = PodSecurity.BASELINE
    """restricted, baseline or privileged. Default baseline: restricted refuses what RDMA needs."""
    limits: Limits = Limits.model_construct()
    """What it may have beside GPUs. Default: CPU and memory of the nodes that its GPUs fill."""
    idle: Idle | None = None
    """Warn, then suspend what leaves its GPUs idle: {after_minutes: 60}. Default: nothing is suspended."""
    budget_usd_per_month: Usd | None = None
    """Compared with the cost of its guarantees at full use. Default: no limit."""
    allowed_images: Annotated[tuple[ImagePrefix, ...], Field(max_length=100)] = ()
    """Registries or repositories its images may come from. Default: what `admission` says."""
    egress_cidrs: Annotated[tuple[Cidr, ...], Field(max_length=100)] = ()
    """Networks its pods may reach outside the cluster. Default: what `admission` says."""
    protect: Switch | None = None
    """Keep its namespace, with volumes and secrets, when the team goes. Default on, simulated off."""
    previous_names: tuple[Name, ...] = ()
    """Earlier names, oldest first: a renamed team keeps its namespace and queue under its first name."""

    @property
    def spaces(self) -> tuple[TeamNamespace, ...]:
        """All its namespaces: those that it names, else the one that is named for it."""
        return self.namespaces or (TeamNamespace(name=self.stable_name),)

    @property
    def stable_name(self) -> str:
        """The name that objects keep through renames."""
        return self.previous_names[0] if self.previous_names else self.name
