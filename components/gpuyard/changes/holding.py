"""Resources of clouds that hold what nobody gets back by making them again."""

from collections.abc import Mapping
from enum import StrEnum


class Holds(StrEnum):
    """What is lost with a resource."""

    CLUSTER = "every object and job in the cluster"
    NODES = "its nodes, and what runs on them"
    NETWORK = "what stands in the network"
    KEY = "the key, and what only it can read"
    DATA = "the data in it"
    PAID = "what is paid for it, until it ends"


HOLDING: Mapping[str, Holds] = {
    "aws:eks/cluster:Cluster": Holds.CLUSTER,
    "gcp:container/cluster:Cluster": Holds.CLUSTER,
    "aws:eks/nodeGroup:NodeGroup": Holds.NODES,
    "gcp:container/nodePool:NodePool": Holds.NODES,
    "aws:ec2/capacityBlockReservation:CapacityBlockReservation": Holds.PAID,
    "aws:ec2/vpc:Vpc": Holds.NETWORK,
    "aws:ec2/subnet:Subnet": Holds.NETWORK,
    "gcp:compute/network:Network": Holds.NETWORK,
    "gcp:compute/subnetwork:Subnetwork": Holds.NETWORK,
    "aws:kms/key:Key": Holds.KEY,
    "gcp:kms/cryptoKey:CryptoKey": Holds.KEY,
    "gcp:kms/keyRing:KeyRing": Holds.KEY,
    "aws:cloudwatch/logGroup:LogGroup": Holds.DATA,
    "aws:efs/fileSystem:FileSystem": Holds.DATA,
    "aws:fsx/lustreFileSystem:LustreFileSystem": Holds.DATA,
    "aws:s3/bucket:Bucket": Holds.DATA,
    "gcp:filestore/instance:Instance": Holds.DATA,
    "gcp:lustre/instance:Instance": Holds.DATA,
    "gcp:storage/bucket:Bucket": Holds.DATA,
}
"""By kind. What is not here comes again as it was, and nothing that runs misses it."""

ROLLING: Mapping[str, tuple[str, ...]] = {
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


def rolls(kind: str, path: str) -> bool:
    """Whether a change of this field, in place, takes the nodes of a group one after the other."""
    return any(
        path == each or path.startswith((f"{each}.", f"{each}[", f'{each}["'))
        for each in ROLLING.get(kind, ())
    )
