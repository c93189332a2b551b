"""What node groups rest on: outputs of the cluster's own resources, or of one that exists already."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuyard.plan.cluster.ranges import without_local_zones
from gpuyard.plan.records.late import Late
from gpuyard.render.cloud.graph import Joined

StringInput = str | Late | Joined
"""A value that is known now, or once the cluster is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFoundation:
    """A cluster, as far as its nodes need to know it."""

    cluster: StringInput
    """Its name."""
    endpoint: StringInput
    """Where its API server answers: `https://…`."""
    authority: StringInput
    """The certificate of its authority, in base64."""
    service_cidr: StringInput
    """Addresses of its services, from which a node takes that of its DNS."""
    vpc: StringInput
    subnets: Mapping[str, StringInput]
    """Ids of the private subnets, by zone: nodes have no public address."""
    node_role: StringInput
    """ARN of the role that nodes have, its policies attached."""
    security_groups: tuple[StringInput, ...]
    """Of every network interface of a node. They let all traffic of each other through, both ways, as EFA
    needs; that of the control plane is among them."""
    disk_key: StringInput | None = None
    """ARN of the key that disks are encrypted with; None: the account's own key for disks."""
    after: tuple[str, ...] = ()
    """Resources without which no node becomes ready: the network add-on, the policies of the node role."""

    def subnets_in(self, zones: Sequence[str]) -> list[StringInput]:
        """The subnets of these zones, in order of zone; of all availability zones where none is named."""
        if missing := sorted(set(zones) - self.subnets.keys()):
            available = ", ".join(sorted(self.subnets))
            raise ValueError(
                f"no private subnet in {', '.join(missing)}; there are some in {available}"
            )
        return [self.subnets[zone] for zone in sorted(zones or without_local_zones(self.subnets))]
