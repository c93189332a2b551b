"""What is deployed, out of each document that says it."""

import pytest

from gpuyard.changes.deployed_state import (
    DeployedResource,
    deployed_state,
    deployed_state_from_engine,
    is_deployed_state,
)
from gpuyard.changes.fields import UnknownMarker
from gpuyard.render.cloud.graph import CloudGraph
from gpuyard_core.catalogue.software.engine_files import SECRET_KEY

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
    stand = deployed_state({"version": 3, "deployment": {"resources": rows}})
    assert [each.name for each in stand.platforms()] == ["platform"]
    vpc = DeployedResource(
        urn=VPC, kind="aws:ec2/vpc:Vpc", id="vpc-1", outputs={"arn": "a"}, protect=True
    )
    assert stand.cloud_resources("platform", NONE) == {"vpc": vpc}
    assert stand.cloud_resources("other", NONE) == {}
    assert deployed_state({"version": 3, "deployment": {}}).resources == ()


def test_a_preview_says_what_was_there_and_what_the_engine_will_do():
    steps = [
        {"op": "replace", "urn": VPC, "oldState": {**ROW, "delete": True}},
        {"op": "delete-replaced", "urn": VPC, "oldState": ROW},
        {"op": "delete", "urn": f"{URN}::gone", "oldState": {**TOP, "outputs": 7}},
        {"op": "same", "urn": f"{URN}::platform", "oldState": TOP},
        {"op": "create", "urn": "urn:new"},
        "nonsense",
    ]
    stand = deployed_state({"steps": steps})
    assert stand.engine == {VPC: "replace", f"{URN}::gone": "delete"}
    assert len(stand.resources) == 3


def test_the_engine_tells_its_program_outputs_alone():
    told = {VPC: {"type": "aws:ec2/vpc:Vpc", "outputs": {"id": "vpc-1"}}, "urn:x": None}
    stand = deployed_state_from_engine(told)
    assert stand.cloud_resources("platform", NONE)["vpc"].id == "vpc-1"


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ({**SECRET, "plaintext": '"open"'}, "open"),
        ({**SECRET, "ciphertext": "v1:…"}, UnknownMarker.QUERIED),
        ("[secret]", UnknownMarker.QUERIED),
        ({"a": [{**SECRET, "plaintext": "3"}]}, {"a": [3]}),
    ],
)
def test_secrets_are_compared_where_they_can_be_read(value, read):
    stand = deployed_state(
        {"version": 3, "deployment": {"resources": [{**ROW, "outputs": {"k": value}}]}}
    )
    assert stand.resources[0].outputs["k"] == read


@pytest.mark.parametrize("value", [[], {}, {"deployment": {}}, {"version": 3}, 7, None])
def test_anything_else_is_neither(value):
    assert not is_deployed_state(value)
