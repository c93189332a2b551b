"""Nodes of a pool in a plan: how they are bought, known, filled and wired."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True, kw_only=True)
class Ec2Purchase:
    """A rung on EC2, for node groups and for Karpenter."""

    capacity_type: str
    """Of an EKS node group: ON_DEMAND, SPOT or CAPACITY_BLOCK."""
    karpenter_capacity_type: str
    """`karpenter.sh/capacity-type`: on-demand, spot or reserved."""
    market_type: str | None
    """Of the launch template: spot, capacity-block, or none for on-demand."""
    reservation_preference: str
    """open, none or capacity-reservations-only; only the last uses up a reservation that is targeted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GkePurchase:
    """A rung on GKE: what a node pool is given."""

    spot: bool
    flex_start: bool
    queued: bool
    """All nodes of a job at once, and only through a ProvisioningRequest."""
    reservation_type: str
    """NO_RESERVATION or SPECIFIC_RESERVATION."""
    auto_repair: bool
    """Flex-start nodes cannot be repaired, only had anew."""
    workload_policy: str = ""
    """Type and accelerator topology of the resource policy that a rack's nodes are placed by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityBlock:
    """A capacity block that the platform buys, as somebody agreed to it."""

    hours: int
    starts: date
    usd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityOption:
    """One way to buy nodes of a pool, in the words of its cloud."""

    mode: str
    reservation: str | None
    max_nodes: int
    """The most nodes from this rung."""
    bounded: bool
    """False when only the pool's own maximum bounds it."""
    placement: str
    """cluster (EC2), compact or nvlink (GCE) when the nodes are to stand close together, else none."""
    lifetime: str
    """How long nodes stay at most, in words; empty while they are paid."""
    aws: Ec2Purchase | None = None
    gcp: GkePurchase | None = None
    failback: tuple[str, ...] = ()
    """Where to what runs here is moved once there are nodes again, best first; empty: it stays here."""
    purchase: CapacityBlock | None = None
    """The block of this offer is bought; None: what is named is there already, or nothing is held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradePlan:
    """How nodes are made anew, where a cloud does it."""

    max_unavailable: int | None
    """Nodes out of work at once; None: a tenth of an EKS group."""
    max_surge: int
    """Nodes made before old ones go."""
    blue_green: bool
    drain_minutes: int
    """How long pods have to end."""
    force: bool
    """Whether a pod that is not out in time goes with its node."""
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoscalerHints:
    """What whoever adds nodes can know of one that does not run yet."""

    source: str
    """nobody, cloud, overlay, tags or yours: who tells it."""
    overlay: Mapping[str, int]
    """What a Karpenter NodeOverlay must add to the machine type: resources by name."""
    tags: Mapping[str, str]
    """Tags of the auto-scaling group, from which Cluster Autoscaler learns labels, taints and resources."""
    undiscovered_resources: tuple[str, ...]
    """Resources it learns of only from a node that runs."""

    @property
    def from_zero(self) -> bool:
        """True when every resource is known without a node."""
        return not self.undiscovered_resources


@dataclass(frozen=True, slots=True, kw_only=True)
class DraPlan:
    """GPUs that pods claim."""

    driver: str
    """Version of the DRA driver."""
    device_classes: tuple[str, ...]
    """Classes that claims may name."""
    quota_resource: str
    """What queues count the first of them by."""
    compute_domains: bool
    """Whether NVLink goes through several of these nodes, for pods that claim a channel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclPlan:
    """What pods of several nodes tell NCCL, so that it takes the pool's fabric."""

    fabric: str
    variables: Mapping[str, str]
    script: str
    """A file in the container to source first; empty where none is."""
    needs: str
    """What the image, or the pod, must have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyPlan:
    """How near nodes are, as queues look at it."""

    name: str
    levels: tuple[str, ...]
    """Labels of nodes, the widest first, the node itself last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocatable:
    """What of a node is left for pods, after the system's share."""

    cpu: int
    memory_gib: int
    reserved_cpu: float
    reserved_memory_gib: float
