"""Pools in a plan: nodes, GPU sharing and advertised resources."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Literal

from gpuyard.spec.pools import Scaling
from gpuyard.spec.sections import (
    DisruptionWindow,
    FabricSpec,
    KeepWarmWindow,
    Numa,
    PoolStopPolicy,
    Provisioning,
)
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.catalogue.mig_layouts import MigInstance
from gpuyard_core.catalogue.node_pools import Ec2CapacitySettings, GkeCapacitySettings
from gpuyard_core.catalogue.sharing import SharingMethod
from gpuyard_core.displayed import displayed
from gpuyard_core.manifests.pods import Taint
from gpuyard_core.models.values import Range


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityBlock:
    """A capacity block that the platform buys, with the hours, start and price that the stack file accepts."""

    hours: int
    starts: date
    usd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityOption:
    """One capacity option of a pool, with the settings of its cloud."""

    mode: str
    reservation: str | None
    max_nodes: int
    """The maximum number of nodes of this option."""
    bounded: bool
    """False if only the pool's own maximum limits it."""
    placement: str = "none"
    """cluster (EC2), compact or nvlink (GCE) if the nodes are placed close together, else none."""
    lifetime: str = ""
    """The maximum lifetime of nodes, as text; empty if they run as long as they are paid for."""
    aws: Ec2CapacitySettings | None = None
    gcp: GkeCapacitySettings | None = None
    failback: tuple[str, ...] = ()
    """Options to which running work moves once they have nodes again, best first; empty: it stays here."""
    purchase: CapacityBlock | None = None
    """The capacity block to buy; None: the named reservation exists already, or the option has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradePlan:
    """How nodes are replaced in an upgrade, where a cloud does it."""

    max_unavailable: int | None
    """Nodes unavailable at once; None: a tenth of an EKS node group."""
    max_surge: int
    """Nodes created before old ones are deleted."""
    blue_green: bool
    drain_minutes: int
    """Minutes that pods have to end."""
    force: bool
    """Whether a node is replaced although a pod did not end in time."""
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoscalerHints:
    """What an autoscaler can know of a node that does not run yet."""

    source: str
    """Where it gets the information: none, cloud, overlay, tags or own (an autoscaler of your own)."""
    overlay: Mapping[str, int] = field(default_factory=dict)
    """Resources that a Karpenter NodeOverlay must add to the machine type, by name."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Tags of the auto-scaling group, from which Cluster Autoscaler learns labels, taints and resources."""
    undiscovered_resources: tuple[str, ...] = ()
    """Resources that it discovers only from a running node."""

    @property
    def from_zero(self) -> bool:
        """Whether every resource is known without a running node."""
        return not self.undiscovered_resources


@dataclass(frozen=True, slots=True, kw_only=True)
class DraPlan:
    """GPUs that pods request by resource claims."""

    driver: str
    """Version of the DRA driver."""
    device_classes: tuple[str, ...]
    """Classes that claims may name."""
    quota_resource: str
    """The resource by which queues count the first class."""
    compute_domains: bool
    """Whether NVLink spans several of these nodes, for pods that claim a channel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclPlan:
    """NCCL settings of multi-node pods, so that NCCL uses the pool's fabric."""

    fabric: str
    variables: Mapping[str, str]
    script: str
    """A file in the container to source first; empty if there is none."""
    needs: str
    """What the image or the pod must have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyPlan:
    """The topology by which queues place pods."""

    name: str
    levels: tuple[str, ...]
    """Labels of nodes, the widest first, the node itself last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocatable:
    """Resources of a node for pods, without those reserved for the system."""

    cpu: int
    memory_gib: int
    reserved_cpu: float
    reserved_memory_gib: float


@dataclass(frozen=True, slots=True)
class GpuLayout:
    """The MIG layout of the GPUs with these indexes, and where the driver will place each slice."""

    gpus: tuple[int, ...]
    counts: Mapping[str, int]
    placement: tuple[MigInstance, ...]


@dataclass(frozen=True, slots=True)
class AdvertisedResource:
    """One extended resource of a node: its name, its number, and what one unit is."""

    resource: str
    per_node: int
    unit: str
    """Its unit in a stack file: "" for whole GPUs, `3g.20gb`, `shared`, `1g.5gb.shared`."""
    gpu_share: Fraction
    """The part of one GPU that one unit is, by compute slices or replicas."""


AdvertisedResources = tuple[AdvertisedResource, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSoftware:
    """The image of a pool's nodes, and what installs the GPU software that the image lacks."""

    image: str
    """The image's catalogue name."""
    variant: str
    """The cloud's name for it on this architecture; empty for your own nodes."""
    driver: str | None
    """None if gpuyard does not choose it, but GKE or the admin of the host."""
    owners: Mapping[str, str]
    """What installs each component of the operator (driver, toolkit, devicePlugin, migManager)."""
    labels: Mapping[str, str]
    """Node labels of the image: they disable components of the operator, or GKE's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan:
    """Everything derived from one pool."""

    name: str
    stable_name: str
    machine: Machine
    machines: tuple[str, ...]
    nodes: Range
    start_nodes: int
    """Nodes that run from the start: the minimum, or all nodes of a pool that does not scale."""
    scaling: Scaling
    capacity: tuple[str, ...]
    """The capacity options as text, preferred first."""
    capacity_options: tuple[CapacityOption, ...]
    """The capacity options with the settings of the cloud."""
    zones: tuple[str, ...]
    keep_warm: tuple[KeepWarmWindow, ...]
    """Hours in which nodes are kept; `gpuyard.plan.capacity.keep_warm` sums them."""
    disruption_window: DisruptionWindow | None
    """When nodes in use may be replaced; None: never."""
    sharing: SharingMethod
    mig_strategy: str
    """none or mixed, for each pool, set in the device plugin's configuration."""
    replicas: int
    layouts: tuple[GpuLayout, ...]
    mig_config: str | None
    """Name of the mig-parted configuration, which depends on the layout; None without MIG."""
    plugin_config: str
    """Name of the device-plugin configuration, which depends on the sharing mode."""
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    advertised: tuple[AdvertisedResource, ...]
    node_selector: Mapping[str, str]
    """Labels that select the pool's nodes: gpuyard's, or those of `select` for existing nodes."""
    autoscaler_hints: AutoscalerHints
    allocatable: Allocatable
    numa: Numa
    """The kubelet's topology policy."""
    topology_levels: tuple[str, ...]
    """Labels that describe the location of nodes, the widest first, the node itself last."""
    fabric: FabricSpec | None
    """The network between your own nodes."""
    dra: DraPlan | None
    """Resource claims; None if the pool uses extended resources."""
    nccl: NcclPlan | None = None
    """NCCL settings for the fabric; None if no fabric is known."""
    node_software: NodeSoftware | None = None
    """None on simulated nodes, which have no image."""
    owners: tuple[str, ...] = ()
    """Teams to which the pool is dedicated; empty: all teams."""
    stop_policy: PoolStopPolicy | Literal[""] = ""
    """hold: no new job starts in the pool; empty: no stop policy."""
    flavor: str
    """The name of its ResourceFlavor."""
    topology: TopologyPlan | None = None
    """The topology by which queues place its pods; None: on any node with free resources."""
    provisioning: Provisioning | None = None
    """How nodes are requested from its autoscaler before a job is admitted."""
    compute_class: str = ""
    """The GKE ComputeClass with its capacity options; empty if it has none."""
    upgrade: UpgradePlan | None = None
    """How its nodes are replaced in an upgrade; None where no cloud does it."""
    compute_slices: AdvertisedResource | None = None
    """The resource that queues count instead of each profile; None if they count advertised resources."""

    @property
    @displayed
    def counted_resources(self) -> tuple[AdvertisedResource, ...]:
        """The resources that guarantees and queues count: advertised ones, or compute slices and whole GPUs."""
        if self.compute_slices is None:
            return self.advertised
        return (self.compute_slices, *(a for a in self.advertised if a.unit == ""))

    @property
    @displayed
    def cpu_per_gpu(self) -> int:
        """CPU threads for each GPU, if pods share those of the node evenly."""
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

    def find_advertised_resource(self, name: str) -> AdvertisedResource | None:
        """The advertised resource with this unit; None if nodes have none."""
        return next((a for a in self.advertised if a.unit == name), None)

    def find_counted_resource(self, name: str) -> AdvertisedResource | None:
        """The counted resource with this unit; None if there is none."""
        return next((a for a in self.counted_resources if a.unit == name), None)

    def stack_file_key(self, resource: str) -> str:
        """The key of a resource in a stack file: `train`, `serve/3g.20gb`."""
        unit = next(
            a.unit for a in (*self.advertised, *self.counted_resources) if a.resource == resource
        )
        return f"{self.name}/{unit}" if unit else self.name
