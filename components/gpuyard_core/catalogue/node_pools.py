"""Node pools of the clouds: settings of each capacity type, added taints, and placement."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from math import prod

from gpuyard_core.catalogue.machines import Capacity, Machine, table_rows
from gpuyard_core.catalogue.sources import Source
from gpuyard_core.catalogue.tables.node_pools import (
    EC2_PURCHASES,
    GKE_PURCHASES,
    GKE_VERSIONS,
    WORKLOAD_POLICIES,
)
from gpuyard_core.names import ARCH_LABEL

_LOOKED_UP = date(2026, 11, 22)
EC2_PURCHASES_SOURCE = Source(
    "EKS CreateNodegroup and EC2 LaunchTemplate (botocore 1.44.5): capacityType, marketType and reservation"
    " preference; Karpenter 1.14.1: capacity type reserved for reservations and blocks",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
GKE_PURCHASES_SOURCE = Source(
    "cluster-toolkit v1.95.0 at 1047080, preconditions of modules/compute/gke-node-pool/main.tf", _LOOKED_UP, as_of=_LOOKED_UP)  # fmt: skip
ARM_TAINT_SOURCE = Source(
    "google.container.v1 TaintConfig.ArchitectureTaintBehavior: unspecified is ARM, which taints every Arm node;"
    " the flavors of cluster-toolkit's gke-a4x and gke-a4x-max-bm tolerate it",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
QUEUED_TAINT = ("cloud.google.com/gke-queued", "true")
QUEUED_TAINT_SOURCE = Source(
    "cluster-toolkit v1.95.0 at 1047080, gke-node-pool/main.tf: GKE taints nodes of queued provisioning;"
    " its nccl-jobset-example.yaml tolerates it",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
WORKLOAD_POLICY_SOURCE = Source(
    "cluster-toolkit v1.95.0 at 1047080, workload_policy of gke-a4x.yaml and gke-a4x-max-bm.yaml",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
GKE_RACKS_SOURCE = Source(
    "Google, create an AI-optimized GKE cluster: node pools of A4X and A4X Max have 18 nodes or less, and the oldest GKE"
    " versions for these machines",
    date(2026, 11, 28),
    as_of=date(2026, 8, 22),
    second="NVIDIA/aicr docs/integrator/gke-a4x-max-networking.md",
)
COMPACT_SOURCE = Source(
    "cluster-toolkit v1.95.0 at 1047080, gke-node-pool/main.tf: no COMPACT placement of GPU nodes with queued"
    " provisioning, and with flex-start only on A3 Ultra and A4",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
ACCELERATOR_SOURCE = Source(
    "cluster-autoscaler 1.36.1 cloudprovider/aws/README.md, special note on GPU instances, and gpu_processor.go",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)

ACCELERATOR_LABEL = "k8s.amazonaws.com/accelerator"
"""With this label, Cluster Autoscaler on EC2 treats a node as unready until its device plugin advertises GPUs.
Without it, the autoscaler starts more nodes for the same pods while the first one starts."""
COMPACT_FLEX_START = ("a3-ultragpu-", "a4-")
"""GCE machines whose flex-start nodes allow compact placement, except with queued provisioning."""


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


@cache
def ec2_capacity_settings(mode: Capacity) -> Ec2CapacitySettings:
    """The settings of this capacity type on EC2."""
    eks, karpenter, market, reservations = _row(EC2_PURCHASES, mode.value)
    return Ec2CapacitySettings(eks, karpenter, None if market == "-" else market, reservations)


@cache
def gke_capacity_settings(mode: Capacity) -> GkeCapacitySettings:
    """The settings of this capacity type on GKE."""
    spot, flex, reservation, repaired = _row(GKE_PURCHASES, mode.value)
    return GkeCapacitySettings(
        spot=spot == "yes",
        flex_start=flex == "yes",
        reservation_type=reservation,
        auto_repair=repaired == "yes",
    )


def _row(table: str, key: str) -> list[str]:
    return next(rest for first, *rest in table_rows(table) if first == key)


def workload_policy(machine: Machine) -> WorkloadPolicy | None:
    """The policy that places the nodes of an NVLink domain; None if the machine has none."""
    return _policies().get(machine.name)


def max_nodes_per_pool(machine: Machine) -> int | None:
    """The maximum nodes of one GKE node pool, if limited to one NVLink domain; else None."""
    policy = workload_policy(machine)
    return (
        prod(map(int, policy.accelerator_topology.split("x"))) // machine.gpus if policy else None
    )


def gke_versions(machine: Machine) -> Mapping[str, str]:
    """The oldest GKE version that supports the machine, by minor; empty if every supported minor does."""
    return {
        minor: version for name, minor, version in table_rows(GKE_VERSIONS) if name == machine.name
    }


@cache
def _policies() -> Mapping[str, WorkloadPolicy]:
    return {name: WorkloadPolicy(*rest) for name, *rest in table_rows(WORKLOAD_POLICIES)}


def added_taints(machine: Machine, *, queued: bool = False) -> tuple[tuple[str, str], ...]:
    """Key and value of the taints that the cloud adds to these nodes, besides the GPU taint."""
    if machine.cloud != "gcp":
        return ()
    arm = ((ARCH_LABEL, machine.arch),) if machine.arch == "arm64" else ()
    return (*arm, *((QUEUED_TAINT,) if queued else ()))


def may_be_compact(machine: Machine, *, flex_start: bool, queued: bool) -> bool:
    """Whether GKE supports compact placement for nodes of this capacity type."""
    return not queued and (not flex_start or machine.name.startswith(COMPACT_FLEX_START))
