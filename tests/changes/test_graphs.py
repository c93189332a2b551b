"""What becomes of each resource of a graph, and because of which."""

import pytest

from gpuyard.changes.deployed_state import DeployedResource
from gpuyard.changes.graphs import ResourceAction, graph_changes, group_by_root_replacement
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import CloudCall, CloudGraph, CloudResource, Joined
from gpuyard_core.catalogue.cloud_fields import cloud_kind

VPC, SUBNET = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet"
TEMPLATE, GROUP = "aws:ec2/launchTemplate:LaunchTemplate", "aws:eks/nodeGroup:NodeGroup"
CLUSTER, ADDON = "aws:eks/cluster:Cluster", "aws:eks/addon:Addon"
ZONES = CloudCall(
    kind="aws:index/getAvailabilityZones:getAvailabilityZones",
    name="zones",
    args={"excludeNames": ["us-east-1b"]},
    outputs=("names",),
)


def there(**rows):
    """Resources of this kind, with an id of their name, these outputs and what the provider fills in."""
    return {
        name: DeployedResource(
            urn=f"urn::platform-{name}",
            kind=kind,
            id=f"{name}-1",
            outputs={**_filled(kind), **outputs},
        )
        for name, (kind, outputs) in rows.items()
    }


def _filled(kind):
    fields = cloud_kind(kind).fields
    return {
        name: each.default
        for name, each in fields.items()
        if "." not in name and not each.depends_on_service
    }


def of(*nodes, calls=()):
    return CloudGraph(
        tuple(
            CloudResource(
                kind=kind, name=name, inputs=inputs, outputs=("latestVersion", "vpcConfig")
            )
            for name, kind, inputs in nodes
        ),
        calls,
    )


def words(changes):
    return {each.name: each.action.value for each in changes}


def test_a_new_network_takes_what_stands_in_it():
    before = there(
        vpc=(VPC, {"cidrBlock": "10.0.0.0/16"}),
        a=(SUBNET, {"vpcId": "vpc-1", "cidrBlock": "10.0.0.0/24"}),
        old=(SUBNET, {"vpcId": "vpc-1"}),
        other=("aws:ec2/eip:Eip", {}),
    )
    wanted = of(
        ("vpc", VPC, {"cidrBlock": "10.1.0.0/16"}),
        (
            "a",
            SUBNET,
            {
                "vpcId": UnresolvedOutput("vpc.id"),
                "cidrBlock": "10.1.0.0/24",
                "mapPublicIpOnLaunch": None,
            },
        ),
        ("b", SUBNET, {"vpcId": UnresolvedOutput("vpc.id")}),
        ("other", SUBNET, {"vpcId": "vpc-7"}),
    )
    changes = graph_changes(wanted, before)
    found = {each.name: each for each in changes if each.name != "other"}
    assert words(found.values()) == {
        "vpc": "replace",
        "a": "replace",
        "b": "create",
        "old": "delete",
    }
    assert found["a"].reason == ("vpc",)
    assert [each.action for each in changes if each.name == "other"] == [
        ResourceAction.CREATE,
        ResourceAction.DELETE,
    ]
    assert {
        root: [each.name for each in taken]
        for root, taken in group_by_root_replacement(changes).items()
    } == {"vpc": ["vpc", "a"]}
    assert graph_changes(wanted, {})[0].action is ResourceAction.CREATE


def test_a_change_of_a_template_is_a_new_version_for_its_group():
    before = there(
        t=(TEMPLATE, {"instanceType": "a", "latestVersion": 1}),
        g=(GROUP, {"launchTemplate": {"id": "t-1", "version": "1"}}),
    )
    group = (
        "g",
        GROUP,
        {
            "launchTemplate": {
                "id": UnresolvedOutput("t.id"),
                "version": UnresolvedOutput("t.latestVersion"),
            }
        },
    )
    changes = graph_changes(of(("t", TEMPLATE, {"instanceType": "b"}), group), before)
    assert words(changes) == {"t": "update", "g": "update"}
    tagged = graph_changes(
        of(("t", TEMPLATE, {"instanceType": "a", "tags": {"a": "b"}}), group), before
    )
    assert words(tagged) == {"t": "update", "g": "same"}


def test_what_rests_on_something_deleted_first_goes_with_it_though_its_name_stays():
    before = there(
        c=(CLUSTER, {"name": "lab", "roleArn": "r"}),
        g=(GROUP, {"clusterName": "lab", "amiType": "A"}),
        a=("aws:iam/role:Role", {"description": "of lab"}),
    )
    graph = of(
        ("c", CLUSTER, {"name": "lab", "roleArn": "other"}),
        ("g", GROUP, {"clusterName": UnresolvedOutput("c.name"), "amiType": "A"}),
        ("a", "aws:iam/role:Role", {"description": Joined("of ", UnresolvedOutput("c.name"))}),
    )
    changes = graph_changes(graph, before)
    assert words(changes) == {"c": "replace", "g": "replace", "a": "same"}
    assert changes[1].reason == ("c",)


def test_what_the_provider_filled_in_stays_known_when_a_block_changes():
    config = {"subnetIds": ["a"], "clusterSecurityGroupId": "sg-1"}
    before = there(c=(CLUSTER, {"vpcConfig": config}), s=(SUBNET, {"vpcId": "sg-1"}))
    graph = of(
        ("c", CLUSTER, {"vpcConfig": {"subnetIds": ["a", "b"]}}),
        ("s", SUBNET, {"vpcId": UnresolvedOutput("c.vpcConfig.clusterSecurityGroupId")}),
    )
    assert words(graph_changes(graph, before)) == {"c": "update", "s": "same"}


@pytest.mark.parametrize(("zone", "verdict"), [("us-east-1a", "same"), ("us-east-1b", "replace")])
def test_an_answer_of_the_cloud_is_what_it_was_unless_the_question_excludes_it(zone, verdict):
    graph = of(
        ("s", SUBNET, {"availabilityZone": UnresolvedOutput("zones.names.0")}), calls=(ZONES,)
    )
    (found,) = graph_changes(graph, there(s=(SUBNET, {"availabilityZone": zone})))
    assert found.action.value == verdict
    assert (found.has_queried_inputs, found.may_be_replaced) == (
        (True, True) if verdict == "same" else (False, True)
    )


def test_an_output_that_nobody_has_seen_is_known_later():
    before = there(v=(VPC, {}), s=(SUBNET, {"vpcId": "x"}))
    graph = of(("v", VPC, {}), ("s", SUBNET, {"vpcId": UnresolvedOutput("v.latestVersion")}))
    assert words(graph_changes(graph, before)) == {"v": "same", "s": "replace"}
