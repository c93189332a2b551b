"""Node pools of the clouds: settings of each capacity type, added taints, and placement.

Sources: `node-pools.arm-taint`, `node-pools.queued-taint`, `node-pools.workload-policy`,
`node-pools.gke-racks`, `node-pools.compact`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from gpuyard_core.catalogue.machines import Capacity, Machine
from gpuyard_core.names import ARCH_LABEL

QUEUED_TAINT = ("cloud.google.com/gke-queued", "true")

ACCELERATOR_LABEL = "k8s.amazonaws.com/accelerator"
"""With this label, Cluster Autoscaler on EC2 treats a node as unready until its device plugin advertises GPUs.
Without it, the autoscaler starts more nodes for the same pods while the first one starts (node-pools.accelerator)."""


@dataclass(frozen=True, slots=True)
class Ec2CapacitySettings:
    """The settings of one capacity type for EKS, Karpenter and launch templates."""

    capacity_type: str
    """Of an EKS node group: ON_DEMAND, SPOT or CAPACITY_BLOCK."""
    karpenter_capacity_type: str
    """`karpenter.sh/capacity-type`: on-demand, spot or reserved."""
    market_type: str | None
    """Of the launch template: spot, capacity-block, or none for on-demand."""
    reservation_preference: str
    """open, none or capacity-reservations-only; only the last uses a targeted reservation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GkeCapacitySettings:
    """The settings of one capacity type for a GKE node pool."""

    spot: bool
    flex_start: bool
    queued: bool = False
    """All nodes of a job at once, and only through a ProvisioningRequest."""
    reservation_type: str
    """NO_RESERVATION or SPECIFIC_RESERVATION."""
    auto_repair: bool
    """Flex-start nodes cannot be repaired, only replaced."""
    workload_policy: str = ""
    """Type and accelerator topology of the resource policy that places the nodes of a rack."""


@dataclass(frozen=True, slots=True)
class WorkloadPolicy:
    """A resource policy that keeps nodes in one NVLink domain."""

    type: str
    accelerator_topology: str


_EC2_SETTINGS: Mapping[Capacity, Ec2CapacitySettings] = {
    mode: Ec2CapacitySettings(*words)
    for mode, *words in (
        (Capacity.RESERVED, "ON_DEMAND", "reserved", None, "capacity-reservations-only"),
        (
            Capacity.BLOCK,
            "CAPACITY_BLOCK",
            "reserved",
            "capacity-block",
            "capacity-reservations-only",
        ),
        (Capacity.FLEX_START, "ON_DEMAND", "on-demand", None, "open"),
        (Capacity.SPOT, "SPOT", "spot", "spot", "none"),
        (Capacity.ON_DEMAND, "ON_DEMAND", "on-demand", None, "open"),
    )
}


def ec2_capacity_settings(mode: Capacity) -> Ec2CapacitySettings:
    """The settings of this capacity type on EC2 (node-pools.ec2-purchases)."""
    return _EC2_SETTINGS[mode]


def gke_capacity_settings(mode: Capacity) -> GkeCapacitySettings:
    """The settings of this capacity type on GKE (node-pools.gke-purchases)."""
    reserved = mode in {Capacity.RESERVED, Capacity.BLOCK}
    return GkeCapacitySettings(
        spot=mode is Capacity.SPOT,
        flex_start=mode is Capacity.FLEX_START,
        reservation_type="SPECIFIC_RESERVATION" if reserved else "NO_RESERVATION",
        auto_repair=mode is not Capacity.FLEX_START,
    )


def workload_policy(machine: Machine) -> WorkloadPolicy | None:
    """The policy that places the nodes of an NVLink domain; None if the machine has none."""
    topology = machine.rack_topology
    return WorkloadPolicy("HIGH_THROUGHPUT", topology) if topology else None


def max_nodes_per_pool(machine: Machine) -> int | None:
    """The maximum nodes of one GKE node pool, if limited to one NVLink domain; else None."""
    policy = workload_policy(machine)
    return (
        prod(map(int, policy.accelerator_topology.split("x"))) // machine.gpus if policy else None
    )


def gke_versions(machine: Machine) -> Mapping[str, str]:
    """The oldest GKE version that supports the machine, by minor; empty if every supported minor does."""
    return {".".join(version.split(".")[:2]): version for version in machine.gke_versions}


def added_taints(machine: Machine, *, queued: bool = False) -> tuple[tuple[str, str], ...]:
    """Key and value of the taints that the cloud adds to these nodes, besides the GPU taint."""
    if machine.cloud != "gcp":
        return ()
    arm = ((ARCH_LABEL, machine.arch),) if machine.arch == "arm64" else ()
    return (*arm, *((QUEUED_TAINT,) if queued else ()))


def may_be_compact(machine: Machine, *, flex_start: bool, queued: bool) -> bool:
    """Whether GKE supports compact placement for nodes of this capacity type."""
    return not queued and (not flex_start or machine.flex_start_compact)
