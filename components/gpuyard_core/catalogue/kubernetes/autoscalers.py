"""Autoscalers: requests for nodes before a job starts, their configuration, and how long they wait."""

from collections.abc import Mapping

from gpuyard_core.catalogue.lists import find_list

PROVISIONING_CLASSES: Mapping[str, str] = {
    "check-capacity": "check-capacity.autoscaling.x-k8s.io",
    "atomic": "best-effort-atomic-scale-up.autoscaling.x-k8s.io",
    "queued": "queued-provisioning.gke.io",
}
"""Classes of a ProvisioningRequest, by the value of `provisioning` in a stack file (autoscalers.classes)."""
GKE_NODE_LABEL = ("autoscaling.gke.io/provisioning-request", "ResizeRequestName")
"""GKE labels the nodes that it created for a request; the pods must run on them (CLASSES_SOURCE)."""
NO_RETRY, VALID_SECONDS = "noRetry", "ValidUntilSeconds"
"""Parameters of a request: no retry, and for how many seconds it is valid (autoscalers.parameters)."""
REQUESTS_FLAG = "--enable-provisioning-requests=true"
"""The flag without which Cluster Autoscaler ignores requests (autoscalers.flag)."""
TEMPLATE_TAG = "k8s.io/cluster-autoscaler/node-template"
"""Prefix of the tags of an Auto Scaling group that tell Cluster Autoscaler what a new node will have
(autoscalers.template)."""
NODE_MINUTES = 15
"""How long autoscalers wait for a requested node before they give up (autoscalers.node-minutes)."""

PRIORITY_CONFIGMAP = "cluster-autoscaler-priority-expander"
"""The ConfigMap of the expander `priority`, in the autoscaler's namespace; changes apply while it runs
(autoscalers.priority)."""
ANY_GROUP = ".*"
"""The pattern for all other groups: with this ConfigMap, a group that matches no pattern is not scaled up."""
MANAGED_GROUP = "eks-{}-[0-9a-f]{{8}}-"
"""Name format of the Auto Scaling group of a managed node group: its name, then a UUID."""
LOOKS = find_list("autoscaler-reads")
"""Read actions of Cluster Autoscaler; most of them can only be allowed on `*`."""
CHANGES = find_list("autoscaler-changes")
"""Write actions of Cluster Autoscaler."""
OWNED_TAG = "k8s.io/cluster-autoscaler/{}"
"""EKS sets this tag, with the cluster's name and the value `owned`, on the group of each managed node group
(autoscalers.actions)."""
STAYS = "cluster-autoscaler.kubernetes.io/safe-to-evict"
"""`false` on a pod: Cluster Autoscaler, also GKE's, does not remove its node. Karpenter counts every pod
(autoscalers.stays)."""
