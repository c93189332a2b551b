"""`gpuyard check --live`: the user's aws and gcloud are asked, and what they do not say is never fine."""

import json
import os
import stat

import pytest

from gpuyard import programs
from kit.stacks import platform, pool

# It writes down what it was asked, and says what lies beside it for these two words.
PROGRAM = r"""#!/bin/sh
echo "$*" >>"$0.asked"
name="$0.$1.$2"
[ -e "$name.hang" ] && exec sleep 60
[ -e "$name.err" ] && { cat "$name.err" >&2; exit 254; }
[ -e "$name.out" ] && { cat "$name.out"; exit 0; }
echo "An error occurred (InternalFailure) when calling the $2 operation: no" >&2
exit 254
"""
ON_AWS = platform([pool(machine="p5.48xlarge", nodes=2)], cloud="aws")
ON_GCP = platform([pool(machine="a2-highgpu-8g", nodes=2, zones=["us-central1-a"])], cloud="gcp")
CALLER = {"UserId": "A", "Account": "123456789012", "Arn": "arn:aws:iam::123456789012:user/ann"}


def refusal(code, operation="x"):
    return f"\nAn error occurred ({code}) when calling the {operation} operation: no\n"


WELL = {
    "sts.get-caller-identity": CALLER,
    "service-quotas.list-service-quotas": {
        "Quotas": [
            {
                "QuotaCode": "L-417A185B",
                "QuotaName": "Running On-Demand P instances",
                "Value": 384.0,
            },
            {"QuotaCode": "L-1216C47A", "QuotaName": "Running On-Demand Standard", "Value": 64.0},
        ]
    },
    "ec2.describe-instance-type-offerings": {
        "InstanceTypeOfferings": [
            {
                "InstanceType": "p5.48xlarge",
                "LocationType": "availability-zone",
                "Location": "us-east-1a",
            }
        ]
    },
    "eks.describe-cluster-versions": {
        "clusterVersions": [{"clusterVersion": "1.36", "versionStatus": "STANDARD_SUPPORT"}]
    },
    "eks.describe-cluster": refusal("ResourceNotFoundException", "DescribeCluster"),
    "logs.describe-log-groups": {"logGroups": []},
    "ec2.describe-vpcs": {"Vpcs": [{"VpcId": "vpc-1"}]},
    "ec2.describe-addresses": {"Addresses": []},
    "service-quotas.get-service-quota": {"Quota": {"Value": 5.0}},
    "iam.simulate-principal-policy": {"EvaluationResults": []},
}


@pytest.fixture
def says(tmp_path, monkeypatch):
    """An aws and a gcloud that say what they are told to: a text is a refusal, None a silence."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def told(program, answers):
        path = folder / program
        path.write_text(PROGRAM, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        for name, said in answers.items():
            if said is None:
                (folder / f"{program}.{name}.hang").touch()
            elif isinstance(said, str):
                (folder / f"{program}.{name}.err").write_text(said, encoding="utf-8")
            else:
                text = said.decode() if isinstance(said, bytes) else json.dumps(said)
                (folder / f"{program}.{name}.out").write_text(text, encoding="utf-8")
        return folder / f"{program}.asked"

    return told


@pytest.fixture
def check(gpuyard, write):
    return lambda raw=ON_AWS, *more: gpuyard(
        "check", write(raw, region="us-east-1"), "--live", *more
    )


def flat(text):
    return " ".join(text.split())


def test_an_account_that_has_everything_is_fine(says, check):
    asked = says("aws", WELL)
    ended = check()
    assert ended.code == 0, ended.out
    assert "SKIPPED" not in ended.out
    assert "(L-417A185B): 384 available, vCPUs of p5.48xlarge use at most 384" in flat(ended.out)
    assert "p5.48xlarge is offered in us-east-1a" in flat(ended.out)
    lines = asked.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 11
    assert "no cluster has the name lab" in flat(ended.out)
    assert "(L-F678F1CE; 1 of 5 are used by others): 4 available, networks" in flat(ended.out)
    assert all(" --output json" in line for line in lines)


def test_a_quota_that_is_too_small_is_found_with_the_command_that_asks_for_more(says, check):
    small = {"Quotas": [{"QuotaCode": "L-417A185B", "QuotaName": "P", "Value": 192.0}]}
    says("aws", {**WELL, "service-quotas.list-service-quotas": small})
    ended = check(ON_AWS, "--format", "json")
    shown = json.loads(ended.out)
    (found,) = [each for each in shown["findings"] if each["id"] == "live.quota"]
    assert (ended.code, found["severity"], found["where"]) == (3, "error", "pools[0]")
    assert (
        "--quota-code L-417A185B --desired-value 384 --region us-east-1" in found["fix"]["message"]
    )
    assert shown["failed"] is True
    standard = [each for each in shown["live"]["not_asked"] if "m7i" in each["about"]]
    assert standard[0]["why"] == "the account has no quota L-1216C47A"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (refusal("AccessDeniedException"), "permission denied"),
        (refusal("ThrottlingException"), "the cloud throttles requests"),
        (b"<html>", "the output of the command is not JSON"),
        (b"[]", "the response has an unknown format"),
        (None, "aws did not answer within 5 seconds"),
    ],
)
def test_what_is_not_answered_is_named_and_never_fine(says, check, monkeypatch, said, why):
    monkeypatch.setattr(programs, "SECONDS", 5.0)
    says("aws", {**WELL, "service-quotas.list-service-quotas": said})
    ended = check()
    assert ended.code == 4
    assert f"SKIPPED service quotas of EC2: {why}" in flat(ended.out)
    assert flat(ended.out).endswith("partial 1 query could not be run")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("\nUnable to locate credentials. You can configure them.\n", "no credentials found"),
        (refusal("ExpiredToken", "GetCallerIdentity"), "the credentials have expired"),
    ],
)
def test_without_a_sign_in_one_question_is_put_and_everything_is_unasked(says, check, said, why):
    asked = says("aws", {**WELL, "sts.get-caller-identity": said})
    ended = check()
    assert ended.code == 4
    assert f"permissions of the signed-in identity: {why}" in flat(ended.out)
    assert len(asked.read_text(encoding="utf-8").splitlines()) == 1


def test_a_program_that_is_not_there_is_missing(check, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    ended = check()
    assert ended.code == 4
    assert "aws is not installed" in flat(ended.out)


def test_a_program_that_cannot_run_says_so(says, check, tmp_path, monkeypatch):
    says("aws", WELL)
    (tmp_path / "bin" / "aws").write_bytes(b"\x7fELF")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    ended = check()
    assert ended.code == 4
    assert "aws cannot be run" in flat(ended.out)


def test_google_is_asked_through_gcloud(says, check, gpuyard, write, tmp_path):
    apis = ("cloudkms", "cloudresourcemanager", "compute", "container", "iam")
    quota = {"metric": "NVIDIA_A100_GPUS", "limit": 16.0, "usage": 0.0}
    asked = says(
        "gcloud",
        {
            "config.list": {"core": {"account": "ann@example.com", "project": "lab"}},
            "services.list": [{"config": {"name": f"{api}.googleapis.com"}} for api in apis],
            "compute.machine-types": [{"name": "a2-highgpu-8g", "zone": "us-central1-a"}],
            "compute.regions": {"name": "us-central1", "quotas": [quota]},
            "container.clusters": "ERROR: ResponseError: code=404, message=Not found: lab.",
            "compute.networks": [],
            "compute.project-info": {
                "quotas": [{"metric": "GPUS_ALL_REGIONS", "limit": 16.0, "usage": 0.0}]
            },
            "container.get-server-config": {
                "channels": [{"channel": "REGULAR", "validVersions": ["1.36.1-gke.100"]}]
            },
        },
    )
    path = tmp_path / "gcp.yaml"
    path.write_text(
        json.dumps({"config": {"gcp:region": "us-central1", "gpuyard:platform": ON_GCP}}),
        encoding="utf-8",
    )
    ended = gpuyard("check", path, "--live")
    assert ended.code == 0, ended.out
    # what no command of gcloud can be asked is said, and is no fault of the environment
    assert "SKIPPED permissions of the signed-in identity: gcloud cannot test them" in flat(
        ended.out
    )
    assert "GPUS_ALL_REGIONS (0 of 16 used): 16 available, GPUs of all models" in flat(ended.out)
    assert "NVIDIA_A100_GPUS (0 of 16 used): 16 available, GPUs of a2-highgpu-8g" in flat(ended.out)
    assert all("--format=json" in line for line in asked.read_text("utf-8").splitlines())


def test_a_cluster_of_ones_own_has_no_account(gpuyard, write):
    ended = gpuyard("check", write(platform([pool()])), "--live")
    assert ended.code == 2
    assert "--live queries an AWS or Google Cloud account" in flat(ended.err)


def test_a_refused_stack_asks_nobody(says, gpuyard, write):
    asked = says("aws", WELL)
    ended = gpuyard("check", write(platform([pool(machine="p99")], cloud="aws")), "--live")
    assert ended.code == 3
    assert "SKIPPED the account: the stack is rejected" in flat(ended.out)
    assert not asked.exists()
