"""Frozen records of a plan; no logic except derived values."""

from gpuyard.plan.records.idle import (
    IdlePlan,
    IdleTeam,
)
from gpuyard.plan.records.interruption import (
    InterruptionPlan,
    PoolInterruption,
    SpotDisruption,
)
from gpuyard.plan.records.money import (
    COST_CASES,
    Bill,
    BillLine,
    CommitmentLine,
    CoveredNodes,
    Fee,
    NodePrice,
    TeamCostShare,
    Total,
    total_of_nodes,
)
from gpuyard.plan.records.nodes import (
    Allocatable,
    AutoscalerHints,
    CapacityOption,
    DraPlan,
    NcclPlan,
    TopologyPlan,
)
from gpuyard.plan.records.observability import ObservabilityPlan
from gpuyard.plan.records.platform import (
    OperatorParts,
    PlatformPlan,
)
from gpuyard.plan.records.pools import (
    AdvertisedResource,
    AdvertisedResources,
    GpuLayout,
    NodeSoftware,
    PoolPlan,
)
from gpuyard.plan.records.queues import (
    AdmissionCheckPlan,
    CohortLimit,
    CohortPlan,
    FlavorPlan,
    MultiKueuePlan,
    PriorityPlan,
    QueueingPlan,
    Quota,
    ResourceGroup,
    WorkerPlan,
    usable_pools,
)
from gpuyard.plan.records.services import (
    Placement,
    ReplicaGroup,
    ServicePlan,
    ShapePlan,
)
from gpuyard.plan.records.storage import (
    CheckpointsPlan,
    DatasetPlan,
    StoragePlan,
    StorePlan,
)
from gpuyard.plan.records.teams import (
    CpuAndMemory,
    EgressNetwork,
    LimitsPlan,
    NamespacePlan,
    TeamPlan,
)
from gpuyard.plan.records.training import RuntimePlan
from gpuyard.plan.records.validation import (
    STARTS_WITH,
    AcceptedThreshold,
    PoolCheck,
    ReadThreshold,
    RecurringCheck,
    ValidationPlan,
)

__all__ = [
    "COST_CASES",
    "STARTS_WITH",
    "AcceptedThreshold",
    "AdmissionCheckPlan",
    "AdvertisedResource",
    "AdvertisedResources",
    "Allocatable",
    "AutoscalerHints",
    "Bill",
    "BillLine",
    "CapacityOption",
    "CheckpointsPlan",
    "CohortLimit",
    "CohortPlan",
    "CommitmentLine",
    "CoveredNodes",
    "CpuAndMemory",
    "DatasetPlan",
    "DraPlan",
    "EgressNetwork",
    "Fee",
    "FlavorPlan",
    "GpuLayout",
    "IdlePlan",
    "IdleTeam",
    "InterruptionPlan",
    "LimitsPlan",
    "MultiKueuePlan",
    "NamespacePlan",
    "NcclPlan",
    "NodePrice",
    "NodeSoftware",
    "ObservabilityPlan",
    "OperatorParts",
    "Placement",
    "PlatformPlan",
    "PoolCheck",
    "PoolInterruption",
    "PoolPlan",
    "PriorityPlan",
    "QueueingPlan",
    "Quota",
    "ReadThreshold",
    "RecurringCheck",
    "ReplicaGroup",
    "ResourceGroup",
    "RuntimePlan",
    "ServicePlan",
    "ShapePlan",
    "SpotDisruption",
    "StoragePlan",
    "StorePlan",
    "TeamCostShare",
    "TeamPlan",
    "TopologyPlan",
    "Total",
    "ValidationPlan",
    "WorkerPlan",
    "total_of_nodes",
    "usable_pools",
]
