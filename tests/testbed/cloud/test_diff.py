"""Changes, replacements, and equal values."""

import json
from typing import Any

from testbed.plugins.cloud import diff, facts
from testbed.plugins.cloud.gather import CLOUDS
from testbed.plugins.kubernetes.values import UNKNOWN

from kit.every import every

GROUP, CLUSTER = "aws:eks/nodeGroup:NodeGroup", "aws:eks/cluster:Cluster"
POOL, GKE = "gcp:container/nodePool:NodePool", "gcp:container/cluster:Cluster"
VPC, NAT = "aws:ec2/vpc:Vpc", "aws:ec2/natGateway:NatGateway"
LUSTRE, SUBNETWORK = (
    "aws:fsx/lustreFileSystem:LustreFileSystem",
    "gcp:compute/subnetwork:Subnetwork",
)
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
TAINTS = [{"key": "a", "effect": "NO_SCHEDULE"}, {"key": "b", "effect": "NO_SCHEDULE"}]


def _scheduled(names: list[str]) -> dict[str, Any]:
    return {"enableK8sBetaApis": {"enabledApis": names}}


def test_each_condition_of_the_tables_has_its_function():
    wanted = {
        (kind, path)
        for cloud in CLOUDS
        for kind in facts.kinds(cloud)
        for path, about in (facts.resource(kind) or {})["inputs"].items()
        if about.get("replace") == "if"
    }
    assert set(diff.CONDITIONS) == wanted


@every(
    ("kind", "state", "given"),
    [
        (GROUP, {"labels": {"a": "b"}, "status": "ACTIVE"}, {"labels": {"a": "b"}}),
        (GROUP, {"diskSize": 20}, {}),
        (GROUP, {"taints": TAINTS}, {"taints": TAINTS[::-1]}),
        (GROUP, {"subnetIds": ["a", "b"]}, {"subnetIds": ["b", "a"]}),
        (GROUP, {"updateConfig": {"maxUnavailable": 1}}, {}),
        (
            CLUSTER,
            {"vpcConfig": {"subnetIds": ["a"], "vpcId": "v"}},
            {"vpcConfig": {"subnetIds": ["a"]}},
        ),
        (CLUSTER, {"deletionProtection": False}, {}),
        (
            "aws:iam/role:Role",
            {"assumeRolePolicy": '{"a": [1]}'},
            {"assumeRolePolicy": '{"a":[1]}'},
        ),
        (SUBNETWORK, {"network": "projects/p/global/networks/n"}, {"network": "n"}),
        (GKE, {"datapathProvider": "DATAPATH_PROVIDER_UNSPECIFIED"}, {"datapathProvider": ""}),
    ],
)
def test_what_is_the_same_is_no_change(kind, state, given):
    assert diff.compare(kind, state, given).found == {}


@every(
    ("kind", "state", "given", "found"),
    [
        (
            GROUP,
            {"labels": {"a": "b"}},
            {"labels": {"a": "c", "d": "e"}},
            {'labels["a"]': ("update", False), 'labels["d"]': ("add", False)},
        ),
        (
            GROUP,
            {"taints": TAINTS},
            {"taints": TAINTS[:1]},
            {
                "taints[0]": ("delete", False),
                "taints[0].key": ("delete", False),
                "taints[0].effect": ("delete", False),
            },
        ),
        (
            GROUP,
            {"scalingConfig": {"minSize": 0, "maxSize": 1}},
            {"scalingConfig": {"minSize": 0, "maxSize": 2}},
            {"scalingConfig.maxSize": ("update", False)},
        ),
        (GROUP, {"amiType": "CUSTOM"}, {"amiType": "AL2_x86_64"}, {"amiType": ("update", True)}),
        (
            GROUP,
            {"instanceTypes": ["a"]},
            {"instanceTypes": ["a", "b"]},
            {"instanceTypes[1]": ("add", True)},
        ),
        (
            GROUP,
            {"launchTemplate": {"id": "a", "version": "1"}},
            {"launchTemplate": {"id": "a", "version": UNKNOWN}},
            {"launchTemplate.version": ("update", False)},
        ),
        (
            GROUP,
            {"launchTemplate": {"id": "a", "version": "1"}},
            {"launchTemplate": {"id": "b", "version": "1"}},
            {"launchTemplate.id": ("update", True)},
        ),
        (GROUP, {"version": "1.33"}, {"version": UNKNOWN}, {"version": ("update", False)}),
        (
            POOL,
            {},
            {"placementPolicy": {"type": "COMPACT"}},
            {"placementPolicy": ("add", True), "placementPolicy.type": ("add", False)},
        ),
        (
            POOL,
            {"nodeConfig": {"spot": True}},
            {"nodeConfig": {"spot": False}},
            {"nodeConfig.spot": ("update", True)},
        ),
        (
            POOL,
            {"nodeConfig": {"machineType": "a"}},
            {"nodeConfig": {"machineType": "b"}},
            {"nodeConfig.machineType": ("update", False)},
        ),
        (
            CLUSTER,
            {"encryptionConfig": {"resources": ["secrets"]}},
            {},
            {"encryptionConfig": ("delete", True), "encryptionConfig.resources": ("delete", False)},
        ),
        (
            CLUSTER,
            {},
            {"encryptionConfig": {"resources": ["secrets"]}},
            {"encryptionConfig": ("add", False), "encryptionConfig.resources": ("add", False)},
        ),
        (
            CLUSTER,
            {"vpcConfig": {"controlPlaneEgressMode": "CUSTOMER_ROUTED"}},
            {"vpcConfig": {"controlPlaneEgressMode": "AWS_MANAGED"}},
            {"vpcConfig.controlPlaneEgressMode": ("update", True)},
        ),
        (
            VPC,
            {"cidrBlock": "10.0.0.0/16"},
            {"cidrBlock": "10.1.0.0/16"},
            {"cidrBlock": ("update", True)},
        ),
        (
            VPC,
            {"instanceTenancy": "dedicated"},
            {"instanceTenancy": "default"},
            {"instanceTenancy": ("update", False)},
        ),
        (
            INGRESS,
            {"cidrIpv4": "10.0.0.0/8"},
            {"cidrIpv4": "10.0.0.0/9"},
            {"cidrIpv4": ("update", False)},
        ),
        (
            INGRESS,
            {"cidrIpv4": "10.0.0.0/8"},
            {"prefixListId": "pl-1"},
            {"cidrIpv4": ("delete", True), "prefixListId": ("add", True)},
        ),
        (
            SUBNETWORK,
            {"ipCidrRange": "10.0.0.0/20"},
            {"ipCidrRange": "10.0.0.0/19"},
            {"ipCidrRange": ("update", False)},
        ),
        (
            SUBNETWORK,
            {"ipCidrRange": "10.0.0.0/20"},
            {"ipCidrRange": "10.0.0.0/21"},
            {"ipCidrRange": ("update", True)},
        ),
        (
            SUBNETWORK,
            {"ipCidrRange": "10.0.0.0/20"},
            {"ipCidrRange": "none"},
            {"ipCidrRange": ("update", True)},
        ),
        (
            LUSTRE,
            {"storageCapacity": 2400},
            {"storageCapacity": 4800},
            {"storageCapacity": ("update", False)},
        ),
        (
            LUSTRE,
            {"storageCapacity": 2400},
            {"storageCapacity": 1200},
            {"storageCapacity": ("update", True)},
        ),
        (
            LUSTRE,
            {"fileSystemTypeVersion": "2.15"},
            {"fileSystemTypeVersion": "2.12"},
            {"fileSystemTypeVersion": ("update", True)},
        ),
        (
            GKE,
            {"enableL4IlbSubsetting": True},
            {"enableL4IlbSubsetting": False},
            {"enableL4IlbSubsetting": ("update", True)},
        ),
        (
            GKE,
            _scheduled(["a"]),
            _scheduled(["a", "b"]),
            {"enableK8sBetaApis.enabledApis[0]": ("add", False)},
        ),
        (
            GKE,
            _scheduled(["a", "b"]),
            _scheduled(["a"]),
            {"enableK8sBetaApis.enabledApis[0]": ("delete", True)},
        ),
    ],
)
def test_a_change_replaces_where_the_provider_does(kind, state, given, found):
    assert diff.compare(kind, state, given).found == found


def test_a_set_shows_only_what_left_and_came():
    changes = diff.compare(
        GROUP, {"taints": TAINTS}, {"taints": [TAINTS[1], {"key": "c", "effect": "NO_EXECUTE"}]}
    )
    assert set(changes.found) == {"taints[0].key", "taints[0].effect"}
    assert changes.fields == {"taints"}


def test_a_name_of_ones_own_is_deleted_first_and_a_made_one_is_not():
    old, new = (
        {"nodeGroupName": "a", "amiType": "CUSTOM"},
        {"nodeGroupName": "a", "amiType": "AL2_x86_64"},
    )
    assert diff.compare(GROUP, old, new).delete_first
    assert not diff.compare(GROUP, old, {**new, "__defaults": ["nodeGroupName"]}).delete_first
    assert not diff.compare(GROUP, old, old).delete_first
    mount = "aws:efs/mountTarget:MountTarget"
    assert diff.compare(mount, {"subnetId": "a"}, {"subnetId": "b"}).delete_first


def test_a_preview_of_a_change_does_not_know_what_the_cloud_will_count():
    template = "aws:ec2/launchTemplate:LaunchTemplate"
    assert list(diff.unknown_when_changed(template, {"userData"})) == [
        "latestVersion",
        "defaultVersion",
    ]
    assert list(diff.unknown_when_changed(template, {"description"})) == []
    assert "tagsAll" in set(diff.unknown_when_changed(VPC, {"tags"}))
    assert list(diff.unknown_when_changed(CLUSTER, {"version"})) == ["platformVersion"]


def test_text_that_is_no_json_is_compared_as_text():
    assert diff.compare(
        "aws:iam/role:Role", {"assumeRolePolicy": "a"}, {"assumeRolePolicy": json.dumps({})}
    ).found
