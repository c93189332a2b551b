"""Cloud resources with content that a new resource does not restore."""

from collections.abc import Mapping
from enum import StrEnum


class ResourceContent(StrEnum):
    """What is lost with a resource."""

    CLUSTER = "every object and job in the cluster"
    NODES = "its nodes and the workloads on them"
    NETWORK = "all resources in the network"
    KEY = "the key and all data encrypted with it"
    DATA = "the data in it"
    PAID = "its prepaid cost until it ends"
    OBJECTS = "all objects of its kinds in every namespace, and their pods"


CONTENT_BY_KIND: Mapping[str, ResourceContent] = {
    "aws:eks/cluster:Cluster": ResourceContent.CLUSTER,
    "gcp:container/cluster:Cluster": ResourceContent.CLUSTER,
    "aws:eks/nodeGroup:NodeGroup": ResourceContent.NODES,
    "gcp:container/nodePool:NodePool": ResourceContent.NODES,
    "aws:ec2/capacityBlockReservation:CapacityBlockReservation": ResourceContent.PAID,
    "aws:ec2/vpc:Vpc": ResourceContent.NETWORK,
    "aws:ec2/subnet:Subnet": ResourceContent.NETWORK,
    "gcp:compute/network:Network": ResourceContent.NETWORK,
    "gcp:compute/subnetwork:Subnetwork": ResourceContent.NETWORK,
    "aws:kms/key:Key": ResourceContent.KEY,
    "gcp:kms/cryptoKey:CryptoKey": ResourceContent.KEY,
    "gcp:kms/keyRing:KeyRing": ResourceContent.KEY,
    "aws:cloudwatch/logGroup:LogGroup": ResourceContent.DATA,
    "aws:efs/fileSystem:FileSystem": ResourceContent.DATA,
    "aws:fsx/lustreFileSystem:LustreFileSystem": ResourceContent.DATA,
    "aws:s3/bucket:Bucket": ResourceContent.DATA,
    "gcp:filestore/instance:Instance": ResourceContent.DATA,
    "gcp:lustre/instance:Instance": ResourceContent.DATA,
    "gcp:storage/bucket:Bucket": ResourceContent.DATA,
}
"""By kind. Other resources are recreated without loss, and no workload depends on them."""

ROLLING_FIELDS: Mapping[str, tuple[str, ...]] = {
    "aws:eks/nodeGroup:NodeGroup": ("launchTemplate", "releaseVersion", "version"),
    "gcp:container/nodePool:NodePool": (
        "networkConfig.networkPerformanceConfig",
        "nodeConfig.bootDisk",
        "nodeConfig.confidentialNodes",
        "nodeConfig.containerdConfig",
        "nodeConfig.diskSizeGb",
        "nodeConfig.diskType",
        "nodeConfig.fastSocket",
        "nodeConfig.gcfsConfig",
        "nodeConfig.gvnic",
        "nodeConfig.imageType",
        "nodeConfig.kubeletConfig",
        "nodeConfig.linuxNodeConfig",
        "nodeConfig.loggingVariant",
        "nodeConfig.machineType",
        "nodeConfig.storagePools",
        "nodeConfig.workloadMetadataConfig",
        "version",
    ),
}
"""Fields that are updated in place and replace every node, which the cloud drains in batches.

EKS user guide, "Update a managed node group": a new version, release or launch template version rolls the
nodes.
GKE: `nodePools.update` takes these in addition to version and image, and "Node upgrade strategies" says how
nodes are then replaced; no page that was read lists which of them do. One too many announces a drain that
does not happen.
"""


def forces_node_rollout(kind: str, path: str) -> bool:
    """Whether an in-place change of this field replaces the nodes of a group in batches."""
    return any(
        path == each or path.startswith((f"{each}.", f"{each}[", f'{each}["'))
        for each in ROLLING_FIELDS.get(kind, ())
    )
