"""Karpenter on AWS: permissions of its controller, interruption events, and names of its objects."""

from collections.abc import Mapping
from datetime import date

from gpuyard_core.catalogue.sources import Source

_LOOKED_UP = date(2026, 11, 23)
TEMPLATE_SOURCE = Source(
    "aws/karpenter-provider-aws 1d92708 (v1.14.1), website v1.14 cloudformation.yaml: policies of the controller, queue,"
    " its policy and five rules of events",
    _LOOKED_UP,
    as_of=date(2026, 8, 20),
)
EVENTS: Mapping[str, tuple[str, str]] = {
    "health": ("aws.health", "AWS Health Event"),
    "spot": ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
    "rebalance": ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
    "state": ("aws.ec2", "EC2 Instance State-change Notification"),
    "reservation": ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
}
"""Events in the interruption queue: source and type, by gpuyard's name."""
QUEUE_SECONDS = 300
"""How long an event is kept; a two-minute notice is useless after that."""
SENDERS = ("events.amazonaws.com", "sqs.amazonaws.com")
TAKES = ("sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage")
LOOKS = (
    "ec2:DescribeCapacityReservations",
    "ec2:DescribeImages",
    "ec2:DescribeInstances",
    "ec2:DescribeInstanceStatus",
    "ec2:DescribeInstanceTypeOfferings",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeLaunchTemplates",
    "ec2:DescribePlacementGroups",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSpotPriceHistory",
    "ec2:DescribeSubnets",
)
"""EC2 read actions of the controller, which support no resource-level permissions."""
STARTS_FROM = ("security-group", "subnet", "capacity-reservation", "placement-group")
"""Existing resources that a new instance uses without changing them."""
MADE = (
    *("fleet", "instance", "volume", "network-interface", "launch-template"),
    "spot-instances-request",
)
"""Resources that the controller creates, each with the cluster's tags from the start."""

NODES_SOURCE = Source(
    "aws/karpenter-provider-aws 1d92708 (v1.14.1): pkg/apis/v1/ec2nodeclass.go, pkg/controllers/nodeclass (it is deleted"
    " when no NodeClaim uses it), pkg/providers/amifamily/al2023.go; website v1.14 nodepools.md (limits.nodes)",
    _LOOKED_UP,
    as_of=date(2026, 8, 20),
)
NODE_CLASS_GROUP, POOL_GROUP = "karpenter.k8s.aws", "karpenter.sh"
POOL_OF_NODE = f"{POOL_GROUP}/nodepool"
"""The label with the NodePool of a node."""
CAPACITY_TYPE = f"{POOL_GROUP}/capacity-type"
HIGHEST_WEIGHT = 100
"""The maximum weight of a NodePool; the highest is tried first."""
IMAGE_FAMILY = "AL2023"
"""The image family whose release is pinned."""
DRAIN_MINUTES = 60
SPOT_GRACE, GRACE = "2m", f"{DRAIN_MINUTES // 60}h"
"""How long a terminating node waits for its pods: EC2 gives a spot node two minutes, others may write a checkpoint."""
MOVES_SOURCE = Source(
    "kubernetes-sigs/karpenter v1.14.1, pkg/controllers/disruption/consolidation.go: a node in use is removed if its pods"
    " fit on others, or on one new and cheaper node of the NodePool that is tried first; types.go: no pod on it has"
    " do-not-disrupt. aws/karpenter-provider-aws 112b9b3, pkg/providers/instancetype/offering: reserved capacity costs a"
    " ten-millionth of its on-demand price",
    date(2026, 11, 25),
    as_of=date(2026, 8, 20),
)
ODCR_SOURCE = Source(
    "Karpenter 1.15, tasks/odcrs, migrating from previous versions: with the gate ReservedCapacity a node is launched"
    " into a reservation that its class selects, and no longer into an open one by chance; preference none as seen in"
    " zalando-incubator/kubernetes-on-aws PR 11623",
    date(2026, 11, 28),
    as_of=date(2026, 7, 10),
)
EMPTY_ALONE, PACKED, BALANCED = "WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"
CONSOLIDATION_POLICIES = (EMPTY_ALONE, PACKED, BALANCED)
"""Values of consolidationPolicy in a v1 NodePool; Balanced since 1.14."""
CONSOLIDATION_SOURCE = Source(
    "kubernetes-sigs/karpenter v1.14.1 CRD karpenter.sh_nodepools.yaml; Balanced: pull request 2962, in v1.14.0",
    date(2026, 11, 28),
    as_of=date(2026, 8, 20),
    second="Karpenter Blueprints, Balanced Consolidation Policy: v1.14 and later",
)
NOT_MOVED = f"{POOL_GROUP}/do-not-disrupt"
"""Annotation of a pod: with `true` its node is not replaced to save money."""
EMPTY_FOR = "10m"
"""How long an empty node stays, because jobs of one queue follow each other."""
