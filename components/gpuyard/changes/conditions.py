"""Fields of which only some changes replace the resource, by kind and path.

Each condition is that of the provider (a CustomizeDiff or ForceNewIf of the sources that
`gpuyard_core.catalogue.cloud_fields` names).
"""

import ipaddress
from collections.abc import Callable, Mapping
from typing import Any

from gpuyard.changes.unknown_values import at_path

_Values = Mapping[str, Any]
FieldCondition = Callable[[_Values, _Values, Any, Any], bool]
"""Takes the state, the inputs, and the field's old and new value."""


def _other_source(_state: _Values, _given: _Values, old: Any, new: Any) -> bool:
    """Another kind of source replaces a rule; another source of the same kind does not."""
    return old is None or new is None


def _shrinks(_state: _Values, _given: _Values, old: Any, new: Any) -> bool:
    """A range may only grow around its old value."""
    try:
        before, after = ipaddress.IPv4Network(old), ipaddress.IPv4Network(new)
    except ValueError:  # also for an unknown value
        return True
    return not before.subnet_of(after)


def _number(value: Any) -> list[int]:
    """A version in comparable form."""
    return [int(part) for part in str(value or 0).split(".") if part.isdigit()]


def _other_owner(_state: _Values, _given: _Values, old: Any, _new: Any) -> bool:
    """Setting an owner for the first time changes nothing; changing it replaces the bucket."""
    return bool(old)


def _switched_off(_state: _Values, _given: _Values, old: Any, new: Any) -> bool:
    return old is True and new is not True


_VPC, _NAT = "aws:ec2/vpc:Vpc", "aws:ec2/natGateway:NatGateway"
_RULES = [f"aws:vpc/securityGroup{way}Rule:SecurityGroup{way}Rule" for way in ("Egress", "Ingress")]
_PARTS = ("Logging", "ServerSideEncryptionConfiguration", "Versioning")
_LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"
_EKS, _GKE = "aws:eks/cluster:Cluster", "gcp:container/cluster:Cluster"
CONDITIONS: Mapping[tuple[str, str], FieldCondition] = {
    **{
        (kind, source): _other_source
        for kind in _RULES
        for source in ("cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId")
    },
    **{
        (f"aws:s3/bucket{part}:Bucket{part}", "expectedBucketOwner"): _other_owner
        for part in _PARTS
    },
    (_NAT, "availabilityZoneAddresses"): lambda _s, _g, old, new: not old or not new,
    (_NAT, "secondaryPrivateIpAddressCount"): (
        lambda _s, given, _o, new: given.get("connectivityType") == "private" and bool(new)
    ),
    ("aws:ec2/subnet:Subnet", "ipv6CidrBlock"): (
        lambda state, _g, _o, _n: state.get("assignIpv6AddressOnCreation") is True
    ),
    (_VPC, "cidrBlock"): lambda _s, given, _o, _n: given.get("ipv4NetmaskLength") is None,
    (_VPC, "instanceTenancy"): lambda _s, _g, old, new: (old, new) != ("dedicated", "default"),
    ("aws:ec2/vpcEndpoint:VpcEndpoint", "privateDnsEnabled"): (
        lambda _s, given, _o, _n: given.get("vpcEndpointType") != "Interface"
    ),
    (_EKS, "encryptionConfig"): lambda _s, _g, _o, new: new is None,
    (_EKS, "vpcConfig.controlPlaneEgressMode"): (
        lambda _s, _g, old, new: (old, new) == ("CUSTOMER_ROUTED", "AWS_MANAGED")
    ),
    (_LUSTRE, "fileSystemTypeVersion"): lambda _s, _g, old, new: _number(new) < _number(old),
    (_LUSTRE, "metadataConfiguration.iops"): (
        lambda _s, given, old, new: (
            at_path(given, ["metadataConfiguration", "mode"]) == "USER_PROVISIONED"
            and (new or 0) < (old or 0)
        )
    ),
    (_LUSTRE, "storageCapacity"): (
        lambda _s, given, old, new: (
            given.get("deploymentType") == "SCRATCH_1" or (new or 0) < (old or 0)
        )
    ),
    ("gcp:compute/subnetwork:Subnetwork", "ipCidrRange"): _shrinks,
    (_GKE, "enableFqdnNetworkPolicy"): _switched_off,
    (_GKE, "enableL4IlbSubsetting"): _switched_off,
    ("gcp:storage/bucket:Bucket", "retentionPolicy.isLocked"): _switched_off,
}
