"""A control plane behind a fake account: callers with a valid token, and kubeconfigs that request one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from testbed.plugins.cloud import account as accounts
from testbed.plugins.cloud import asking, installing
from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.inside import control_plane, definitions, entering
from testbed.plugins.cloud.shapes import Place
from testbed.plugins.kubernetes import connection, failures

AWS = Place("aws", region="us-east-1")
GCP = Place("gcp", region="us-central1", project="my-project")
EKS, GKE = "aws:eks/cluster:Cluster", "gcp:container/cluster:Cluster"
TOKEN, SERVER = "the-token", "https://127.0.0.1:4711"
CI = "arn:aws:iam::123456789012:user/ci"
ADMIN = "arn:aws:iam::123456789012:role/platform"
CLUSTER = {
    "name": "lab",
    "roleArn": "arn:aws:iam::aws:role/any",
    "vpcConfig": {"subnetIds": []},
    "accessConfig": {"authenticationMode": "API"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An account's folder with a control plane."""
    config = {
        "clusters": [
            {"cluster": {"server": SERVER, "certificate-authority-data": "Y2VydGlmaWNhdGU="}}
        ],
        "users": [{"user": {"token": TOKEN}}],
    }
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    env = control_plane.put(tmp_path / "cloud", tmp_path / "kubeconfig")
    assert Path(env["SSL_CERT_FILE"]).read_text().endswith("\ncertificate")
    return tmp_path / "cloud"


def _eks(folder: Path, **more) -> Account:
    account = Account(folder, "aws")
    account.create(EKS, "cluster", {**CLUSTER, **more}, AWS)
    return account


def test_the_first_cluster_of_an_account_answers_where_its_control_plane_does(folder):
    account = _eks(folder)
    other = account.create(EKS, "other", {**CLUSTER, "name": "other"}, AWS)
    (first,) = [each for each in account.all(EKS) if each.id == "lab"]
    assert first.state["endpoint"] == SERVER
    assert first.state["certificateAuthority"] == {"data": "Y2VydGlmaWNhdGU="}
    assert other.state["endpoint"].endswith(".gr7.us-east-1.eks.amazonaws.com")
    control_plane.take_away(folder)
    assert control_plane.of(folder) is None
    assert entering.eks_token(account, "lab", "us-east-1").startswith("k8s-aws-v1.")


def test_a_gke_cluster_answers_by_address_and_by_name(folder, monkeypatch):
    monkeypatch.setattr(definitions, "serve", lambda *_: None)  # it has no server
    account = Account(folder, "gcp")
    net = account.create("gcp:compute/network:Network", "n", {"name": "n"}, GCP).id
    inputs = {"location": "us-central1", "network": net, "initialNodeCount": 1}
    assert entering.gke_token(account) == "ya29.fake-of-a-token"
    made = account.create(GKE, "lab", {**inputs, "name": "lab"}, GCP).state
    other = account.create(GKE, "other", {**inputs, "name": "other"}, GCP).state
    assert made["endpoint"] == "127.0.0.1:4711"
    assert made["masterAuth"]["clusterCaCertificate"] == "Y2VydGlmaWNhdGU="
    ways = [one["controlPlaneEndpointsConfig"]["dnsEndpointConfig"] for one in (made, other)]
    assert ways[0] == {"allowExternalTraffic": False, "endpoint": "127.0.0.1:4711"}
    assert ways[1]["endpoint"].endswith("-123456789012.us-central1.gke.goog")
    assert entering.gke_token(account) == TOKEN
    question = "gcp:container/getCluster:getCluster"
    told = asking.answer(question, {"name": "lab", "location": "us-central1"}, account, GCP)
    (seen,) = told["controlPlaneEndpointsConfigs"]
    assert seen["dnsEndpointConfigs"] == [ways[0]]
    assert told["masterAuths"] == [{"clusterCaCertificate": "Y2VydGlmaWNhdGU="}]
    assert told["effectiveLabels"] == {"goog-pulumi-provisioned": "true"}


def _entry(account: Account, policy: str, scope: str = "cluster") -> None:
    who = {"clusterName": "lab", "principalArn": ADMIN}
    account.create("aws:eks/accessEntry:AccessEntry", "e", who, AWS)
    arn = f"arn:aws:eks::aws:cluster-access-policy/{policy}"
    kind = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
    where = {"type": scope, **({"namespaces": ["a"]} if scope == "namespace" else {})}
    account.create(kind, "p", {**who, "policyArn": arn, "accessScope": where}, AWS)


NO_CREATOR = {
    "authenticationMode": "API",
    "bootstrapClusterCreatorAdminPermissions": False,
}
ADMINS = "AmazonEKSClusterAdminPolicy"


ENTERING = {
    "who made it": ({}, "", "us-east-1", None, True),
    "another region": ({}, "", "us-west-2", None, False),
    "a role it does not know": ({}, ADMIN, "us-east-1", None, False),
    "an administrator": ({}, ADMIN, "us-east-1", (ADMINS,), True),
    "one that may look": ({}, ADMIN, "us-east-1", ("AmazonEKSViewPolicy",), False),
    "one of a namespace": ({}, ADMIN, "us-east-1", (ADMINS, "namespace"), False),
    "who made it and locked the door": (NO_CREATOR, "", "us-east-1", None, False),
}


@pytest.mark.parametrize("case", ENTERING.values(), ids=ENTERING.keys())
def test_eks_lets_in_whom_it_knows(folder, case):
    access, role, region, entry, enters = case
    account = _eks(folder, **({"accessConfig": access} if access else {}))
    if entry:
        _entry(account, *entry)
    assert (entering.eks_token(account, "lab", region, role) == TOKEN) is enters


def test_the_environment_says_who_asks(folder, monkeypatch):
    account = _eks(folder)
    assert account.creator(EKS, "lab") == CI
    monkeypatch.setenv(accounts.CALLER, ADMIN)
    assert entering.eks_token(account, "lab", "us-east-1") != TOKEN
    identity = "aws:index/getCallerIdentity:getCallerIdentity"
    assert asking.answer(identity, {}, account, AWS)["arn"] == ADMIN
    _entry(account, ADMINS)
    auth = asking.answer("aws:eks/getClusterAuth:getClusterAuth", {"name": "lab"}, account, AWS)
    assert auth["token"].value == TOKEN


# ── the programs ──────────────────────────────────────────────────────────────────────────────────
def _run(program: str, *arguments: str, **env: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [installing.STAND_INS / program, *arguments],
        env={"PATH": "/usr/bin:/bin", "GPUYARD_PLUGIN_PYTHON": sys.executable, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_the_stand_in_of_aws_gives_tokens_and_nothing_else(folder):
    _eks(folder)
    env = {"GPUYARD_FAKE_CLOUD": str(folder)}
    get = ("--region", "us-east-1", "eks", "get-token", "--cluster-name", "lab")
    code, out, _ = _run("aws", *get, "--output=json", **env)
    assert code == 0
    assert json.loads(out)["status"]["token"] == TOKEN
    assert json.loads(out)["apiVersion"] == "client.authentication.k8s.io/v1beta1"
    (folder / "faults.json").write_text('{"credentials": "expired"}')
    said = {
        255: _run("aws", *get),
        253: _run("aws", *get, **env),
        252: _run("aws", "s3", "ls", **env),
    }
    assert "GPUYARD_FAKE_CLOUD is not set" in said[255][2]
    assert "Token has expired" in said[253][2]
    assert "`aws s3 ls` is not here: this is a stand-in" in said[252][2]
    assert {code: done[0] for code, done in said.items()} == {255: 255, 253: 253, 252: 252}
    more = {
        "Unknown options: --debug": (*get, "--debug"),
        "required: --cluster-name": ("eks", "get-token"),
        "You must specify a region": get[2:],
    }
    for words, arguments in more.items():
        assert words in _run("aws", *arguments, **env)[2]
    assert "this is a stand-in of aws" in _run("aws", "--version")[1]


def test_the_stand_in_of_googles_program(folder):
    env = {"GPUYARD_FAKE_CLOUD": str(folder)}
    code, out, _ = _run("gke-gcloud-auth-plugin", **env)
    assert (code, json.loads(out)["status"]["token"]) == (0, "ya29.fake-of-a-token")
    assert "is not here" in _run("gke-gcloud-auth-plugin", "--cache", **env)[2]
    (folder / "faults.json").write_text('{"credentials": "missing"}')
    assert "do not currently have an active account" in _run("gke-gcloud-auth-plugin", **env)[2]


# ── a kubeconfig that runs one ────────────────────────────────────────────────────────────────────
V1 = "client.authentication.k8s.io/v1"


def _answers(text: str) -> dict[str, object]:
    command = f"printf '%s' \"$KUBERNETES_EXEC_INFO\" >>{{log}}; printf '%s' '{text}'"
    return {"apiVersion": V1, "command": "sh", "args": ["-c", command]}


def _header(tmp_path: Path, run: dict[str, object]) -> connection.Connection:
    args = [str(each).format(log=tmp_path / "log") for each in run.get("args", [])]
    return connection.connect(
        {
            "clusters": [{"name": "c", "cluster": {"server": "https://one"}}],
            "users": [{"name": "u", "user": {"exec": {**run, "args": args}}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        },
        None,
    )


def _token(**status: str) -> str:
    document = {"apiVersion": V1, "status": {"token": "t", **status}}
    return json.dumps(document).replace("{", "{{").replace("}", "}}")


def test_a_program_is_asked_once_until_its_token_has_run_out(tmp_path):
    kept = _header(tmp_path, {**_answers(_token()), "provideClusterInfo": True})
    assert [kept.authorization() for _ in range(2)] == ["Bearer t"] * 2
    asked = json.loads((tmp_path / "log").read_text())
    assert asked["spec"]["cluster"] == {"server": "https://one"}
    (tmp_path / "log").unlink()
    over = _header(tmp_path, _answers(_token(expirationTimestamp="2020-01-01T00:00:00Z")))
    assert [over.authorization() for _ in range(2)] == ["Bearer t"] * 2
    assert (tmp_path / "log").read_text().count('"ExecCredential"') == 2


FAILING = {
    "no such program": (
        {"apiVersion": V1, "command": "no-such-program", "installHint": "get it"},
        "exec: no-such-program: .*; get it",
    ),
    "it fails": (
        {"apiVersion": V1, "command": "sh", "args": ["-c", "echo no >&2; exit 3"]},
        "executable sh failed with exit code 3: no",
    ),
    "no token": (_answers("nothing"), "exec plugin sh gave no token of"),
    "an old version": (
        {"apiVersion": "client.authentication.k8s.io/v1alpha1", "command": "sh"},
        "allowed: client.authentication.k8s.io/v1, ",
    ),
}


@pytest.mark.parametrize("case", FAILING.values(), ids=FAILING.keys())
def test_a_program_that_gives_no_token(tmp_path, case):
    run, said = case
    with pytest.raises(failures.Unreachable, match=said):
        _header(tmp_path, run).authorization()
