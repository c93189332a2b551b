"""A graph of a cloud as Pulumi resources: names, options, references, and text made of outputs."""

import json

import pulumi
import pytest

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import Base64, CloudCall, CloudGraph, CloudResource, Joined, Json
from gpuyard.resources.clouds import CloudResources
from gpuyard_core.catalogue.software.providers import PROVIDERS

ME = CloudCall(
    kind="aws:index/getCallerIdentity:getCallerIdentity",
    name="me",
    args={},
    outputs=("accountId",),
)
SUBNETS = CloudCall(kind="aws:ec2/getSubnets:getSubnets", name="subnets", args={}, outputs=("ids",))
VPC = CloudResource(
    kind="aws:ec2/vpc:Vpc",
    name="vpc",
    inputs={"cidrBlock": "10.0.0.0/16", "tags": {"Name": "lab"}},
    outputs=("arn",),
    protect=True,
    retain=True,
    ignores=("tags",),
    delete_first=True,
    secret_outputs=("arn",),
)
GATE = CloudResource(
    kind="aws:ec2/internetGateway:InternetGateway",
    name="gate",
    inputs={"vpcId": VPC.get("id"), "tags": {"of": VPC.get("arn"), "in": VPC.get("cidrBlock")}},
    part="train",
)
ROLE = CloudResource(
    kind="aws:iam/role:Role",
    name="role",
    inputs={
        "assumeRolePolicy": Json(
            {"AWS": Joined("arn:aws:iam::", ME.get("accountId"), ":root"), "vpc": VPC.get("arn")}
        ),
        "description": Base64("plain"),
    },
    after=("gate",),
)
TEMPLATE = CloudResource(
    kind="aws:ec2/launchTemplate:LaunchTemplate",
    name="template",
    inputs={},
    outputs=("latestVersion",),
)
GROUP = CloudResource(
    kind="aws:eks/nodeGroup:NodeGroup",
    name="group",
    inputs={
        "clusterName": "lab",
        "nodeRoleArn": ROLE.get("id"),
        "subnetIds": ["subnet-1"],
        "scalingConfig": {"desiredSize": 1, "maxSize": 1, "minSize": 1},
        "launchTemplate": {"version": Joined(TEMPLATE.get("latestVersion"))},
    },
    outputs=("resources",),
)
TAG = CloudResource(
    kind="aws:autoscaling/tag:Tag",
    name="tag",
    inputs={
        "autoscalingGroupName": GROUP.get("resources.0.autoscalingGroups.0.name"),
        "tag": {"key": "a", "value": "b", "propagateAtLaunch": False},
    },
)
GRAPH = CloudGraph((VPC, GATE, ROLE), (ME, SUBNETS))

OUTPUTS = {
    VPC.kind: {"arn": "arn:aws:ec2:::vpc"},
    TEMPLATE.kind: {"latestVersion": 3},
    GROUP.kind: {"resources": [{"autoscalingGroups": [{"name": "eks-group-1"}]}]},
}
CALLS = {
    ME.kind: {"accountId": "1234", "arn": "arn:aws:iam::1234:user/somebody"},
    SUBNETS.kind: {"ids": ["subnet-1", "subnet-2"]},
}


def program() -> None:
    cluster = pulumi.ComponentResource("gpuyard:index:Cluster", "lab")
    pool = pulumi.ComponentResource("gpuyard:index:Pool", "lab-train")
    made = CloudResources("lab")
    made.run_queries(cluster, GRAPH.calls)
    made.register(cluster, [VPC])
    made.register(pool, [GATE])
    made.register(cluster, [ROLE, TEMPLATE, GROUP, TAG])
    cluster.register_outputs({})
    pool.register_outputs({})
    pulumi.export("vpc", made.resource("vpc").id)
    pulumi.export(
        "said",
        made.resolve(
            {"me": UnresolvedOutput("me.accountId"), "in": UnresolvedOutput("subnets.ids.1")}
        ),
    )


@pytest.fixture
def graph(pulumi_mocks):
    return pulumi_mocks.with_settings(outputs=OUTPUTS, calls=CALLS).run(program)


def test_each_is_registered_by_its_own_words(graph):
    vpc = graph.one("aws:ec2/vpc:Vpc")
    assert vpc.name == "lab-vpc"
    assert vpc.inputs == VPC.inputs
    assert vpc.options["protect"] is True
    assert vpc.options["ignoreChanges"] == ["tags"]
    assert vpc.options["version"] == PROVIDERS["aws"].version
    assert vpc.options["additionalSecretOutputs"] == ["arn"]
    assert vpc.options["retainOnDelete"] is True
    assert vpc.options["deleteBeforeReplace"] is True
    assert graph.one("aws:iam/role:Role").options.get("protect") is None


def test_what_rests_on_another_is_given_its_outputs_and_waits_for_it(graph):
    vpc, gate = graph.one("aws:ec2/vpc:Vpc"), graph.one(GATE.kind)
    assert gate.inputs == {
        "vpcId": vpc.id,
        "tags": {"of": "arn:aws:ec2:::vpc", "in": "10.0.0.0/16"},
    }
    assert vpc.urn in gate.dependencies
    assert gate.parent.endswith("lab-train")
    assert gate.urn in graph.one("aws:iam/role:Role").dependencies


def test_text_is_made_once_all_of_it_is_known(graph):
    role = graph.one("aws:iam/role:Role")
    policy = json.loads(role.inputs["assumeRolePolicy"])
    assert policy == {"AWS": "arn:aws:iam::1234:root", "vpc": "arn:aws:ec2:::vpc"}
    assert role.inputs["description"] == "cGxhaW4="


def test_a_part_of_an_output_is_taken_out_of_it(graph):
    assert graph.one(TAG.kind).inputs["autoscalingGroupName"] == "eks-group-1"


def test_a_number_in_a_text_is_written_as_people_write_it(graph):
    assert graph.one(GROUP.kind).inputs["launchTemplate"] == {"version": "3"}


def test_a_first_preview_shows_all_of_it(pulumi_mocks):
    runner = pulumi_mocks.with_settings(outputs=OUTPUTS, calls=CALLS)
    known, _ = runner.assert_same_when_unknown(program)
    assert known.stack_outputs["said"] == {"me": "1234", "in": "subnet-2"}


def test_a_text_that_holds_nothing_late_is_a_text_at_once():
    assert CloudResources("lab").resolve(Joined("a", "b")) == "ab"


def test_what_a_cloud_does_not_find_is_one_message(pulumi_mocks):
    runner = pulumi_mocks.with_settings(outputs=OUTPUTS, calls={**CALLS, SUBNETS.kind: {"ids": []}})
    with pytest.raises(pulumi.RunError, match=r"^subnets.ids.1: the cloud returned no result"):
        runner.run(program)


def test_what_nobody_registered_is_not_named():
    with pytest.raises(KeyError, match="vpc"):
        CloudResources("lab").resolve(VPC.get("id"))
