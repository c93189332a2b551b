"""A graph of a cloud's resources: order, references, and text around late values."""

import base64
import json

import pytest

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import (
    Base64,
    ClampedNumber,
    CloudCall,
    CloudGraph,
    CloudResource,
    Joined,
    Json,
    TextBefore,
    late_value_names,
    resolve_values,
)

ME = CloudCall(
    kind="aws:index/getCallerIdentity:getCallerIdentity",
    name="me",
    args={},
    outputs=("accountId",),
)
VPC = CloudResource(
    kind="aws:ec2/vpc:Vpc", name="vpc", inputs={"cidrBlock": "10.0.0.0/16"}, outputs=("arn",)
)


def gate(**rest: object) -> CloudResource:
    fields = {"kind": "aws:ec2/internetGateway:InternetGateway", "name": "gate", "inputs": {}}
    return CloudResource(**{**fields, **rest})  # type: ignore[arg-type]


def test_a_resource_is_found_by_its_name_its_type_and_its_pool():
    one = gate(inputs={"vpcId": VPC.get("id")}, part="train")
    graph = CloudGraph((VPC, one), (ME,))
    assert graph.resource("gate") is one
    assert graph.resources_of_kind("aws:ec2/vpc:Vpc") == [VPC]
    assert graph.of_part() == [VPC]
    assert graph.of_part("train") == [one]


@pytest.mark.parametrize(
    "late", [{"inputs": {"vpcId": VPC.get("id")}}, {"after": ("vpc",)}], ids=["read", "waited for"]
)
def test_nothing_rests_on_what_comes_later_or_never(late: dict[str, object]):
    with pytest.raises(ValueError, match="gate depends on vpc, which are defined later or never"):
        CloudGraph((gate(**late), VPC))


def test_a_name_stands_for_one_resource():
    with pytest.raises(ValueError, match="two resources have the name vpc"):
        CloudGraph((VPC, VPC))


def test_a_call_rests_on_calls_before_it():
    other = CloudCall(kind="x", name="other", args={"account": ME.get("accountId")}, outputs=())
    assert CloudGraph((), (ME, other)).calls == (ME, other)
    with pytest.raises(ValueError, match="other depends on me"):
        CloudGraph((), (other, ME))


@pytest.mark.parametrize("whose", [VPC, ME], ids=["resource", "call"])
def test_what_is_read_of_a_resource_is_said_by_it(whose: CloudResource | CloudCall):
    with pytest.raises(ValueError, match=f"{whose.name} does not declare the output endpoint"):
        whose.get("endpoint")
    assert VPC.get("cidrBlock") == UnresolvedOutput("vpc.cidrBlock")
    assert VPC.get("cidrBlock.0") == UnresolvedOutput("vpc.cidrBlock.0")
    assert VPC.get("arn") == UnresolvedOutput("vpc.arn")


def test_what_objects_are_told_is_there():
    told = {"store.handle": VPC.get("id")}
    assert CloudGraph((VPC,), late_values=told).late_values == told
    with pytest.raises(
        ValueError, match=r"store.handle depends on vpc, which are defined later or never"
    ):
        CloudGraph((), late_values=told)


def test_text_is_made_of_what_is_known_by_then():
    policy = Json(
        {
            "Resource": [Joined("arn:aws:s3:::", UnresolvedOutput("bucket.id"), "/*")],
            "Effect": "Allow",
        }
    )
    data = Base64(Joined("name: ", UnresolvedOutput("cluster.name")))
    tree = {"policy": policy, "data": data, "ports": (22, UnresolvedOutput("port.id")), "on": True}
    assert list(late_value_names(tree)) == ["bucket.id", "cluster.name", "port.id"]
    plain = resolve_values(tree, {"bucket.id": "b", "cluster.name": "c", "port.id": 80}.__getitem__)
    assert json.loads(plain["policy"]) == {"Effect": "Allow", "Resource": ["arn:aws:s3:::b/*"]}
    assert base64.b64decode(plain["data"]) == b"name: c"
    assert plain["ports"] == [22, 80]
    assert plain["on"] is True


def test_a_part_of_a_text_can_be_had():
    address = TextBefore(UnresolvedOutput("lustre.mountPoint"), "@")
    assert list(late_value_names(address)) == ["lustre.mountPoint"]
    assert (
        resolve_values(address, {"lustre.mountPoint": "10.0.0.2@tcp:/fs"}.__getitem__) == "10.0.0.2"
    )


@pytest.mark.parametrize(("number", "kept"), [(0.0, 1), (2.0, 2), (5.0, 4)])
def test_a_late_number_is_kept_within_bounds(number, kept):
    size = ClampedNumber(UnresolvedOutput("group.size"), 1, 4)
    assert list(late_value_names(size)) == ["group.size"]
    assert resolve_values(size, {"group.size": number}.__getitem__) == kept


def test_a_whole_number_of_an_engine_is_written_as_one():
    tree = {
        "version": Joined(UnresolvedOutput("template.latestVersion")),
        "share": Joined(UnresolvedOutput("x.share")),
    }
    known = {"template.latestVersion": 3.0, "x.share": 0.5}.__getitem__
    assert resolve_values(tree, known) == {"version": "3", "share": "0.5"}
