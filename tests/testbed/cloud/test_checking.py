"""Errors of the providers before they call their cloud."""

from typing import Any

from testbed.plugins.cloud.checking import refusals
from testbed.plugins.kubernetes.values import UNKNOWN

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import Base64, Joined, Json
from kit.every import every

NODES = "aws:eks/nodeGroup:NodeGroup"
GOOD: dict[str, Any] = {
    "clusterName": "main",
    "nodeRoleArn": "arn:aws:iam::123456789012:role/node",
    "subnetIds": ["subnet-0a1b2c3d4e5f60718"],
    "scalingConfig": {"minSize": 0, "desiredSize": 1, "maxSize": 2},
}
ROUTE = {"routeTableId": "rtb-1", "destinationCidrBlock": "0.0.0.0/0", "natGatewayId": "nat-1"}
BUCKET = "aws:s3/bucket:Bucket"
TAINT = {"key": "a", "effect": "NO_SCHEDULE"}


def _said(kind: str, inputs: dict[str, Any]) -> list[str]:
    return [each.removeprefix(f"{kind}: ") for each in refusals(kind, inputs)]


def test_what_is_right_passes():
    assert refusals(NODES, GOOD) == []
    assert refusals("aws:ec2/route:Route", ROUTE) == []
    assert refusals(BUCKET, {}) == []


def test_an_unknown_type_is_rejected_with_the_nearest():
    assert refusals("aws:eks/nodegroup:Nodegroup", {}) == [
        "aws:eks/nodegroup:Nodegroup: no such type here; the nearest is aws:eks/nodeGroup:NodeGroup"
    ]
    assert refusals("nonsense", {}) == ["nonsense: no such type here"]


@every(
    ("more", "said"),
    [
        ({"amitype": "x"}, "amitype is no field; the nearest is amiType"),
        ({"zzz": 1}, "zzz is no field"),
        ({"nodeRoleArn": None}, "nodeRoleArn is missing; it is required"),
        ({"nodeRoleArn": ""}, "nodeRoleArn is ''; allowed: a value that is not empty"),
        ({"version": 1.33}, "version is 1.33; allowed: text"),
        ({"forceUpdateVersion": "true"}, "forceUpdateVersion is 'true'; allowed: true or false"),
        ({"diskSize": "20"}, "diskSize is '20'; allowed: a whole number"),
        ({"diskSize": True}, "diskSize is True; allowed: a whole number"),
        ({"diskSize": 20.5}, "diskSize is 20.5; allowed: a whole number"),
        ({"labels": ["a"]}, "labels is ['a']; allowed: keys and values"),
        ({"labels": {"a": 1}}, 'labels["a"] is 1; allowed: text'),
        ({"taints": TAINT}, f"taints is {TAINT!r}; allowed: a list of an object"),
        ({"subnetIds": []}, "subnetIds is []; allowed: 1 items or more"),
        ({"subnetIds": [3]}, "subnetIds[0] is 3; allowed: text"),
        ({"taints": [{"key": "a"}]}, "taints[0].effect is missing; it is required"),
        (
            {"taints": [{"key": "a", "effect": "NoSchedule"}]},
            "taints[0].effect is 'NoSchedule'; allowed: one of NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE",
        ),
        (
            {"nodeGroupName": "x" * 64},
            f"nodeGroupName is {'x' * 64!r}; allowed: 63 characters or less, and these are 64",
        ),
        (
            {"nodeGroupName": "a", "nodeGroupNamePrefix": "b"},
            "nodeGroupName and nodeGroupNamePrefix exclude each other; give one",
        ),
        (
            {"updateConfig": {"maxUnavailable": 0}},
            "updateConfig.maxUnavailable is 0; allowed: 1 or more",
        ),
        (
            {"updateConfig": {"maxUnavailable": 101}},
            "updateConfig.maxUnavailable is 101; allowed: 100 or less",
        ),
        (
            {"updateConfig": {}},
            "give exactly one of updateConfig.maxUnavailable, updateConfig.maxUnavailablePercentage",
        ),
        (
            {"clusterName": "-x"},
            "clusterName is '-x'; allowed: text that matches ^[0-9A-Za-z][0-9A-Za-z_-]*$",
        ),
    ],
)
def test_one_error_is_reported_once(more, said):
    assert _said(NODES, {**GOOD, **more}) == [said]


def test_more_taints_than_there_may_be():
    (said,) = _said(NODES, {**GOOD, "taints": [TAINT] * 51})
    assert said.endswith("…; allowed: 50 items or less")


@every(
    ("kind", "inputs", "said"),
    [
        (
            "aws:ec2/vpc:Vpc",
            {"cidrBlock": "10.0.0.1/16"},
            "cidrBlock is '10.0.0.1/16'; allowed: text of the form cidr-network",
        ),
        (
            "aws:ec2/vpc:Vpc",
            {"cidrBlock": "10.0.0.0/8"},
            "cidrBlock is '10.0.0.0/8'; allowed: a range with a mask of 16 to 28 bits",
        ),
        (
            "aws:ec2/flowLog:FlowLog",
            {"vpcId": "vpc-1", "subnetId": "subnet-1"},
            "give exactly one of eniId, regionalNatGatewayId, subnetId",
        ),
        (
            "aws:kms/key:Key",
            {"policy": "{"},
            "policy is '{'; allowed: text of the form iam-policy-json",
        ),
        (
            "aws:kms/key:Key",
            {"policy": "[]"},
            "policy is '[]'; allowed: text of the form iam-policy-json",
        ),
        (
            "aws:kms/key:Key",
            {"deletionWindowInDays": 3},
            "deletionWindowInDays is 3; allowed: 7 or more",
        ),
        (
            "aws:kms/alias:Alias",
            {"name": "alias/aws/x", "targetKeyId": "k"},
            "name is 'alias/aws/x'; allowed: text that does not match ^alias/aws/",
        ),
        (
            "aws:iam/policy:Policy",
            {"policy": "{}", "path": "a"},
            "path is 'a'; allowed: a path that begins and ends with a slash and has no two of them together",
        ),
        (
            "aws:iam/openIdConnectProvider:OpenIdConnectProvider",
            {"clientIdLists": ["a"], "url": "http://x"},
            "url is 'http://x'; allowed: text of the form https-url",
        ),
        (
            "gcp:kms/cryptoKey:CryptoKey",
            {"keyRing": "r", "rotationPeriod": "3600s"},
            "rotationPeriod is '3600s'; allowed: 86400s or more",
        ),
        (
            "gcp:projects/service:Service",
            {"service": "container"},
            "service is 'container'; allowed: a service's full name, such as container.googleapis.com",
        ),
        (
            "gcp:serviceaccount/iAMMember:IAMMember",
            {"serviceAccountId": "a@b", "role": "r", "member": "user:a"},
            "serviceAccountId is 'a@b'; allowed: projects/PROJECT/serviceAccounts/EMAIL",
        ),
        (
            "gcp:compute/network:Network",
            {"name": "Main"},
            "name is 'Main'; allowed: text that matches ^(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)$",
        ),
        (
            "gcp:container/cluster:Cluster",
            {
                "location": "us-central1",
                "initialNodeCount": 1,
                "loggingConfig": {"enableComponents": ["ALL"]},
            },
            "loggingConfig.enableComponents[0] is 'ALL'",
        ),
    ],
)
def test_limits_that_are_forms_and_checks(kind, inputs, said):
    assert any(each.startswith(said) for each in _said(kind, inputs)), _said(kind, inputs)


def test_what_is_not_known_yet_passes_and_counts_as_given():
    late = {
        **GOOD,
        "nodeRoleArn": UnresolvedOutput("role.arn"),
        "scalingConfig": UNKNOWN,
        "labels": {"a": UNKNOWN},
    }
    assert refusals(NODES, late) == []
    both = {
        **GOOD,
        "launchTemplate": {"id": UnresolvedOutput("a.id"), "name": UNKNOWN, "version": "1"},
    }
    assert _said(NODES, both) == [
        "launchTemplate.id and launchTemplate.name exclude each other; give one"
    ]


def test_text_of_a_graph_is_judged_where_it_is_known():
    kind = "aws:iam/policy:Policy"
    assert refusals(kind, {"policy": Json({"Statement": [UnresolvedOutput("a.arn")]})}) == []
    assert _said(kind, {"policy": Json([])}) == [
        "policy is '[]'; allowed: text of the form iam-policy-json",
        "MalformedPolicyDocument: Syntax errors in policy.",
    ]
    template = {"userData": Base64(Joined("a", UnresolvedOutput("cluster.name")))}
    assert refusals("aws:ec2/launchTemplate:LaunchTemplate", template) == []


def test_what_only_the_api_lists_is_refused_by_the_service():
    inputs = {
        "location": "us-central1",
        "initialNodeCount": 1,
        "enterpriseConfig": {"desiredTier": "GOLD"},
    }
    assert any(
        "desiredTier is 'GOLD'" in each for each in _said("gcp:container/cluster:Cluster", inputs)
    )


def test_a_block_that_the_tables_have_not_inside_is_left_open():
    pools = {"location": "us-central1", "nodePools": [{"name": "a", "nodeCount": 1}]}
    assert refusals("gcp:container/cluster:Cluster", pools) == []
