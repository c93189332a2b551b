"""What a plan says, as frozen records; no logic but derived figures."""

from gpuyard.plan.records.idle import (
    IdlePlan,
    IdleTeam,
)
from gpuyard.plan.records.money import (
    Bill,
    BillLine,
    CommitmentLine,
    Covered,
    NodePrice,
    Share,
    Total,
)
from gpuyard.plan.records.nodes import (
    DraPlan,
    Ec2Purchase,
    GkePurchase,
    LadderRung,
    NodeRoom,
    ScaleKnowledge,
    TopologyPlan,
)
from gpuyard.plan.records.platform import (
    OperatorParts,
    PlatformPlan,
    ShapePlan,
)
from gpuyard.plan.records.pools import (
    Advertised,
    GpuLayout,
    NodeSoftware,
    PoolPlan,
    Slice,
    Taint,
)
from gpuyard.plan.records.queues import (
    CheckPlan,
    CohortLimit,
    CohortPlan,
    DispatchPlan,
    FlavorPlan,
    PriorityPlan,
    QueueingPlan,
    Quota,
    ResourceGroup,
    WorkerPlan,
    within_reach,
)
from gpuyard.plan.records.teams import (
    HostAmount,
    LimitsPlan,
    Reach,
    TeamPlan,
)

__all__ = [
    "Advertised",
    "Bill",
    "BillLine",
    "CheckPlan",
    "CohortLimit",
    "CohortPlan",
    "CommitmentLine",
    "Covered",
    "DispatchPlan",
    "DraPlan",
    "Ec2Purchase",
    "FlavorPlan",
    "GkePurchase",
    "GpuLayout",
    "HostAmount",
    "IdlePlan",
    "IdleTeam",
    "LadderRung",
    "LimitsPlan",
    "NodePrice",
    "NodeRoom",
    "NodeSoftware",
    "OperatorParts",
    "PlatformPlan",
    "PoolPlan",
    "PriorityPlan",
    "QueueingPlan",
    "Quota",
    "Reach",
    "ResourceGroup",
    "ScaleKnowledge",
    "ShapePlan",
    "Share",
    "Slice",
    "Taint",
    "TeamPlan",
    "TopologyPlan",
    "Total",
    "WorkerPlan",
    "within_reach",
]
