"""What is deployed, out of each document that says it."""

import pytest

from gpuyard.catalogue.software.engine_files import SECRET_KEY
from gpuyard.changes.deployed import Deployed, is_stand, stand_of, stand_told
from gpuyard.changes.settling import Mark
from gpuyard.render.cloud.graph import CloudGraph

NONE = CloudGraph(())
URN = "urn:pulumi:dev::lab::gpuyard:index:Platform"
VPC = f"{URN}$aws:ec2/vpc:Vpc::platform-vpc"
TOP = {"urn": f"{URN}::platform", "type": "gpuyard:index:Platform", "outputs": {"pools": {}}}
ROW = {
    "urn": VPC,
    "type": "aws:ec2/vpc:Vpc",
    "id": "vpc-1",
    "outputs": {"arn": "a"},
    "protect": True,
}
SECRET = {SECRET_KEY: "x"}


def test_a_state_says_what_is_there_and_not_what_is_on_its_way_out():
    rows = [TOP, ROW, {**ROW, "delete": True}, {"type": "no urn"}, 5]
    stand = stand_of({"version": 3, "deployment": {"resources": rows}})
    assert [each.name for each in stand.platforms()] == ["platform"]
    vpc = Deployed(urn=VPC, kind="aws:ec2/vpc:Vpc", id="vpc-1", outputs={"arn": "a"}, protect=True)
    assert stand.of_clouds("platform", NONE) == {"vpc": vpc}
    assert stand.of_clouds("other", NONE) == {}
    assert stand_of({"version": 3, "deployment": {}}).resources == ()


def test_a_preview_says_what_was_there_and_what_the_engine_will_do():
    steps = [
        {"op": "replace", "urn": VPC, "oldState": {**ROW, "delete": True}},
        {"op": "delete-replaced", "urn": VPC, "oldState": ROW},
        {"op": "delete", "urn": f"{URN}::gone", "oldState": {**TOP, "outputs": 7}},
        {"op": "same", "urn": f"{URN}::platform", "oldState": TOP},
        {"op": "create", "urn": "urn:new"},
        "nonsense",
    ]
    stand = stand_of({"steps": steps})
    assert stand.engine == {VPC: "replace", f"{URN}::gone": "delete"}
    assert len(stand.resources) == 3


def test_the_engine_tells_its_program_outputs_alone():
    told = {VPC: {"type": "aws:ec2/vpc:Vpc", "outputs": {"id": "vpc-1"}}, "urn:x": None}
    stand = stand_told(told)
    assert stand.of_clouds("platform", NONE)["vpc"].id == "vpc-1"


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ({**SECRET, "plaintext": '"open"'}, "open"),
        ({**SECRET, "ciphertext": "v1:…"}, Mark.ASKED),
        ("[secret]", Mark.ASKED),
        ({"a": [{**SECRET, "plaintext": "3"}]}, {"a": [3]}),
    ],
)
def test_secrets_are_compared_where_they_can_be_read(value, read):
    stand = stand_of(
        {"version": 3, "deployment": {"resources": [{**ROW, "outputs": {"k": value}}]}}
    )
    assert stand.resources[0].outputs["k"] == read


@pytest.mark.parametrize("value", [[], {}, {"deployment": {}}, {"version": 3}, 7, None])
def test_anything_else_is_neither(value):
    assert not is_stand(value)
