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
    as_of=_LOOKED_UP,
)
GKE_NODE_LABEL = ("autoscaling.gke.io/provisioning-request", "ResizeRequestName")
"""GKE marks the nodes that it made for a request; the pods must go nowhere else (CLASSES_SOURCE)."""
NO_RETRY, VALID_SECONDS = "noRetry", "ValidUntilSeconds"
"""Parameters of a request: whether it is tried once, and for how many seconds it is tried."""
PARAMETERS_SOURCE = Source(
    "cluster-autoscaler provisioningrequest/checkcapacity: noRetry; ValidUntilSeconds in the CRD",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
REQUESTS_FLAG = "--enable-provisioning-requests=true"
"""Without it, Cluster Autoscaler answers no request."""
FLAG_SOURCE = Source(
    "cluster-autoscaler flags, off by default",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
TEMPLATE_TAG = "k8s.io/cluster-autoscaler/node-template"
"""Tags of an auto-scaling group from which Cluster Autoscaler learns what a node will have."""
TEMPLATE_SOURCE = Source(
    "cluster-autoscaler 1.36.1 cloudprovider/aws/README.md, scaling a node group to 0: tags label/KEY, taint/KEY and"
    " resources/NAME below k8s.io/cluster-autoscaler/node-template",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
NODE_MINUTES = 15
"""How long autoscalers themselves wait for a node that they ordered, before they give it up."""
NODE_MINUTES_SOURCE = Source(
    "karpenter, liveness controller: registrationTimeout 15 minutes; cluster-autoscaler:"
    " --max-node-provision-time, default 15 minutes",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)

PRIORITY_CONFIGMAP = "cluster-autoscaler-priority-expander"
"""In the autoscaler's namespace: what the expander `priority` reads, also while it runs."""
ANY_GROUP = ".*"
"""A group that no pattern names is not enlarged at all while this ConfigMap is there, so one names the rest."""
PRIORITY_SOURCE = Source(
    "kubernetes/autoscaler, cluster-autoscaler/expander/priority/readme.md: the highest number wins",
    date(2026, 11, 23),
    as_of=date(2026, 11, 23),
)
MANAGED_GROUP = "eks-{}-[0-9a-f]{{8}}-"
"""How the auto-scaling group of a managed node group begins: with its name, then a UUID."""
LOOKS = (
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeAutoScalingInstances",
    "autoscaling:DescribeLaunchConfigurations",
    "autoscaling:DescribeScalingActivities",
    "autoscaling:DescribeTags",
    "ec2:DescribeImages",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeLaunchTemplateVersions",
    "ec2:GetInstanceTypesFromInstanceRequirements",
    "eks:DescribeNodegroup",
)
"""What Cluster Autoscaler asks AWS; most of it can be allowed on everything or on nothing."""
CHANGES = ("autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup")
"""What it does there."""
OWNED_TAG = "k8s.io/cluster-autoscaler/{}"
"""EKS gives this tag, with the cluster's name and the value `owned`, to the group of each managed node group."""
ACTIONS_SOURCE = Source(
    "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/README.md, full policy and auto-discovery; EKS user guide,"
    " managed node groups: tagged for auto-discovery",
    date(2026, 11, 23),
    as_of=date(2026, 11, 23),
)
STAYS = "cluster-autoscaler.kubernetes.io/safe-to-evict"
"""`false` on a pod: Cluster Autoscaler, GKE's too, does not take its node away. Karpenter counts every pod."""
STAYS_SOURCE = Source(
    "kubernetes/autoscaler cluster-autoscaler/FAQ.md, what types of pods can prevent CA from removing a node; GKE,"
    " cluster autoscaler, scheduling and disruption considerations",
    date(2026, 11, 25),
    as_of=date(2026, 11, 25),
)
