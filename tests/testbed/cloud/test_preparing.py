"""Names and defaults that the bridge adds to inputs."""

import pytest
from testbed.plugins.cloud.preparing import Naming, TooLong, prepared

GROUP, ROLE, ACCOUNT = (
    "aws:eks/nodeGroup:NodeGroup",
    "aws:iam/role:Role",
    "gcp:serviceaccount/account:Account",
)
SEED = Naming("Workers", b"seed")


def test_a_name_is_the_logical_one_with_seven_digits_of_the_seed():
    made = prepared(ROLE, SEED, {}, {"assumeRolePolicy": "{}"})
    assert made["name"].startswith("Workers-")
    assert len(made["name"]) == len("Workers-") + 7
    assert "name" in made["__defaults"]
    assert prepared(ROLE, SEED, {}, {})["name"] == made["name"]
    assert prepared(ROLE, Naming("Workers", b"other"), {}, {})["name"] != made["name"]


def test_a_name_that_was_given_once_is_kept():
    old = {"name": "Workers-1234567", "__defaults": ["name"]}
    assert prepared(ROLE, SEED, old, {})["name"] == "Workers-1234567"
    assert prepared(ROLE, SEED, {"name": "mine", "__defaults": []}, {})["name"] != "mine"


def test_a_name_of_the_program_is_left_and_is_no_default():
    made = prepared(ROLE, SEED, {}, {"name": "mine"})
    assert made["name"] == "mine"
    assert "name" not in made["__defaults"]
    assert "name" not in prepared(ROLE, SEED, {}, {"namePrefix": "m"})
    assert "name" not in prepared(ROLE, Naming("a", mode="DISABLE"), {}, {})
    assert prepared(ROLE, Naming("a", proposed="b"), {}, {})["name"] == "b"


def test_a_logical_name_that_leaves_no_room_is_refused():
    with pytest.raises(TooLong) as said:
        prepared(ACCOUNT, Naming("a" * 23), {}, {})
    assert (
        str(said.value) == f"name '{'a' * 23}' plus 7 random chars is longer than maximum length 30"
    )
    assert len(prepared(ACCOUNT, Naming("a" * 22), {}, {})["accountId"]) == 30


def test_networks_are_lower_case_queues_end_in_fifo_and_keys_begin_with_alias():
    assert prepared("gcp:compute/network:Network", SEED, {}, {})["name"].startswith("workers-")
    fifo = prepared("aws:sqs/queue:Queue", SEED, {}, {"fifoQueue": True})
    assert fifo["name"].endswith(".fifo")
    assert prepared("aws:kms/alias:Alias", SEED, {}, {})["name"].startswith("alias/Workers-")


def test_defaults_are_filled_in_at_each_level_and_named():
    made = prepared(
        GROUP, SEED, {}, {"nodeRepairConfig": {}, "taints": [{"key": "a"}], "labels": None}
    )
    assert made["nodeRepairConfig"] == {"enabled": False, "__defaults": ["enabled"]}
    assert made["taints"] == [{"key": "a", "__defaults": []}]
    assert "labels" not in made
    group = prepared("aws:ec2/securityGroup:SecurityGroup", SEED, {}, {})
    assert group["description"] == "Managed by Pulumi"
    assert "description" in group["__defaults"]


def test_a_number_for_a_text_is_written_out():
    made = prepared(GROUP, SEED, {}, {"launchTemplate": {"id": "lt-1", "version": 3}})
    assert made["launchTemplate"]["version"] == "3"


def test_an_unknown_type_is_left_to_validation():
    assert prepared("aws:x/y:Z", SEED, {}, {"a": 1}) == {"a": 1}
