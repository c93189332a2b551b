"""Frozen records of a plan; no logic except derived values."""

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
from gpuyard.plan.records.observability import ObservabilityPlan
from gpuyard.plan.records.platform import OperatorParts, PlatformPlan
from gpuyard.plan.records.pools import (
    AdvertisedResource,
    AdvertisedResources,
    Allocatable,
    AutoscalerHints,
    CapacityOption,
    DraPlan,
    GpuLayout,
    NcclPlan,
    NodeSoftware,
    PoolPlan,
    TopologyPlan,
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
    InterruptionPlan,
    Placement,
    PoolInterruption,
    ReplicaGroup,
    RuntimePlan,
    ServicePlan,
    ShapePlan,
    SpotDisruption,
)
from gpuyard.plan.records.storage import CheckpointsPlan, DatasetPlan, StoragePlan, StorePlan
from gpuyard.plan.records.teams import (
    CpuAndMemory,
    EgressNetwork,
    IdlePlan,
    IdleTeam,
    LimitsPlan,
    NamespacePlan,
    TeamPlan,
)
from gpuyard.plan.records.validation import (
    STARTS_WITH,
    AcceptedThreshold,
    PoolCheck,
    ReadThreshold,
    RecurringCheck,
    ValidationPlan,
)
