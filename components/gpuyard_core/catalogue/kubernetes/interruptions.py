"""Interruption notices of nodes, and the time that they leave to pods."""

from collections.abc import Mapping
from datetime import date

from gpuyard_core.catalogue.machines import Capacity
from gpuyard_core.catalogue.sources import Source

_LOOKED_UP = date(2026, 11, 23)
NOTICES = (
    "karpenter.sh/disrupted",
    "aws-node-termination-handler/",
    "cloud.google.com/impending-node-termination",
    "ToBeDeletedByClusterAutoscaler",
)
"""Taints of nodes that end: Karpenter's, AWS Node Termination Handler's (several), GKE's, Cluster Autoscaler's."""
NOTICES_SOURCE = Source(
    "Karpenter v1.15 docs, Disruption: the termination controller taints the node karpenter.sh/disrupted:NoSchedule and"
    " evicts its pods; aws-node-termination-handler docs, TAINT_NODE; arguments of GKE's maintenance-handler as"
    " published: --taint=cloud.google.com/impending-node-termination::NoSchedule. Node groups of EKS are cordoned and"
    " drained by EKS (ec2spotworkshops.com), which is a DisruptionTarget of the pods; Cluster Autoscaler, and GKE's, taint a"
    " node before they drain it (utils/taints) and do not cordon it",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
NOTICE_SECONDS: Mapping[str, int] = {"aws": 120, "gcp": 15}
"""Seconds that a spot notice leaves to pods, by cloud."""
MACHINE_SECONDS: Mapping[str, int] = {"aws": 120, "gcp": 30}
"""Seconds that a spot notice leaves to the machine, by cloud."""
NOTICE_SOURCE = Source(
    "EC2: two minutes, of interruptible reservations too (EC2 user guide, monitor-interruptible-cr); GKE concepts, Spot"
    " VMs: 30 seconds by default, of which pods that are not the system's have the first 15",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
INTERRUPTIBLE_MODES = frozenset({Capacity.SPOT, Capacity.BLOCK, Capacity.FLEX_START})
"""Capacity types whose nodes may be interrupted while jobs run."""
SPOT_RATE_PER_MONTH = 0.20
"""Share of spot nodes interrupted within a month of running, where nothing better is known."""
SPOT_RATE_SOURCE = Source(
    "AWS Spot Instance Advisor: frequency of interruption of the last month in five ranges, of which GPU machines are often"
    " in the highest, above 20 %; from memory",
    date(2026, 11, 29),
    verified=False,
    as_of=date(2026, 11, 29),
)
