"""The optional sections of a stack file: what a platform has beside pools, teams and queues.

Each is small, and most have defaults that a careful platform engineer would choose. What a section turns
into is said by the plan; a section that this release makes nothing of is named there, never ignored.
"""

from gpuyard.spec.sections.admission import Admission, Enforce
from gpuyard.spec.sections.cluster import (
    Apply,
    ClusterNetwork,
    ClusterSpec,
    ClusterSupport,
    Consents,
    ControlPlane,
    ControlPlaneLogs,
    Freeze,
    LogKind,
    Maintenance,
    Mirror,
    Nat,
    PrivateEndpoints,
    ReleaseChannel,
    Subnets,
    Weekday,
)
from gpuyard.spec.sections.dump import Dump, DumpedNode, DumpRef
from gpuyard.spec.sections.gpu_operator import OperatorSpec
from gpuyard.spec.sections.nodes import (
    FabricKind,
    FabricSpec,
    Numa,
    PoolStop,
    Provisioning,
    RdmaPlugin,
    Upgrade,
    Upkeep,
    WarmWindow,
)
from gpuyard.spec.sections.observability import Observability, Prometheus, Targets
from gpuyard.spec.sections.policies import Level, Policies, RuleException
from gpuyard.spec.sections.prices import Commitment, MachinePrice, Prices
from gpuyard.spec.sections.storage import Checkpoints, Dataset, DatasetKind, Storage, StoreTier
from gpuyard.spec.sections.workloads import Addon, Framework, ScaleOn, Service, Workloads

__all__ = [
    "Addon",
    "Admission",
    "Apply",
    "Checkpoints",
    "ClusterNetwork",
    "ClusterSpec",
    "ClusterSupport",
    "Commitment",
    "Consents",
    "ControlPlane",
    "ControlPlaneLogs",
    "Dataset",
    "DatasetKind",
    "Dump",
    "DumpRef",
    "DumpedNode",
    "Enforce",
    "FabricKind",
    "FabricSpec",
    "Framework",
    "Freeze",
    "Level",
    "LogKind",
    "MachinePrice",
    "Maintenance",
    "Mirror",
    "Nat",
    "Numa",
    "Observability",
    "OperatorSpec",
    "Policies",
    "PoolStop",
    "Prices",
    "PrivateEndpoints",
    "Prometheus",
    "Provisioning",
    "RdmaPlugin",
    "ReleaseChannel",
    "RuleException",
    "ScaleOn",
    "Service",
    "Storage",
    "StoreTier",
    "Subnets",
    "Targets",
    "Upgrade",
    "Upkeep",
    "WarmWindow",
    "Weekday",
    "Workloads",
]
