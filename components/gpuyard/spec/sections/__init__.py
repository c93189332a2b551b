"""The optional sections of a stack file: everything besides pools, teams and queues.

Most have defaults. `gpuyard check` reports every section that this release does not carry out.
"""

from gpuyard.spec.sections.addons import Addon, AddonName
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
from gpuyard.spec.sections.gpu_operator import OperatorSpec
from gpuyard.spec.sections.inventory import InventoryNode, MachineInventory, MachineInventoryRef
from gpuyard.spec.sections.nodes import (
    DisruptionWindow,
    FabricKind,
    FabricSpec,
    KeepWarmWindow,
    Numa,
    PoolStopPolicy,
    Provisioning,
    RdmaPlugin,
    Upgrade,
)
from gpuyard.spec.sections.observability import (
    Alerts,
    Observability,
    Prometheus,
    Receiver,
    SecretKey,
    Smtp,
    Targets,
)
from gpuyard.spec.sections.prices import Commitment, MachinePrice, Prices
from gpuyard.spec.sections.services import (
    MessageQueue,
    ModelSource,
    Prefill,
    ScaleOn,
    ScheduleWindow,
    Service,
    ServiceKind,
)
from gpuyard.spec.sections.storage import Checkpoints, Dataset, DatasetKind, Storage, StoreTier
from gpuyard.spec.sections.workloads import Framework, TrainingRuntime, Workloads
from gpuyard_core.models.policies import Level, Policies, RuleException

__all__ = [
    "Addon",
    "AddonName",
    "Admission",
    "Alerts",
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
    "DisruptionWindow",
    "Enforce",
    "FabricKind",
    "FabricSpec",
    "Framework",
    "Freeze",
    "InventoryNode",
    "KeepWarmWindow",
    "Level",
    "LogKind",
    "MachineInventory",
    "MachineInventoryRef",
    "MachinePrice",
    "Maintenance",
    "MessageQueue",
    "Mirror",
    "ModelSource",
    "Nat",
    "Numa",
    "Observability",
    "OperatorSpec",
    "Policies",
    "PoolStopPolicy",
    "Prefill",
    "Prices",
    "PrivateEndpoints",
    "Prometheus",
    "Provisioning",
    "RdmaPlugin",
    "Receiver",
    "ReleaseChannel",
    "RuleException",
    "ScaleOn",
    "ScheduleWindow",
    "SecretKey",
    "Service",
    "ServiceKind",
    "Smtp",
    "Storage",
    "StoreTier",
    "Subnets",
    "Targets",
    "TrainingRuntime",
    "Upgrade",
    "Weekday",
    "Workloads",
]
