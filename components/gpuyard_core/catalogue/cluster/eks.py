"""Components of an EKS cluster: add-on versions, managed policies, endpoint services and log retention."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard_core.catalogue.lists import find_list
from gpuyard_core.catalogue.sources import Source
from gpuyard_core.catalogue.tables import read_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class EksAddon:
    """An add-on that EKS installs and manages."""

    name: str
    versions: Mapping[str, str]
    """Versions by minor; for other minors EKS picks its default version."""
    service_account: str = ""
    """The service account in kube-system that gets a role by Pod Identity; empty: it calls no AWS API."""
    policies: tuple[str, ...] = ()
    """Managed policies of that role. gpuyard creates FSx file systems separately, so their driver has none and only
    needs to describe file systems; S3's driver mounts with the permissions of the pod."""
    needs_nodes: bool = True
    """False if it must be installed before the first node is ready; others stay degraded without nodes."""
    dataset: str = ""
    """The kind of dataset for which it is installed; empty: in every cluster."""
    source: Source


EKS_ADDONS: Mapping[str, EksAddon] = {row.name: row for row in read_rows("eks_addons", EksAddon)}
VPC_CNI, POD_IDENTITY_AGENT = EKS_ADDONS["vpc-cni"], EKS_ADDONS["eks-pod-identity-agent"]
FSX_CSI, S3_CSI = EKS_ADDONS["aws-fsx-csi-driver"], EKS_ADDONS["aws-mountpoint-s3-csi-driver"]

CLUSTER_POLICIES = ("AmazonEKSClusterPolicy",)
NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")
"""Policies to join the cluster and to pull images; the VPC CNI add-on has its own for pod addresses (eks.policies)."""
ADMIN_POLICY = "AmazonEKSClusterAdminPolicy"

GATEWAY_SERVICE = "s3"
INTERFACE_SERVICES = find_list("interface-endpoints")
METRICS_SERVICE = "aps-workspaces"
"""The endpoint of Amazon Managed Service for Prometheus, for workspaces (its user guide, interface VPC endpoints)."""

ZONES_WITHOUT = find_list("zones-without-eks")
"""Ids of zones in which EKS accepts no subnet for a control plane; of local zones, see eks.local-zones."""
_LOG_DAYS = tuple(map(int, find_list("log-days")))


def log_retention_days(days: int) -> int:
    """The shortest retention of CloudWatch Logs of at least this many days; else its longest."""
    return next((each for each in _LOG_DAYS if each >= days), _LOG_DAYS[-1])


AUTO_SCALING_ROLE = "aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"
"""The role with which EC2 Auto Scaling starts the instances of node groups (eks.disk-key)."""
DISK_OPERATIONS = find_list("disk-key-operations")
"""Actions on a KMS key for an encrypted disk."""
