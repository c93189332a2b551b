"""The stand-ins of `aws` and `gke-gcloud-auth-plugin` with different arguments, in one process."""

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.inside import control_plane, stand_ins
from testbed.plugins.cloud.shapes import Place

TOKEN = "the-token"  # noqa: S105  guards nothing
AWS, GOOGLE = "aws", "gke-gcloud-auth-plugin"
TO_EKS = ("eks", "get-token", "--cluster-name")
V1, BETA = (f"client.authentication.k8s.io/{each}" for each in ("v1", "v1beta1"))
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
KEPT = ("GPUYARD_FAKE_CLOUD", "KUBERNETES_EXEC_INFO", *REGIONS)
Answer = Callable[..., tuple[int, str, str]]


@pytest.fixture
def answer(tmp_path, monkeypatch, capsys) -> Answer:
    """An account with one cluster; returns a program's output and exit code."""
    config = {
        "clusters": [
            {"cluster": {"server": "https://127.0.0.1:1", "certificate-authority-data": "YQ=="}}
        ],
        "users": [{"user": {"token": TOKEN}}],
    }
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    control_plane.put(tmp_path / "cloud", tmp_path / "kubeconfig")
    inputs = {
        "name": "lab",
        "roleArn": "arn:aws:iam::aws:role/any",
        "vpcConfig": {"subnetIds": []},
        "accessConfig": {"authenticationMode": "API"},
    }
    place = Place(AWS, region="us-east-1")
    Account(tmp_path / "cloud", AWS).create("aws:eks/cluster:Cluster", "cluster", inputs, place)
    for name in KEPT:
        monkeypatch.delenv(name, raising=False)

    def asked(program: str, *arguments: str, **env: str) -> tuple[int, str, str]:
        for name, value in {"GPUYARD_FAKE_CLOUD": str(tmp_path / "cloud"), **env}.items():
            monkeypatch.setenv(name, value)
        code = stand_ins.answered(program, arguments)
        said = capsys.readouterr()
        return code, said.out, said.err

    return asked


def token(said: str) -> str:
    found: str = json.loads(said)["status"]["token"]
    return found


ENTERS = {
    "a region after its option": (
        (*TO_EKS, "lab", "--region", "us-east-1"),
        {},
    ),
    "a region before the command": (
        ("--region", "us-east-1", *TO_EKS, "lab"),
        {},
    ),
    "options with equals": (
        ("eks", "get-token", "--cluster-name=lab", "--region=us-east-1"),
        {},
    ),
    "the region of the environment": (
        (*TO_EKS, "lab"),
        {"AWS_REGION": "us-east-1"},
    ),
    "the region by its other name": (
        (*TO_EKS, "lab"),
        {"AWS_DEFAULT_REGION": "us-east-1"},
    ),
    "an option before the environment": (
        (*TO_EKS, "lab", "--region", "us-east-1"),
        {"AWS_REGION": "us-west-2"},
    ),
    "what says how to print": (
        (*TO_EKS, "lab", "--region", "us-east-1", "--output", "json"),
        {},
    ),
    "a profile": (
        (*TO_EKS, "lab", "--region", "us-east-1", "--profile", "work"),
        {},
    ),
}


@pytest.mark.parametrize(("arguments", "env"), ENTERS.values(), ids=ENTERS.keys())
def test_who_made_the_cluster_enters_it(answer, arguments, env):
    code, said, complained = answer(AWS, *arguments, **env)
    assert (code, complained) == (0, "")
    assert token(said) == TOKEN


STRANGERS = {
    "another cluster": (*TO_EKS, "other", "--region", "us-east-1"),
    "another region": (*TO_EKS, "lab", "--region", "us-west-2"),
    "a role that the cluster does not know": (
        *(*TO_EKS, "lab", "--region", "us-east-1"),
        "--role-arn=arn:aws:iam::123456789012:role/nobody",
    ),
}


@pytest.mark.parametrize("arguments", STRANGERS.values(), ids=STRANGERS.keys())
def test_an_unknown_caller_gets_a_token_that_is_invalid(answer, arguments):
    code, said, _ = answer(AWS, *arguments)
    assert code == 0
    assert token(said) != TOKEN


REFUSED: dict[str, tuple[str, tuple[str, ...], int, str]] = {
    "no cluster": (
        AWS,
        ("eks", "get-token", "--region", "us-east-1"),
        252,
        "the following arguments are required: --cluster-name",
    ),
    "a name that is left out": (
        AWS,
        TO_EKS,
        252,
        "the following arguments are required: --cluster-name",
    ),
    "no region": (
        AWS,
        (*TO_EKS, "lab"),
        253,
        "You must specify a region",
    ),
    "an option that it does not know": (
        AWS,
        (*TO_EKS, "lab", "--debug"),
        252,
        "Unknown options: --debug",
    ),
    "another command of the service": (
        AWS,
        ("eks", "list-clusters"),
        252,
        "`aws eks list-clusters` is not here",
    ),
    "another service": (
        AWS,
        ("s3", "ls"),
        252,
        "`aws s3 ls` is not here",
    ),
    "another look at EC2": (
        AWS,
        ("ec2", "describe-instances"),
        252,
        "`aws ec2 describe-instances` is not here",
    ),
    "an option of Google's program": (
        GOOGLE,
        ("--use_application_default_credentials",),
        1,
        "gke-gcloud-auth-plugin: --use_application_default_credentials is not here",
    ),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_not_here_is_refused_in_the_programs_own_way(answer, case):
    program, arguments, wanted, words = case
    code, said, complained = answer(program, *arguments)
    assert (code, said) == (wanted, "")
    assert words in complained


@pytest.mark.parametrize("program", [AWS, GOOGLE])
def test_without_an_account_it_says_which_variable_names_one(answer, program):
    arguments = (*TO_EKS, "lab", "--region", "us-east-1") if program == AWS else ()
    code, _, complained = answer(program, *arguments, GPUYARD_FAKE_CLOUD="")
    assert code == 255
    assert f"{program}: GPUYARD_FAKE_CLOUD is not set" in complained


@pytest.mark.parametrize("word", ["--version", "--help", "help"])
@pytest.mark.parametrize("program", [AWS, GOOGLE, "kubelogin"])
def test_it_says_what_it_is(answer, program, word):
    code, said, _ = answer(program, word)
    assert code == 0
    assert said.startswith(f"this is a stand-in of {program} for the fake clouds")


@pytest.mark.parametrize(("asked", "wanted"), [("", BETA), (V1, V1), (BETA, BETA)])
def test_the_answer_has_the_version_that_was_asked_for(answer, asked, wanted):
    env = {"KUBERNETES_EXEC_INFO": json.dumps({"apiVersion": asked})} if asked else {}
    arguments = (*TO_EKS, "lab", "--region", "us-east-1")
    found: dict[str, Any] = json.loads(answer(AWS, *arguments, **env)[1])
    assert found["apiVersion"] == wanted
    assert found["kind"] == "ExecCredential"
    assert found["status"]["expirationTimestamp"].endswith("Z")


def test_the_first_argument_says_which_program_it_is(answer, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["cloud/inside", AWS, "--version"])
    with pytest.raises(SystemExit) as ended:
        stand_ins.main()
    assert ended.value.code == 0
    assert "stand-in of aws" in capsys.readouterr().out
