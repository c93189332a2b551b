"""What a plan says: frozen records of plain values. Everything above renders or registers these."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

from gpuyard.catalogue.machines import Machine
from gpuyard.names import LOCAL_QUEUE
from gpuyard.plan.records.idle import IdlePlan
from gpuyard.plan.records.late import Late
from gpuyard.plan.records.money import Bill, BillLine
from gpuyard.plan.records.nodes import (
    CheckPlan,
    DispatchPlan,
    DraPlan,
    LadderRung,
    NodeRoom,
    ScaleKnowledge,
    TopologyPlan,
)
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.sections import FabricSpec, WarmWindow
from gpuyard.spec.teams import PodSecurity
from gpuyard.spec.values import Range


@dataclass(frozen=True, slots=True)
class Taint:
    """Keeps pods off a node unless they tolerate it."""

    key: str
    value: str
    effect: str = "NoSchedule"

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}"


@dataclass(frozen=True, slots=True)
class Slice:
    """One MIG instance on a GPU: profile and the memory unit it starts at."""

    profile: str
    start: int
    units: int


@dataclass(frozen=True, slots=True)
class GpuLayout:
    """How the GPUs of these indexes are cut, and where the driver will put each slice."""

    gpus: tuple[int, ...]
    counts: Mapping[str, int]
    placement: tuple[Slice, ...]


@dataclass(frozen=True, slots=True)
class Advertised:
    """One extended resource of a node: its name, how many, and what one of them is."""

    resource: str
    per_node: int
    unit: str
    """What a stack file calls it after the pool: "" for whole GPUs, `3g.20gb`, `shared`, `1g.5gb.shared`."""
    gpu_share: Fraction
    """How much of one GPU one of them is, by compute slices or replicas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSoftware:
    """What a pool's nodes boot from, and who brings the GPU software that is not in it."""

    image: str
    """The image's catalogue name."""
    variant: str
    """What the cloud calls it for this architecture; empty for nodes of one's own."""
    driver: str | None
    """None when somebody else chooses it: GKE, or whoever installed the host."""
    owners: Mapping[str, str]
    """By part of the operator (driver, toolkit, devicePlugin, migManager): who brings it."""
    labels: Mapping[str, str]
    """Node labels that go with it: they keep parts of the operator off, or GKE's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorParts:
    """What the GPU Operator is told for all nodes of the cluster."""

    enabled: Mapping[str, bool]
    """By part: driver, toolkit, devicePlugin, migManager."""
    driver: str | None
    """The driver it brings; None when it brings none."""
    settings: Mapping[str, str]
    """Further values of its chart, by path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan:
    """Everything derived from one pool."""

    name: str
    stable_name: str
    machine: Machine
    machines: tuple[str, ...]
    nodes: Range
    start_nodes: int
    """Nodes that are there from the beginning: the floor, or all of them when nothing scales."""
    scaling: str
    capacity: tuple[str, ...]
    """The ladder in words, best first."""
    ladder: tuple[LadderRung, ...]
    """The same, as each cloud is told."""
    zones: tuple[str, ...]
    warm: tuple[WarmWindow, ...]
    """Hours in which nodes are kept; `gpuyard.plan.capacity.warm` sums them."""
    sharing: str
    """none, mig, time-slicing, mps, mig+time-slicing or dra."""
    mig_strategy: str
    """none or mixed; per pool, through the device plugin's configuration."""
    replicas: int
    layouts: tuple[GpuLayout, ...]
    mig_config: str | None
    """Name of the mig-parted configuration, None when GPUs are not cut."""
    plugin_config: str
    """Name of the device-plugin configuration."""
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    advertised: tuple[Advertised, ...]
    node_selector: Mapping[str, str]
    """Labels that tell the pool's nodes: ours, or those of nodes that exist already."""
    scale: ScaleKnowledge
    room: NodeRoom
    numa: str
    """The kubelet's topology policy."""
    topology_levels: tuple[str, ...]
    """Labels that say how near nodes are, the widest first, the node itself last."""
    fabric: FabricSpec | None
    """The network between nodes of your own."""
    dra: DraPlan | None
    """How GPUs are claimed; None where they are counted."""
    node_software: NodeSoftware | None = None
    """None on simulated nodes, which boot from nothing."""
    owners: tuple[str, ...] = ()
    """Teams the pool is dedicated to; empty: everybody's."""
    stop: str = ""
    """hold: no new job starts in it."""
    flavor: str
    """Its name in the queues."""
    topology: TopologyPlan | None = None
    """By which queues place its pods near each other; None: where there is room."""
    provisioning: str | None = None
    """How its autoscaler is asked before a job is admitted: check-capacity, atomic or queued."""
    compute_slices: Advertised | None = None
    """What queues count instead of the slices of each profile; None where they count what nodes advertise."""

    @property
    def counted(self) -> tuple[Advertised, ...]:
        """What guarantees and queues count: what nodes advertise, or compute slices and whole GPUs."""
        if self.compute_slices is None:
            return self.advertised
        return (self.compute_slices, *(a for a in self.advertised if a.unit == ""))

    @property
    def cpu_per_gpu(self) -> int:
        """CPU threads for each GPU, when its pods share the node's evenly."""
        return self.room.cpu // self.machine.gpus

    @property
    def memory_gib_per_gpu(self) -> int:
        """Main memory in GiB for each GPU, shared evenly."""
        return self.room.memory_gib // self.machine.gpus

    @property
    def gpus_per_node(self) -> int:
        """Physical GPUs in one node."""
        return self.machine.gpus

    def unit(self, name: str) -> Advertised | None:
        """The advertised resource a stack file calls by this unit, None when nodes have no such."""
        return next((a for a in self.advertised if a.unit == name), None)

    def counted_unit(self, name: str) -> Advertised | None:
        """The resource that guarantees count by this unit, None when there is no such."""
        return next((a for a in self.counted if a.unit == name), None)

    def key(self, resource: str) -> str:
        """What a stack file calls one of a resource: `train`, `serve/3g.20gb`."""
        unit = next(a.unit for a in (*self.advertised, *self.counted) if a.resource == resource)
        return f"{self.name}/{unit}" if unit else self.name


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
class HostAmount:
    """CPU threads and main memory."""

    cpu: int
    memory_gib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsPlan:
    """What a team may have beside GPUs, all of its pods together, and what one container may have."""

    cpu: int
    memory_gib: int
    storage_gib: int | None
    claims: int | None
    pods: int | None
    container: HostAmount
    """The most for one container: the largest node, or all that the team may have."""
    unsaid: HostAmount
    """What a container asks for that names nothing."""
    said: tuple[str, ...]
    """Which of the words the stack file gives; the others are derived, or without a limit."""


@dataclass(frozen=True, slots=True)
class Egress:
    """A network outside the cluster that pods may send to."""

    cidr: str
    without: tuple[str, ...] = ()
    """Addresses in it that they may not: of the cloud's metadata service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamPlan:
    """Everything derived from one team."""

    name: str
    namespace: str
    cluster_queue: str
    local_queue: str
    """The queue of jobs that name none, called `default`; its first where it has none of that name."""
    groups: tuple[str, ...]
    isolation: str
    weight: float
    quotas: tuple[Quota, ...]
    resource_groups: tuple[ResourceGroup, ...]
    hard: Mapping[str, int]
    """GPUs in the namespace's ResourceQuota: guarantee and borrowing together, by resource."""
    limits: LimitsPlan
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
    stop: str = ""
    """hold or drain, the stronger of the platform's and its own; empty: none."""
    viewers: tuple[str, ...] = ()
    pod_security: PodSecurity = PodSecurity.BASELINE
    name_servers: tuple[str, ...] = ()
    """Networks beside the cluster's own name service that answer for names, on port 53."""
    egress: tuple[Egress, ...] = ()
    """Networks outside the cluster that its pods may send to."""

    @property
    def has_default(self) -> bool:
        """Whether jobs that name no queue get one."""
        return LOCAL_QUEUE in self.queues

    def quota(self, pool: str, resource: str) -> Quota | None:
        """The team's quota of a resource in a pool."""
        return next((q for q in self.quotas if q.pool == pool and q.resource == resource), None)


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
    start_minutes: int
    """How long an admitted job has until all its pods run."""
    usage_half_life_hours: int | None = None
    """Among the queues of a team, who used less goes first; None: whoever came first."""
    dispatch: DispatchPlan | None = None
    """Where jobs are sent; None: they run here, and the pools have nodes."""

    @property
    def unassigned(self) -> tuple[Quota, ...]:
        """What no team is guaranteed; whose queue has the pool may borrow it within its limits."""
        return tuple(q for c in self.cohorts for q in c.quotas)


@dataclass(frozen=True, slots=True)
class ShapePlan:
    """Where a shape can start, and how many nodes that takes."""

    name: str
    pool: str
    resource: str
    per_node: int
    nodes: int
    from_zero: bool
    pods_per_node: int = 1
    """How many such pods one node of the pool holds."""
    bound_by: str = ""
    """CPU or memory, when one of them is used up before the GPUs are."""
    needs: str = ""
    """What the resource was picked for, in words; empty when the shape names it."""
    teams: tuple[str, ...] = ()
    """Who has quota enough for it in that pool; nobody where there are no teams."""
    guaranteed: tuple[str, ...] = ()
    """Of these, whose guarantee alone holds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformPlan:
    """The derived platform."""

    name: str
    cloud: str
    kubernetes: str
    spec: PlatformSpec = field(repr=False)
    cluster_name: str | Late
    system: BillLine | None
    pools: tuple[PoolPlan, ...]
    teams: tuple[TeamPlan, ...]
    queueing: QueueingPlan
    shapes: tuple[ShapePlan, ...]
    bill: Bill
    validation: str
    """What becomes of the hardware check."""
    operator: OperatorParts | None = None
    """What the GPU Operator is told; None on simulated nodes."""
    idle: IdlePlan | None = None
    """What becomes of idle jobs; None when no team asks for it."""
    software: Mapping[str, str] = field(default_factory=dict)
    """The version of every component: the pinned one, or what the stack file picks."""

    def pool(self, name: str) -> PoolPlan:
        """The pool of that name; KeyError names those there are."""
        return _named(self.pools, name)

    def team(self, name: str) -> TeamPlan:
        """The team of that name; KeyError names those there are."""
        return _named(self.teams, name)


_Named = TypeVar("_Named", PoolPlan, TeamPlan)


def _named(items: tuple[_Named, ...], name: str) -> _Named:
    for item in items:
        if item.name == name:
            return item
    raise KeyError(f"{name!r}; there are: {', '.join(i.name for i in items)}")
