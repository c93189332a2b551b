"""Nodes of a pool in a plan: capacity options, autoscaler hints, allocatable resources and networks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from gpuyard_core.catalogue.node_pools import Ec2CapacitySettings, GkeCapacitySettings


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
