"""PromQL of alerts for capacity options without machines, as docs/concepts/interruption.md has them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shortage:
    """PromQL of alerts for capacity options without machines."""

    autoscaler: str
    description: str
    query: str
    """PromQL that returns series as long as the shortage lasts."""


_DISRUPTED = "karpenter_nodeclaims_disrupted_total"
SHORTAGES = (
    Shortage(
        "Karpenter",
        "EC2 has no capacity for NodePool `nodepool`",
        f'sum by (nodepool) (increase({_DISRUPTED}{{reason="insufficient_capacity"}}[15m])) > 0',
    ),
    Shortage(
        "Karpenter",
        "machines of NodePool `nodepool` do not start, or do not join in time",
        f'sum by (nodepool) (increase({_DISRUPTED}{{reason=~"launch_timeout|registration_timeout"}}[30m])) > 0',
    ),
    Shortage(
        "Cluster Autoscaler",
        "node group `node_group` is in backoff for `reason`",
        "max by (node_group, reason) (cluster_autoscaler_node_group_backoff_status) == 1",
    ),
)
"""A NodePool or node group is one capacity option. GKE's own autoscaler has no such metric."""
