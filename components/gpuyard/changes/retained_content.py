"""Resources of clouds that hold what nobody gets back by making them again."""

from collections.abc import Mapping
from enum import StrEnum


class ResourceContent(StrEnum):
    """What is lost with a resource."""

    CLUSTER = "every object and job in the cluster"
    NODES = "its nodes, and what runs on them"
    NETWORK = "what stands in the network"
    KEY = "the key, and what only it can read"
    DATA = "the data in it"
    PAID = "what is paid for it, until it ends"


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
"""By kind. What is not here comes again as it was, and nothing that runs misses it."""

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
"""Fields that change where they are, and make every node anew for it: the cloud drains them some at a time.

EKS user guide, "Update a managed node group": a new version, release or launch template version rolls the
nodes.
GKE: `nodePools.update` takes these beside version and image, and "Node upgrade strategies" says how nodes
are then made anew; no page that was read lists which of them do. One too many announces a drain that does
not come.
"""


def forces_rollout(kind: str, path: str) -> bool:
    """Whether a change of this field, in place, takes the nodes of a group one after the other."""
    return any(
        path == each or path.startswith((f"{each}.", f"{each}[", f'{each}["'))
        for each in ROLLING_FIELDS.get(kind, ())
    )
