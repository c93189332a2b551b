"""Autoscalers: requests for nodes before a job starts, their configuration, and how long they wait."""

from collections.abc import Mapping
from datetime import date

from gpuyard_core.catalogue.sources import Source

_LOOKED_UP = date(2026, 11, 21)
PROVISIONING_CLASSES: Mapping[str, str] = {
    "check-capacity": "check-capacity.autoscaling.x-k8s.io",
    "atomic": "best-effort-atomic-scale-up.autoscaling.x-k8s.io",
    "queued": "queued-provisioning.gke.io",
}
"""Classes of a ProvisioningRequest, by the value of `provisioning` in a stack file."""
CLASSES_SOURCE = Source(
    "ProvisioningRequest CRD of cluster-autoscaler 1.36.1; for queued, GKE's examples of Kueue",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
GKE_NODE_LABEL = ("autoscaling.gke.io/provisioning-request", "ResizeRequestName")
"""GKE labels the nodes that it created for a request; the pods must run on them (CLASSES_SOURCE)."""
NO_RETRY, VALID_SECONDS = "noRetry", "ValidUntilSeconds"
"""Parameters of a request: no retry, and for how many seconds it is valid."""
PARAMETERS_SOURCE = Source(
    "cluster-autoscaler provisioningrequest/checkcapacity: noRetry; ValidUntilSeconds in the CRD",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
REQUESTS_FLAG = "--enable-provisioning-requests=true"
"""The flag without which Cluster Autoscaler ignores requests."""
FLAG_SOURCE = Source(
    "cluster-autoscaler flags, off by default",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
TEMPLATE_TAG = "k8s.io/cluster-autoscaler/node-template"
"""Prefix of the tags of an Auto Scaling group that tell Cluster Autoscaler what a new node will have."""
TEMPLATE_SOURCE = Source(
    "cluster-autoscaler 1.36.1 cloudprovider/aws/README.md, scaling a node group to 0: tags label/KEY, taint/KEY and"
    " resources/NAME below k8s.io/cluster-autoscaler/node-template",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
NODE_MINUTES = 15
"""How long autoscalers wait for a requested node before they give up."""
NODE_MINUTES_SOURCE = Source(
    "karpenter, liveness controller: registrationTimeout 15 minutes; cluster-autoscaler:"
    " --max-node-provision-time, default 15 minutes",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)

PRIORITY_CONFIGMAP = "cluster-autoscaler-priority-expander"
"""The ConfigMap of the expander `priority`, in the autoscaler's namespace; changes apply while it runs."""
ANY_GROUP = ".*"
"""The pattern for all other groups: with this ConfigMap, a group that matches no pattern is not scaled up."""
PRIORITY_SOURCE = Source(
    "kubernetes/autoscaler, cluster-autoscaler/expander/priority/readme.md: the highest number wins",
    date(2026, 11, 23),
    as_of=date(2026, 11, 23),
)
MANAGED_GROUP = "eks-{}-[0-9a-f]{{8}}-"
"""Name format of the Auto Scaling group of a managed node group: its name, then a UUID."""
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
"""Read actions of Cluster Autoscaler; most of them can only be allowed on `*`."""
CHANGES = ("autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup")
"""Write actions of Cluster Autoscaler."""
OWNED_TAG = "k8s.io/cluster-autoscaler/{}"
"""EKS sets this tag, with the cluster's name and the value `owned`, on the group of each managed node group."""
ACTIONS_SOURCE = Source(
    "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/README.md, full policy and auto-discovery; EKS user guide,"
    " managed node groups: tagged for auto-discovery",
    date(2026, 11, 23),
    as_of=date(2026, 11, 23),
)
STAYS = "cluster-autoscaler.kubernetes.io/safe-to-evict"
"""`false` on a pod: Cluster Autoscaler, also GKE's, does not remove its node. Karpenter counts every pod."""
STAYS_SOURCE = Source(
    "kubernetes/autoscaler cluster-autoscaler/FAQ.md, what types of pods can prevent CA from removing a node; GKE,"
    " cluster autoscaler, scheduling and disruption considerations",
    date(2026, 11, 25),
    as_of=date(2026, 11, 25),
)
