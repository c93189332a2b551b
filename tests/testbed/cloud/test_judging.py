"""A whole graph is created in an account in memory, and its errors are listed."""

from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.judging import judged
from testbed.plugins.cloud.shapes import Place

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import CloudCall, CloudGraph, CloudResource, Joined

AWS = Place("aws", region="us-east-1")
ZONES = CloudCall(
    kind="aws:index/getAvailabilityZones:getAvailabilityZones",
    name="zones",
    args={},
    outputs=("names",),
)
VPC = CloudResource(
    kind="aws:ec2/vpc:Vpc",
    name="vpc",
    inputs={
        "cidrBlock": "10.0.0.0/16",
        "tags": {"in": Joined("zone ", UnresolvedOutput("zones.names.0"))},
    },
)


def _subnet(name: str, block: str, **more: object) -> CloudResource:
    inputs = {
        "vpcId": UnresolvedOutput("vpc.id"),
        "cidrBlock": block,
        "availabilityZone": UnresolvedOutput("zones.names.1"),
    }
    return CloudResource(kind="aws:ec2/subnet:Subnet", name=name, inputs={**inputs, **more})


def test_a_graph_that_can_be_made_is_made():
    account = Account()
    graph = CloudGraph(
        (VPC, _subnet("one", "10.0.0.0/24"), _subnet("two", "10.0.1.0/24")), (ZONES,)
    )
    assert judged(graph, AWS, account) == []
    assert [each.inputs.get("availabilityZone") for each in account.all()] == [
        None,
        *["us-east-1b"] * 2,
    ]
    assert account.all()[0].inputs["tags"] == {"in": "zone us-east-1a"}


def test_errors_that_only_the_account_can_see_are_reported():
    graph = CloudGraph(
        (VPC, _subnet("one", "10.0.0.0/24"), _subnet("two", "10.0.0.0/25")), (ZONES,)
    )
    (said,) = judged(graph, AWS)
    assert said.startswith("two: operation error EC2: CreateSubnet")
    assert "InvalidSubnet.Conflict: The CIDR '10.0.0.0/25' conflicts with another subnet" in said


def test_what_rests_on_something_refused_is_judged_by_itself():
    broken = CloudResource(kind=VPC.kind, name="vpc", inputs={"cidrBlock": "10.0.0.0/8"})
    graph = CloudGraph((broken, _subnet("one", "10.0.0.0/24", ipv4="x")), (ZONES,))
    first, second = judged(graph, AWS)
    assert first.endswith(
        "cidrBlock is '10.0.0.0/8'; allowed: a range with a mask of 16 to 28 bits"
    )
    assert second.startswith("one: aws:ec2/subnet:Subnet: ipv4 is no field")


def test_an_output_without_a_value_and_a_call_without_a_result_are_reported():
    call = CloudCall(
        kind="aws:eks/getCluster:getCluster", name="old", args={"name": "a"}, outputs=("arn",)
    )
    reader = _subnet(
        "one",
        "10.0.0.0/24",
        tags={"a": UnresolvedOutput("vpc.outpost"), "b": UnresolvedOutput("zones.names.7")},
    )
    assert judged(CloudGraph((VPC, reader), (ZONES, call)), AWS) == [
        "old: reading EKS Cluster (a): couldn't find resource",
        "one: vpc.outpost is not there once vpc is made",
        "one: zones.names.7 is not there once zones is made",
    ]


def test_a_name_that_is_too_long_for_its_digits_is_reported():
    account = CloudResource(kind="gcp:serviceaccount/account:Account", name="a" * 23, inputs={})
    (said,) = judged(CloudGraph((account,)), Place("gcp", project="p"))
    assert said.endswith("plus 7 random chars is longer than maximum length 30")
