"""Karpenter on AWS: permissions of its controller, interruption events, and names of its objects.

Sources: `karpenter.odcr`.
"""

from collections.abc import Mapping

EVENTS: Mapping[str, tuple[str, str]] = {
    "health": ("aws.health", "AWS Health Event"),
    "spot": ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
    "rebalance": ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
    "state": ("aws.ec2", "EC2 Instance State-change Notification"),
    "reservation": ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
}
"""Events in the interruption queue: source and type, by gpuyard's name (karpenter.template)."""
QUEUE_SECONDS = 300
"""How long an event is kept; a two-minute notice is useless after that."""

NODE_CLASS_GROUP, POOL_GROUP = "karpenter.k8s.aws", "karpenter.sh"
POOL_OF_NODE = f"{POOL_GROUP}/nodepool"
"""The label with the NodePool of a node (karpenter.nodes)."""
CAPACITY_TYPE = f"{POOL_GROUP}/capacity-type"
HIGHEST_WEIGHT = 100
"""The maximum weight of a NodePool; the highest is tried first."""
IMAGE_FAMILY = "AL2023"
"""The image family whose release is pinned."""
DRAIN_MINUTES = 60
SPOT_GRACE, GRACE = "2m", f"{DRAIN_MINUTES // 60}h"
"""How long a terminating node waits for its pods: EC2 gives a spot node two minutes, others may write a
checkpoint (karpenter.moves)."""
EMPTY_ALONE, PACKED, BALANCED = "WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"
CONSOLIDATION_POLICIES = (EMPTY_ALONE, PACKED, BALANCED)
"""Values of consolidationPolicy in a v1 NodePool; Balanced since 1.14 (karpenter.consolidation)."""
NOT_MOVED = f"{POOL_GROUP}/do-not-disrupt"
"""Annotation of a pod: with `true` its node is not replaced to save money."""
EMPTY_FOR = "10m"
"""How long an empty node stays, because jobs of one queue follow each other."""
