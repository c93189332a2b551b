"""Autoscalers: how they are asked for nodes before a job starts, what they read, and how long they wait."""

from collections.abc import Mapping
from datetime import date

from gpuyard.catalogue.sources import Source

_LOOKED_UP = date(2026, 11, 21)
PROVISIONING_CLASSES: Mapping[str, str] = {
    "check-capacity": "check-capacity.autoscaling.x-k8s.io",
    "atomic": "best-effort-atomic-scale-up.autoscaling.x-k8s.io",
    "queued": "queued-provisioning.gke.io",
}
"""Classes of a ProvisioningRequest, by the word of a stack file."""
CLASSES_SOURCE = Source(
    "ProvisioningRequest CRD of cluster-autoscaler 1.36.1; for queued, GKE's examples of Kueue",
    _LOOKED_UP,
)
GKE_NODE_LABEL = ("autoscaling.gke.io/provisioning-request", "ResizeRequestName")
"""GKE marks the nodes that it made for a request; the pods must go nowhere else (CLASSES_SOURCE)."""
NO_RETRY, VALID_SECONDS = "noRetry", "ValidUntilSeconds"
"""Parameters of a request: whether it is tried once, and for how many seconds it is tried."""
PARAMETERS_SOURCE = Source(
    "cluster-autoscaler provisioningrequest/checkcapacity: noRetry; ValidUntilSeconds in the CRD",
    _LOOKED_UP,
)
REQUESTS_FLAG = "--enable-provisioning-requests=true"
"""Without it, Cluster Autoscaler answers no request."""
FLAG_SOURCE = Source("cluster-autoscaler flags, off by default", _LOOKED_UP)
TEMPLATE_TAG = "k8s.io/cluster-autoscaler/node-template"
"""Tags of an auto-scaling group from which Cluster Autoscaler learns what a node will have."""
TEMPLATE_SOURCE = Source(
    "cluster-autoscaler 1.36.1 cloudprovider/aws/README.md, scaling a node group to 0: tags label/KEY, taint/KEY and"
    " resources/NAME below k8s.io/cluster-autoscaler/node-template",
    _LOOKED_UP,
)
NODE_MINUTES = 15
"""How long autoscalers themselves wait for a node that they ordered, before they give it up."""
NODE_MINUTES_SOURCE = Source(
    "karpenter, liveness controller: registrationTimeout 15 minutes; cluster-autoscaler:"
    " --max-node-provision-time, default 15 minutes",
    _LOOKED_UP,
)
