"""Rules of the fakes for node labels and maintenance exclusions: rejected and accepted inputs."""

from typing import Any

from testbed.plugins.cloud.rules import aws_service, gcp_service
from testbed.plugins.kubernetes.values import UNKNOWN

GROUP, POOL = "aws:eks/nodeGroup:NodeGroup", "gcp:container/nodePool:NodePool"
GKE = "gcp:container/cluster:Cluster"


def _frozen(*ends: Any) -> dict[str, Any]:
    """A cluster with maintenance exclusions from New Year on."""
    exclusions = [
        {
            "exclusionName": f"freeze-{n}",
            "startTime": "2027-01-01T00:00:00Z",
            "endTime": end if end is UNKNOWN else f"{end}T00:00:00Z",
            "exclusionOptions": {"scope": "NO_UPGRADES"},
        }
        for n, end in enumerate(ends)
    ]
    return {"initialNodeCount": 1, "maintenancePolicy": {"maintenanceExclusions": exclusions}}


OF_CLUSTERS = [
    # rule, kind, rejected input, message, accepted input
    (
        gcp_service.exclusions,
        GKE,
        _frozen(*("2027-01-02",) * 4),
        "4 maintenance exclusions of NO_UPGRADES; allowed: 3",
        _frozen(*("2027-01-02",) * 3),
    ),
    (
        gcp_service.exclusions,
        GKE,
        _frozen("2027-04-02"),
        "allowed: up to 90 days",
        _frozen("2027-04-01", UNKNOWN),
    ),
    (
        gcp_service.exclusions,
        GKE,
        _frozen("2027-01-01"),
        "allowed: up to 90",
        _frozen("2027-01-02"),
    ),
    (
        aws_service.node_labels,
        GROUP,
        {"labels": {"eks.amazonaws.com/tier": "a"}},
        "Label cannot contain reserved prefixes [kubernetes.io/, k8s.io/, eks.amazonaws.com/]",
        {"labels": {"k8s.amazonaws.com/accelerator": "nvidia-h100", "tier": "a"}},
    ),
    (
        aws_service.node_labels,
        GROUP,
        {"labels": {"node-role.kubernetes.io/gpu": "a"}},
        "Label cannot contain reserved prefixes",
        {"labels": UNKNOWN},
    ),
    (
        gcp_service.node_labels,
        POOL,
        {"nodeConfig": {"labels": {"cloud.google.com/gke-nodepool": "a"}}},
        "managed by GKE or Kubernetes",
        {"nodeConfig": {"labels": {"cloud.google.com/gke-queued": "true"}}},
    ),
    (
        gcp_service.node_labels,
        POOL,
        {"nodeConfig": {"labels": {"node-role.kubernetes.io/gpu": "a"}}},
        "Applying kubernetes label is not allowed: node-role.kubernetes.io/gpu",
        {"nodeConfig": {"labels": {"tier": "a"}}},
    ),
]
