"""One resource compared with what is there: every way in which a provider compares."""

from gpuyard.changes.fields import CONDITIONS, UnknownMarker, field_changes
from kit.every import every

GROUP, POOL = "aws:eks/nodeGroup:NodeGroup", "gcp:container/nodePool:NodePool"
ROLE, TEMPLATE = "aws:iam/role:Role", "aws:ec2/launchTemplate:LaunchTemplate"
SUBNET, VPC = "aws:ec2/subnet:Subnet", "aws:ec2/vpc:Vpc"
CLUSTER, GKE = "aws:eks/cluster:Cluster", "gcp:container/cluster:Cluster"
LATER, ASKED = UnknownMarker.COMPUTED, UnknownMarker.QUERIED
SIZES = {"minSize": 0, "maxSize": 2, "desiredSize": 1}
TAINT = {"key": "a", "value": "b", "effect": "NO_SCHEDULE"}
OTHER = {**TAINT, "key": "c"}


@every(
    "kind, old, new, found",
    [
        (GROUP, {"amiType": "A"}, {"amiType": "A"}, {}),
        (GROUP, {"amiType": "A"}, {"amiType": "B"}, {"amiType": True}),
        (GROUP, {"amiType": "A"}, {}, {}),  # the provider keeps it
        (GROUP, {"amiType": "A"}, {"amiType": LATER}, {"amiType": True}),
        (GROUP, {"amiType": "A"}, {"amiType": ASKED}, {}),
        (GROUP, {}, {"amiType": ASKED}, {"amiType": True}),
        (GROUP, {"amiType": ASKED}, {"amiType": "A"}, {}),
        (GROUP, {"scalingConfig": SIZES}, {"scalingConfig": {**SIZES, "maxSize": 4}}, {"scalingConfig.maxSize": False}),
        (GROUP, {"scalingConfig": SIZES}, {"scalingConfig": LATER}, {"scalingConfig": False}),
        (GROUP, {"scalingConfig": SIZES}, {}, {"scalingConfig": False,
         "scalingConfig.maxSize": False, "scalingConfig.desiredSize": False}),
        (GROUP, {"labels": {"a": "b"}}, {"labels": {"a": "c", "d": "e"}},
         {'labels["a"]': False, 'labels["d"]': False}),
        (GROUP, {"labels": {"a": "b"}}, {"labels": LATER}, {"labels": False}),
        (GROUP, {"taints": [TAINT, OTHER]}, {"taints": [OTHER, TAINT]}, {}),
        (GROUP, {"taints": [TAINT]}, {"taints": [TAINT, OTHER]}, {
         "taints[0]": False, "taints[0].key": False, "taints[0].value": False, "taints[0].effect": False}),
        (GROUP, {"taints": [TAINT]}, {"taints": [OTHER]}, {"taints[0].key": False}),
        (GROUP, {"taints": [TAINT]}, {"taints": [LATER]}, {"taints[0]": False}),
        (GROUP, {"subnetIds": ["a", "b"]}, {"subnetIds": ["b", "a"]}, {}),
        (GROUP, {"subnetIds": ["a", "b"]}, {"subnetIds": ["b"]}, {"subnetIds[0]": True}),
        (GROUP, {"subnetIds": ["a", "b"]}, {"subnetIds": ["b", ASKED]}, {}),
        (GROUP, {"subnetIds": ["a"]}, {"subnetIds": [LATER]}, {"subnetIds[0]": True}),
        (GROUP, {"subnetIds": ["a"]}, {"subnetIds": LATER}, {"subnetIds": True}),
        (GROUP, {"launchTemplate": {"id": "lt", "version": "3"}}, {"launchTemplate": {"id": "lt", "version": 3}}, {}),
        (GROUP, {"forceUpdateVersion": True}, {"forceUpdateVersion": True}, {}),
        (ROLE, {"assumeRolePolicy": '{"a":1,"b":2}'}, {"assumeRolePolicy": '{"b": 2, "a": 1}'}, {}),
        (ROLE, {"assumeRolePolicy": "no json"}, {"assumeRolePolicy": "{}"}, {"assumeRolePolicy": False}),
        (ROLE, {"name": "lab-1234567"}, {}, {}),  # the engine's name stays
        (ROLE, {"path": "/"}, {}, {}),
        (ROLE, {"path": "/x/"}, {}, {"path": True}),
        (SUBNET, {"cidrBlock": "10.0.0.0/24"}, {"cidrBlock": "10.0.1.0/24"}, {"cidrBlock": True}),
        (VPC, {"cidrBlock": "10.0.0.0/16"}, {"cidrBlock": "10.1.0.0/16"}, {"cidrBlock": True}),
        (VPC, {"enableDnsSupport": True}, {"enableDnsSupport": False}, {"enableDnsSupport": False}),
        (GKE, {"networkPolicy": {"enabled": True}}, {}, {}),
        (GKE, {"datapathProvider": ""}, {"datapathProvider": "DATAPATH_PROVIDER_UNSPECIFIED"}, {}),
        (GKE, {"datapathProvider": "A"}, {"datapathProvider": "B"}, {"datapathProvider": True}),
        (CLUSTER, {"name": "lab", "__defaults": []}, {"name": "yard"}, {"name": True}),
    ],
)  # fmt: skip
def test_each_difference_and_whether_it_replaces(kind, old, new, found):
    def of(values):
        return {
            each.path: each.forces_replacement for each in field_changes(kind, values[0], values[1])
        }

    assert {
        path: flag for path, flag in of((old, new)).items() if path not in of((old, old))
    } == found


def test_fields_that_somebody_else_owns_are_not_looked_at():
    old = {"scalingConfig": SIZES}
    new = {"scalingConfig": {**SIZES, "desiredSize": 9}}
    assert field_changes(GROUP, old, new)
    assert not field_changes(GROUP, old, new, ("scalingConfig.desiredSize",))


@every(
    "kind, path, state, given, old, new, replaces",
    [
        ("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", "cidrIpv4", {}, {}, "a", "b", False),
        ("aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule", "cidrIpv4", {}, {}, "a", None, True),
        ("aws:s3/bucketVersioning:BucketVersioning", "expectedBucketOwner", {}, {}, "", "1", False),
        ("aws:s3/bucketVersioning:BucketVersioning", "expectedBucketOwner", {}, {}, "1", "2", True),
        ("aws:ec2/natGateway:NatGateway", "availabilityZoneAddresses", {}, {}, [1], [2], False),
        ("aws:ec2/natGateway:NatGateway", "availabilityZoneAddresses", {}, {}, [1], [], True),
        ("aws:ec2/natGateway:NatGateway", "secondaryPrivateIpAddressCount", {}, {"connectivityType": "private"},
         1, 2, True),
        ("aws:ec2/natGateway:NatGateway", "secondaryPrivateIpAddressCount", {}, {}, 1, 2, False),
        (SUBNET, "ipv6CidrBlock", {"assignIpv6AddressOnCreation": True}, {}, "a", "b", True),
        (SUBNET, "ipv6CidrBlock", {}, {}, "a", "b", False),
        (VPC, "cidrBlock", {}, {"ipv4NetmaskLength": 16}, "a", "b", False),
        (VPC, "instanceTenancy", {}, {}, "dedicated", "default", False),
        (VPC, "instanceTenancy", {}, {}, "default", "dedicated", True),
        ("aws:ec2/vpcEndpoint:VpcEndpoint", "privateDnsEnabled", {}, {"vpcEndpointType": "Interface"}, 1, 0, False),
        (CLUSTER, "encryptionConfig", {}, {}, {"a": 1}, None, True),
        (CLUSTER, "vpcConfig.controlPlaneEgressMode", {}, {}, "CUSTOMER_ROUTED", "AWS_MANAGED", True),
        ("aws:fsx/lustreFileSystem:LustreFileSystem", "fileSystemTypeVersion", {}, {}, "2.15", "2.12", True),
        ("aws:fsx/lustreFileSystem:LustreFileSystem", "fileSystemTypeVersion", {}, {}, None, "2.12", False),
        ("aws:fsx/lustreFileSystem:LustreFileSystem", "metadataConfiguration.iops", {},
         {"metadataConfiguration": {"mode": "USER_PROVISIONED"}}, 3000, 1500, True),
        ("aws:fsx/lustreFileSystem:LustreFileSystem", "storageCapacity", {}, {}, 2400, 1200, True),
        ("aws:fsx/lustreFileSystem:LustreFileSystem", "storageCapacity", {}, {}, 1200, 2400, False),
        ("gcp:compute/subnetwork:Subnetwork", "ipCidrRange", {}, {}, "10.0.0.0/20", "10.0.0.0/16", False),
        ("gcp:compute/subnetwork:Subnetwork", "ipCidrRange", {}, {}, "10.0.0.0/20", "10.0.0.0/24", True),
        ("gcp:compute/subnetwork:Subnetwork", "ipCidrRange", {}, {}, "10.0.0.0/20", LATER, True),
        (GKE, "enableL4IlbSubsetting", {}, {}, True, False, True),
        ("gcp:storage/bucket:Bucket", "retentionPolicy.isLocked", {}, {}, False, True, False),
    ],
)  # fmt: skip
def test_some_changes_of_a_field_replace_and_others_do_not(
    kind, path, state, given, old, new, replaces
):
    assert CONDITIONS[kind, path](state, given, old, new) is replaces
