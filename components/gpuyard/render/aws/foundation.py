"""What node groups need of a cluster: outputs of gpuyard's resources, or of an existing cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuyard.plan.cluster.ranges import without_local_zones
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import Joined

StringInput = str | UnresolvedOutput | Joined
"""A value that is known now, or once the cluster exists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EksNodeInputs:
    """The properties of a cluster that its nodes need."""

    cluster: StringInput
    """Its name."""
    endpoint: StringInput
    """The endpoint of the API server: `https://…`."""
    authority: StringInput
    """The certificate of the cluster's authority, in base64."""
    service_cidr: StringInput
    """The address range of services, from which a node derives the address of cluster DNS."""
    vpc: StringInput
    subnets: Mapping[str, StringInput]
    """Ids of the private subnets, by zone: nodes have no public address."""
    node_role: StringInput
    """ARN of the node role, with its policies attached."""
    security_groups: tuple[StringInput, ...]
    """Of every network interface of a node. They allow all traffic between each other, both ways,
    as EFA requires; the group of the control plane is among them."""
    disk_key: StringInput | None = None
    """ARN of the key that encrypts disks; None: the account's default key for disks."""
    after: tuple[str, ...] = ()
    """Resources that nodes need to become ready: the network add-on, the policies of the node
    role."""

    def subnets_in(self, zones: Sequence[str]) -> list[StringInput]:
        """The subnets of these zones in order; without zones, of all availability zones."""
        if missing := sorted(set(zones) - self.subnets.keys()):
            available = ", ".join(sorted(self.subnets))
            raise ValueError(
                f"no private subnet in {', '.join(missing)}; private subnets exist in {available}"
            )
        return [self.subnets[zone] for zone in sorted(zones or without_local_zones(self.subnets))]
