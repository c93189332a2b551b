"""The fakes record the actions and permissions that their cloud would require."""

import pytest
from testbed.plugins.cloud import asking, calls, facts
from testbed.plugins.cloud.account import Account, Refused
from testbed.plugins.cloud.shapes import Place

AWS = Place("aws", region="us-east-1")
VPC = "aws:ec2/vpc:Vpc"


def test_making_asks_for_making_reading_and_the_fields_that_are_given():
    account = Account()
    account.create(VPC, "vpc", {"cidrBlock": "10.0.0.0/16"}, AWS)
    bare = account.asked()
    assert {"ec2:CreateVpc", "ec2:DescribeVpcs"} <= bare
    assert not bare & {"ec2:CreateTags", "ec2:DeleteVpc"}
    account.create(VPC, "other", {"cidrBlock": "10.1.0.0/16", "tags": {"a": "b"}}, AWS)
    assert "ec2:CreateTags" in account.asked()


def test_what_is_refused_was_asked_for_all_the_same(tmp_path):
    (tmp_path / "faults.json").write_text('{"faults": [{"fault": "refuse", "times": 1}]}')
    account = Account(tmp_path, "aws")
    with pytest.raises(Refused):
        account.create(VPC, "vpc", {"cidrBlock": "10.0.0.0/16"}, AWS)
    assert "ec2:CreateVpc" in Account(tmp_path, "aws").asked()


def test_a_question_asks_for_what_its_data_source_does():
    account = Account()
    asking.answer("aws:index/getAvailabilityZones:getAvailabilityZones", {}, account, AWS)
    assert account.asked() == {"ec2:DescribeAvailabilityZones"}
    asking.answer("aws:index/getRegion:getRegion", {}, account, AWS)
    assert account.asked() == {"ec2:DescribeAvailabilityZones"}


def test_a_kind_of_no_table_asks_for_nothing():
    assert calls.of("create", "aws:x/y:Z", {}) == ()


def test_the_table_is_about_kinds_that_the_fakes_know():
    unknown = {kind for kind in calls._table() if facts.resource(kind) is None}
    assert unknown == set()
