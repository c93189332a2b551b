"""Interruption notices of nodes, and the time that they leave to pods."""

from collections.abc import Mapping

from gpuyard_core.catalogue.machines import Capacity

NOTICES = (
    "karpenter.sh/disrupted",
    "aws-node-termination-handler/",
    "cloud.google.com/impending-node-termination",
    "ToBeDeletedByClusterAutoscaler",
)
"""Taints of nodes that end: Karpenter's, AWS Node Termination Handler's (several), GKE's, Cluster Autoscaler's
(interruptions.notices)."""
NOTICE_SECONDS: Mapping[str, int] = {"aws": 120, "gcp": 15}
"""Seconds that a spot notice leaves to pods, by cloud."""
MACHINE_SECONDS: Mapping[str, int] = {"aws": 120, "gcp": 30}
"""Seconds that a spot notice leaves to the machine, by cloud (interruptions.notice)."""
INTERRUPTIBLE_MODES = frozenset({Capacity.SPOT, Capacity.BLOCK, Capacity.FLEX_START})
"""Capacity types whose nodes may be interrupted while jobs run."""
SPOT_RATE_PER_MONTH = 0.20
"""Share of spot nodes interrupted within a month of running, where nothing better is known
(interruptions.spot-rate)."""
