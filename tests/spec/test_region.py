"""The region that a stack file gives the cloud's provider."""

import pytest

from gpuyard.spec.read import read_platform, read_stack_file
from gpuyard.spec.region import CloudAccount, place_keys, region_of
from kit.stacks import platform, pool


@pytest.mark.parametrize(
    ("config", "cloud", "name", "said_by"),
    [
        ({"aws:region": "us-east-1"}, "aws", "us-east-1", "aws:region"),
        ({"aws:region": "us-gov-west-1"}, "aws", "us-gov-west-1", "aws:region"),
        ({"gcp:region": "europe-west4"}, "gcp", "europe-west4", "gcp:region"),
        ({"gcp:zone": "europe-west4-b"}, "gcp", "europe-west4", "gcp:zone"),
        ({"gcp:region": "me-west1", "gcp:zone": "me-west1-c"}, "gcp", "me-west1", "gcp:region"),
    ],
)
def test_it_is_read_from_the_key_of_the_cloud(config, cloud, name, said_by):
    region, findings = region_of(config, cloud)
    assert (region.name, region.source, findings) == (name, said_by, [])


@pytest.mark.parametrize(
    ("config", "cloud"),
    [
        ({}, "aws"),
        ({"gcp:region": "us-central1"}, "aws"),
        ({"aws:region": {"secure": "x"}}, "aws"),
        ({"aws:region": "us-east-1"}, "simulated"),
        ({"aws:region": "us-east-1"}, "none"),
    ],
)
def test_where_nobody_says_it_there_is_none(config, cloud):
    assert region_of(config, cloud) == (None, [])


def test_a_slip_leaves_no_region_to_judge_by():
    region, [finding] = region_of({"aws:region": "us-east-1a"}, "aws")
    assert region is None
    assert str(finding) == (
        "config.aws:region: not the name of a region on aws\n  given: us-east-1a\n"
        "  allowed: a region such as us-east-1\n  fix: correct the region"
    )


@pytest.mark.parametrize(
    ("zones", "near"),
    [
        ([], "us-west-1"),
        (["us-east-1a"], "us-east-1"),
        (["use1-az1", "us-est-1a", "eu-west-3a", "us-east-1a"], "us-east-1"),
        (["eu-west-3a"], "us-west-1"),
    ],
)
def test_a_region_of_the_pools_zones_is_the_first_choice_for_a_misspelled_one(zones, near):
    raw = platform(
        [pool(zones=zones)] if zones else [pool()],
        cloud="aws",
        system={"machine": "m7i.xlarge", "nodes": 2},
    )
    [finding] = read_platform(raw, {"aws:region": "us-est-1"}).findings
    assert str(finding) == (
        "config.aws:region: us-est-1 is not a region of aws that this version of gpuyard knows\n"
        f"  given: us-est-1\n  allowed: an existing region, such as {near}\n"
        "  fix: correct the region; for a newer region, upgrade gpuyard"
    )


def test_the_line_of_a_finding_beside_the_platform_is_that_of_its_key():
    text = "config:\n  aws:region: nowhere\n  gpuyard:platform:\n    name: lab\n"
    text += "    cloud: aws\n    kubernetes: '1.36'\n    pools: [{name: a, machine: p5.48xlarge, nodes: 1}]\n"
    reading = read_stack_file(text.encode(), "stack.yaml")
    [finding] = reading.findings
    assert (reading.spec, reading.line_of(finding.path)) == (None, 2)
    assert reading.checkable_spec.name == "lab"


def test_a_value_without_a_file_has_the_region_that_comes_with_it():
    raw = platform([pool()], cloud="aws", system={"machine": "m7i.xlarge", "nodes": 2})
    assert read_platform(raw, {"aws:region": "eu-west-1"}).region.name == "eu-west-1"
    assert read_platform(raw).region is None
    assert read_platform({"name": 1}, {"aws:region": "eu-west-1"}).region is None
    assert read_platform(raw).account == CloudAccount()
    given = {"aws:profile": "prod", "gcp:project": {"secure": "x"}}
    assert read_platform(raw, given).account == CloudAccount(profile="prod")
    assert read_platform(raw, {"gcp:project": "lab-1"}).account == CloudAccount(project="lab-1")
    assert place_keys() == ("aws:region", "gcp:region", "gcp:zone", "gcp:project")
