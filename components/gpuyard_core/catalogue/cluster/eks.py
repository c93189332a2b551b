"""Components of an EKS cluster: add-on versions, managed policies, endpoint services and log retention."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpuyard_core.catalogue.sources import Source, find_source

_PINNED = find_source("eks.pinned")
_OPEN = find_source("eks.open")


@dataclass(frozen=True, slots=True, kw_only=True)
class EksAddon:
    """An add-on that EKS installs and manages."""

    name: str
    versions: Mapping[str, str] = field(default_factory=dict)
    """Versions by minor; for other minors EKS picks its default version."""
    service_account: str = ""
    """The service account in kube-system that gets a role by Pod Identity; empty: it calls no AWS API."""
    policies: tuple[str, ...] = ()
    """Managed policies of that role."""
    needs_nodes: bool = True
    """False if it must be installed before the first node is ready; others stay degraded without nodes."""
    source: Source = _PINNED


def _each(below_36: str, on_36: str) -> Mapping[str, str]:
    return dict.fromkeys(("1.33", "1.34", "1.35"), below_36) | {"1.36": on_36}


VPC_CNI = EksAddon(
    name="vpc-cni",
    versions=_each("v1.21.1-eksbuild.5", "v1.22.4-eksbuild.3"),
    service_account="aws-node",
    policies=("AmazonEKS_CNI_Policy",),
    needs_nodes=False,
)
KUBE_PROXY = EksAddon(
    name="kube-proxy",
    versions={
        "1.33": "v1.33.9-eksbuild.2",
        "1.34": "v1.34.5-eksbuild.2",
        "1.35": "v1.35.2-eksbuild.4",
        "1.36": "v1.36.0-eksbuild.17",
    },
    needs_nodes=False,
)
POD_IDENTITY_AGENT = EksAddon(
    name="eks-pod-identity-agent",
    versions=_each("v1.3.10-eksbuild.2", "v1.4.0-eksbuild.2"),
    needs_nodes=False,
)
COREDNS = EksAddon(name="coredns", versions=_each("v1.13.2-eksbuild.4", "v1.14.3-eksbuild.14"))
METRICS_SERVER = EksAddon(
    name="metrics-server", versions=_each("v0.8.1-eksbuild.4", "v0.9.0-eksbuild.11")
)
NODE_MONITORING = EksAddon(
    name="eks-node-monitoring-agent",
    versions={"1.34": "v1.4.2-eksbuild.1", "1.35": "v1.6.2-eksbuild.1"},
    source=_OPEN,
)
EBS_CSI = EksAddon(
    name="aws-ebs-csi-driver",
    versions=_each("v1.57.1-eksbuild.1", "v1.66.0-eksbuild.1"),
    service_account="ebs-csi-controller-sa",
    policies=("service-role/AmazonEBSCSIDriverPolicy",),
)
EFS_CSI = EksAddon(
    name="aws-efs-csi-driver",
    versions={"1.34": "v2.1.15-eksbuild.1", "1.35": "v2.3.1-eksbuild.1"},
    service_account="efs-csi-controller-sa",
    policies=("service-role/AmazonEFSCSIDriverPolicy",),
    source=_OPEN,
)
FSX_CSI = EksAddon(
    name="aws-fsx-csi-driver",
    service_account="fsx-csi-controller-sa",
    source=_OPEN,
)
"""gpuyard creates the file system separately, so this role only needs to describe file systems."""
S3_CSI = EksAddon(name="aws-mountpoint-s3-csi-driver", source=_OPEN)
"""It mounts with the permissions of the pod, so it needs none of its own."""
ADDONS = (
    VPC_CNI,
    KUBE_PROXY,
    POD_IDENTITY_AGENT,
    COREDNS,
    METRICS_SERVER,
    NODE_MONITORING,
    EBS_CSI,
)
"""Add-ons of every cluster."""

CLUSTER_POLICIES = ("AmazonEKSClusterPolicy",)
NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")
"""Policies to join the cluster and to pull images; the VPC CNI add-on has its own for pod addresses."""
ADMIN_POLICY = "AmazonEKSClusterAdminPolicy"
POLICIES_SOURCE = find_source("eks.policies")

GATEWAY_SERVICE = "s3"
INTERFACE_SERVICES = (
    "autoscaling",
    "ec2",
    "ecr.api",
    "ecr.dkr",
    "eks",
    "eks-auth",
    "elasticloadbalancing",
    "logs",
    "sqs",
    "ssm",
    "sts",
)
METRICS_SERVICE = "aps-workspaces"
"""The endpoint of Amazon Managed Service for Prometheus, for workspaces (its user guide, interface VPC endpoints)."""
ENDPOINTS_SOURCE = find_source("eks.endpoints")

ZONES_WITHOUT = ("cac1-az3", "use1-az3", "usw1-az2")
"""Ids of zones in which EKS accepts no subnet for a control plane."""
ZONES_SOURCE = find_source("eks.zones")

LOCAL_ZONES_SOURCE = find_source("eks.local-zones")

LOG_DAYS = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653)  # fmt: skip
LOG_DAYS_SOURCE = find_source("eks.log-days")


def log_retention_days(days: int) -> int:
    """The shortest retention of CloudWatch Logs of at least this many days; else its longest."""
    return next((each for each in LOG_DAYS if each >= days), LOG_DAYS[-1])


DISK_KEY_SOURCE = find_source("eks.disk-key")
AUTO_SCALING_ROLE = "aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"
"""The role with which EC2 Auto Scaling starts the instances of node groups."""
DISK_OPERATIONS = (
    "CreateGrant",
    "Decrypt",
    "DescribeKey",
    "Encrypt",
    "GenerateDataKey",
    "GenerateDataKeyWithoutPlaintext",
    "ReEncryptFrom",
    "ReEncryptTo",
)
"""Actions on a KMS key for an encrypted disk."""
