"""Pools in a plan: their nodes, how GPUs are shared, and what is advertised."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from gpuyard.catalogue.machines import Machine
from gpuyard.catalogue.sharing import SharingMethod
from gpuyard.plan.records.formatting import displayed
from gpuyard.plan.records.nodes import (
    Allocatable,
    AutoscalerHints,
    CapacityOption,
    DraPlan,
    NcclPlan,
    TopologyPlan,
    UpgradePlan,
)
from gpuyard.spec.pools import Scaling
from gpuyard.spec.sections import (
    DisruptionWindow,
    FabricSpec,
    KeepWarmWindow,
    Numa,
    PoolStopPolicy,
    Provisioning,
)
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
class PoolPlan:
    """Everything derived from one pool."""

    name: str
    stable_name: str
    machine: Machine
    machines: tuple[str, ...]
    nodes: Range
    start_nodes: int
    """Nodes that are there from the beginning: the floor, or all of them when nothing scales."""
    scaling: Scaling
    capacity: tuple[str, ...]
    """The ladder in words, best first."""
    capacity_options: tuple[CapacityOption, ...]
    """The same, as each cloud is told."""
    zones: tuple[str, ...]
    keep_warm: tuple[KeepWarmWindow, ...]
    """Hours in which nodes are kept; `gpuyard.plan.capacity.keep_warm` sums them."""
    disruption_window: DisruptionWindow | None
    """When nodes that are used may be replaced; None where none may."""
    sharing: SharingMethod
    mig_strategy: str
    """none or mixed; per pool, through the device plugin's configuration."""
    replicas: int
    layouts: tuple[GpuLayout, ...]
    mig_config: str | None
    """Name of the mig-parted configuration, which follows the layout; None when GPUs are not cut."""
    plugin_config: str
    """Name of the device-plugin configuration, which follows what is shared."""
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    advertised: tuple[Advertised, ...]
    node_selector: Mapping[str, str]
    """Labels that tell the pool's nodes: ours, or those of nodes that exist already."""
    autoscaler_hints: AutoscalerHints
    allocatable: Allocatable
    numa: Numa
    """The kubelet's topology policy."""
    topology_levels: tuple[str, ...]
    """Labels that say how near nodes are, the widest first, the node itself last."""
    fabric: FabricSpec | None
    """The network between nodes of your own."""
    dra: DraPlan | None
    """How GPUs are claimed; None where they are counted."""
    nccl: NcclPlan | None = None
    """How NCCL takes the fabric; None where nothing is known of one."""
    node_software: NodeSoftware | None = None
    """None on simulated nodes, which boot from nothing."""
    owners: tuple[str, ...] = ()
    """Teams the pool is dedicated to; empty: everybody's."""
    stop_policy: PoolStopPolicy | Literal[""] = ""
    """hold: no new job starts in it; empty: none."""
    flavor: str
    """Its name in the queues."""
    topology: TopologyPlan | None = None
    """By which queues place its pods near each other; None: where there is room."""
    provisioning: Provisioning | None = None
    """How its autoscaler is asked before a job is admitted."""
    compute_class: str = ""
    """By which GKE's autoscaler goes down the ladder; empty where there is none."""
    upgrade: UpgradePlan | None = None
    """How its nodes are made anew; None where no cloud does it."""
    compute_slices: Advertised | None = None
    """What queues count instead of the slices of each profile; None where they count what nodes advertise."""

    @property
    @displayed
    def counted_resources(self) -> tuple[Advertised, ...]:
        """What guarantees and queues count: what nodes advertise, or compute slices and whole GPUs."""
        if self.compute_slices is None:
            return self.advertised
        return (self.compute_slices, *(a for a in self.advertised if a.unit == ""))

    @property
    @displayed
    def cpu_per_gpu(self) -> int:
        """CPU threads for each GPU, when its pods share the node's evenly."""
        return self.allocatable.cpu // self.machine.gpus

    @property
    @displayed
    def memory_gib_per_gpu(self) -> int:
        """Main memory in GiB for each GPU, shared evenly."""
        return self.allocatable.memory_gib // self.machine.gpus

    @property
    @displayed
    def gpus_per_node(self) -> int:
        """Physical GPUs in one node."""
        return self.machine.gpus

    def unit(self, name: str) -> Advertised | None:
        """The advertised resource a stack file calls by this unit, None when nodes have no such."""
        return next((a for a in self.advertised if a.unit == name), None)

    def counted_unit(self, name: str) -> Advertised | None:
        """The resource that guarantees count by this unit, None when there is no such."""
        return next((a for a in self.counted_resources if a.unit == name), None)

    def key(self, resource: str) -> str:
        """What a stack file calls one of a resource: `train`, `serve/3g.20gb`."""
        unit = next(
            a.unit for a in (*self.advertised, *self.counted_resources) if a.resource == resource
        )
        return f"{self.name}/{unit}" if unit else self.name
