"""`gpuyard permissions`: policies and roles, as people read them and as the clouds' programs take them."""

import json

import pytest

from kit.clouds.policies import wrong_with, wrong_with_role
from kit.stacks import platform, pool

ON_AWS = platform([pool(machine="p5.48xlarge")], cloud="aws")
ON_GCP = platform([pool(machine="a3-megagpu-8g", zones=["us-central1-a"])], cloud="gcp")


def test_a_document_for_aws_has_policies_that_iam_takes(gpuyard, write):
    ended = gpuyard("permissions", write(ON_AWS, region="us-east-1"), "--format", "json")
    shown = json.loads(ended.out)
    assert (ended.code, shown["command"], shown["cloud"]) == (0, "permissions", "aws")
    names = [each["name"] for each in shown["policies"]]
    assert names == [f"gpuyard-lab-{n}" for n in range(1, len(names) + 1)]
    assert [said for each in shown["policies"] for said in wrong_with(each["document"])] == []
    assert all(0 < each["characters"] <= 6144 for each in shown["policies"])


def test_a_document_for_google_has_roles_bindings_and_apis(gpuyard, write):
    shown = json.loads(gpuyard("permissions", write(ON_GCP), "--format", "json").out)
    assert [said for each in shown["roles"] for said in wrong_with_role(each["definition"])] == []
    assert [each["role"] for each in shown["bindings"]] == [
        "gpuyard_lab",
        "gpuyard_lab_grants",
        "roles/container.admin",
    ]
    assert shown["bindings"][0]["condition"] is None
    assert "container.googleapis.com" in shown["apis"]


def test_an_account_is_in_every_arn(gpuyard, write):
    path = write(ON_AWS, region="us-east-1")
    ended = gpuyard("permissions", path, "--account", "123456789012")
    assert "arn:aws:eks:us-east-1:123456789012:cluster/lab" in ended.out


@pytest.mark.parametrize("account", ["12345678901", "12345678901x", "١٢٣٤٥٦٧٨٩٠١٢"])
def test_an_account_has_twelve_digits(gpuyard, write, account):
    ended = gpuyard("permissions", write(ON_AWS), "--account", account)
    assert ended.code == 2
    assert "an AWS account ID has 12 digits." in ended.err


@pytest.mark.parametrize("cloud", ["none", "simulated"])
def test_a_cluster_of_ones_own_asks_no_cloud_for_anything(gpuyard, write, cloud):
    ended = gpuyard("permissions", write(platform([pool()], cloud=cloud)))
    assert ended.code == 2
    assert f"cloud {cloud} creates no AWS or Google Cloud resources" in " ".join(ended.err.split())


def test_a_refused_stack_has_no_permissions(gpuyard, write):
    path = write(platform([pool(machine="p99")], cloud="aws"))
    ended = gpuyard("permissions", path)
    assert (ended.code, ended.out) == (3, "")
    assert "refused" in ended.err
    shown = json.loads(gpuyard("permissions", path, "--format", "json").out)
    assert shown["counts"]["error"] == 1
    assert "policies" not in shown
