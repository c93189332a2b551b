"""Whole platforms in a cloud: the real engine, fakes of the providers, and a real API server inside."""

import base64
import itertools
import json
import os
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from testbed.plugins.cloud import faults, installing
from testbed.plugins.cloud.account import CALLER, Account
from testbed.plugins.cloud.inside import control_plane
from testbed.plugins.cloud.inside.classes.definition import definition
from testbed.plugins.cloud.service import reservations
from testbed.plugins.kubernetes.cluster import Cluster
from testbed.plugins.kubernetes.failures import ApiError, ProviderError
from testbed.plugins.kubernetes.settings import load_kubeconfig

from gpuyard.catalogue.gke.classes import CLASS_API, CLASS_KIND
from gpuyard.names import GKE_NETWORKING_GROUP
from kit import waiting
from kit.clouds.answers import PLACES as AT
from kit.clouds.given import account_with
from kit.clouds.programs import of_platform
from kit.levels import upstream
from kit.stacks import platform, pool, shared_pool, team
from stacks import ROOT, STACK, Stack

GROUP, CLUSTER = "aws:eks/nodeGroup:NodeGroup", "aws:eks/cluster:Cluster"
POOL, GKE = "gcp:container/nodePool:NodePool", "gcp:container/cluster:Cluster"
TEAMS = [
    team(guarantee={"train": 8}, groups=["seers"], protect=False),
    team("speech", borrow={"train": 8}, protect=False),
]
KEPT = {"queueing": {"install": False}, "cluster": {"protect": False}}
RAW = {
    "aws": platform(
        [pool(nodes="1..4", capacity=["spot", "on-demand"]), pool("more", nodes=2)],
        TEAMS,
        cloud="aws",
        **KEPT,
    ),
    "gcp": platform(
        [
            pool(
                machine="a3-megagpu-8g",
                nodes="1..4",
                zones=["us-central1-a"],
                capacity=["on-demand"],
            )
        ],
        TEAMS,
        cloud="gcp",
        **KEPT,
    ),
}
GROWN = {"aws": ["train-on-demand", "train-spot"], "gcp": ["train-on-demand"]}
OF_OTHERS = {"existing": "blue", "protect": False}
LOST = (
    "4 resources go: subnetwork, cluster, system, train-on-demand; lost: what stands in the network"
)
GOING = frozenset({"replace", "delete"})
DIGEST = re.compile(r"sha256:\w{12}")
ADMIN = "gpuyard-test-admin"
STAYS = {"aws": set(), "gcp": {"gcp:kms/keyRing:KeyRing"}}
"""What a cloud keeps for ever."""
PLACES = {"aws:region": "us-east-1", "gcp:region": "us-central1", "gcp:project": "my-project"}


@pytest.fixture(scope="session")
def inside(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kubeconfig of the API server with a token, as clouds give one, of somebody who may do everything."""
    cluster = cluster_at(kubeconfig)
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    place = {"name": ADMIN, "namespace": "kube-system"}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": ADMIN},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
        "subjects": [{"kind": "ServiceAccount", **place}],
    }
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {**place, "annotations": {"kubernetes.io/service-account.name": ADMIN}},
        "type": "kubernetes.io/service-account-token",
    }
    for each in ({**account, "metadata": place}, binding, secret):
        with suppress(ApiError):  # another worker was here
            cluster.create(each, {})
    token = waiting.until(lambda: (cluster.get(secret).get("data") or {}).get("token"))
    config = yaml.safe_load(kubeconfig.read_text())
    config["users"][0]["user"] = {"token": base64.b64decode(token).decode()}
    at = config["clusters"][0]["cluster"]
    authority = (kubeconfig.parent / at.pop("certificate-authority")).read_bytes()
    at["certificate-authority-data"] = base64.b64encode(authority).decode()
    file = tmp_path_factory.mktemp("inside") / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return file


def cluster_at(kubeconfig: Path) -> Any:
    return Cluster.connect(load_kubeconfig(str(kubeconfig)), None)


class Yard:
    """A stack of a platform in a cloud, and the account behind it."""

    def __init__(self, stack: Stack, folder: Path, inside: Path, cloud: str) -> None:
        self.stack = stack
        self.folder = folder
        self.inside = inside
        self.cloud = cloud
        self.account = Account(folder, cloud)
        self.write()

    def write(self, **more: Any) -> None:
        raw = {**RAW[self.cloud], **more}
        (self.stack.folder / "platform.json").write_text(json.dumps(raw))

    def file(self) -> str:
        """The same as a stack file, by its path."""
        raw = json.loads((self.stack.folder / "platform.json").read_text())
        config = {"config": {**PLACES, "gpuyard:platform": raw}}
        (self.stack.folder / "stack.yaml").write_text(json.dumps(config))
        return "./stack.yaml"

    def kinds(self) -> set[str]:
        return {each.kind for each in self.account.all()}

    def groups(self) -> dict[str, dict[str, Any]]:
        kind = GROUP if self.cloud == "aws" else POOL
        named = "nodeGroupName" if self.cloud == "aws" else "name"
        return {each.state[named]: dict(each.state) for each in self.account.all(kind)}


@pytest.fixture(scope="session")
def gke_kinds(kubeconfig: Path) -> None:
    """What GKE puts into a cluster with several networks, as far as objects of it are taken."""
    cluster = cluster_at(kubeconfig)
    networks = {"Network": "networks", "GKENetworkParamSet": "gkenetworkparamsets"}
    for each in (*itertools.starmap(_of_networks, networks.items()), definition()):
        with suppress(ApiError):  # another worker was here
            cluster.create(each, {})
    served = dict.fromkeys(networks, f"{GKE_NETWORKING_GROUP}/v1") | {CLASS_KIND: CLASS_API}
    for kind, api in served.items():  # what has just come is answered with 404 and 429 for a while
        waiting.until(
            lambda kind=kind, api=api: cluster.list(api, kind, None) is not None,
            what=f"{kind} to be served",
            errors=(ProviderError,),
        )


def _of_networks(kind: str, plural: str) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{GKE_NETWORKING_GROUP}",
            "annotations": {"api-approved.kubernetes.io": "unapproved"},
        },
        "spec": {
            "group": GKE_NETWORKING_GROUP,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "scope": "Cluster",
            "versions": [version],
        },
    }


@pytest.fixture
def karpenter_kinds(kubeconfig: Path) -> None:
    """What Karpenter's chart of definitions brings: the stand-in of Helm only writes down that it came."""
    cluster = cluster_at(kubeconfig)
    for file in sorted(upstream("crds", "karpenter").glob("*.yaml")):
        definition = yaml.safe_load(file.read_text())
        with suppress(ApiError):  # another worker was here
            cluster.create(definition, {})
        spec = definition["spec"]
        served = f"{spec['group']}/{spec['versions'][0]['name']}", spec["names"]["kind"]
        waiting.until(
            lambda served=served: cluster.list(*served, None) is not None,
            what=f"{served[1]} to be served",
            errors=(ProviderError,),
        )


@pytest.fixture
def yard(stack, tmp_path, inside, gke_kinds, kueue):
    """A platform of a cloud whose cluster answers as the lab's API server."""

    def build(cloud: str) -> Yard:
        folder = tmp_path / "cloud"
        stack.env.update(installing.install(tmp_path / "state" / "home", folder))
        stack.env.update(control_plane.put(folder, inside))
        stack.env["PATH"] = f"{installing.STAND_INS}{os.pathsep}{stack.env['PATH']}"
        stack.project()
        for key, value in PLACES.items():
            stack.run("config", "set", "--stack", STACK, key, value)
        (stack.folder / "__main__.py").write_text(of_platform("lab"))
        return Yard(stack, folder, inside, cloud)

    return build


@pytest.mark.parametrize("cloud", RAW)
def test_a_platform_in_a_cloud_lives_and_dies(yard, api, cloud):
    lab = yard(cloud)
    seen = lab.stack.preview()
    assert "to create" in seen.output
    assert lab.account.all() == []

    lab.stack.up()
    assert api.get("Namespace", "vision")
    lab.stack.unchanged()
    lab.stack.up("--refresh", "--expect-no-changes")

    before = lab.groups()
    pools = [dict(each) for each in RAW[cloud]["pools"]]
    pools[0]["nodes"] = "1..6"
    lab.write(pools=pools, cluster={})
    lab.stack.up()
    after = lab.groups()
    assert after.keys() == before.keys()
    assert sorted(name for name in after if after[name] != before[name]) == GROWN[cloud]
    refused = lab.stack.destroy(fails=True).output
    assert "protected" in refused
    assert lab.groups() == after
    assert "Kubernetes cluster is unreachable" not in refused

    lab.write(pools=pools)
    lab.stack.up()
    if cloud == "gcp":
        _a_loss_is_refused(lab, pools)
    lab.stack.destroy()
    assert lab.kinds() == STAYS[cloud]


SHIPPED = ("aws-inference", "gcp-inference", "existing")
"""The others come up in test_inside.py, as `make up` brings them up."""


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_stack_lives_and_dies_and_tells_no_secret(yard, name):
    """Neither what whoever deploys it is let in by, nor what its cluster lets in by."""
    config = yaml.safe_load((ROOT / "stacks" / f"Pulumi.{name}.yaml").read_text())["config"]
    raw = config.pop("gpuyard:platform")
    raw["queueing"] = {**raw.get("queueing", {}), "install": False}
    lab = yard(raw["cloud"])
    for key, value in config.items():
        lab.stack.run("config", "set", "--stack", STACK, key, value)
    if admins := raw.get("cluster", {}).get("admins"):
        lab.stack.env[CALLER] = admins[0]
    if "existing" in raw["cluster"]:
        account_with(raw, lab.folder)
    there, canary = set(_all_of(lab)), "canary-4f1c"
    lab.stack.env.update(dict.fromkeys(CREDENTIALS, canary))

    lab.write(**raw)
    said = lab.stack.up("--diff", "-v=3", "--logflow", "--logtostderr").output
    said += lab.stack.up("--refresh", "--expect-no-changes").output
    said += lab.stack.preview("--expect-no-changes", "--json").output
    held = _held(lab)
    refused = lab.stack.run("destroy", "--yes", fails=True).output  # as people type it: previewed
    assert "protected" in refused
    assert _held(lab) == held
    said += refused + lab.stack.run("stack", "export").output
    said += lab.stack.run("stack", "output", "--json", "--show-secrets").output
    _is_in_none(
        lab, said, canary, yaml.safe_load(lab.inside.read_text())["users"][0]["user"]["token"]
    )

    teams = [{**each, "protect": False} for each in raw["teams"]]
    lab.write(**raw | {"teams": teams, "cluster": {**raw["cluster"], "protect": False}})
    lab.stack.up()
    lab.stack.destroy()
    left = {each.kind for each in lab.account.all() if each.id not in there}
    assert left == STAYS[lab.cloud]
    assert there <= set(_all_of(lab))


CREDENTIALS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "GOOGLE_OAUTH_ACCESS_TOKEN",
)


def _is_in_none(lab, said, *secrets):
    """Of what was said, the state and its copies, and the files of the project; encoded or not."""
    kept = [file for file in lab.stack.backend.rglob("*") if file.is_file()]
    kept += [file for file in lab.stack.folder.rglob("*") if file.is_file()]
    assert len(kept) > len(secrets)
    for secret in secrets:
        for form in (secret, base64.b64encode(secret.encode()).decode()):
            assert form not in said
            assert not [file for file in kept if form.encode() in file.read_bytes()]


OF_KARPENTER = "karpenter.k8s.aws/v1", "karpenter.sh/v1"
HOLDS = "karpenter.k8s.aws/termination"
"""The finalizer of a node class, which Karpenter takes away when its last node has gone."""


def test_a_pool_of_karpenter_lives_and_goes_while_its_controller_is_there(
    yard, api, karpenter_kinds, until
):
    """The API server holds our objects to upstream's own definitions and their rules."""
    lab = yard("aws")
    ladder = [{"reserved": "cr-0123456789abcdef0", "nodes": 1}, "spot", "on-demand"]
    held = {"id": "cr-0123456789abcdef0", "instanceType": "p5.48xlarge", "instanceCount": 1}
    reservations.write(lab.folder, {"aws": [{**held, "availabilityZone": "us-east-1a"}]})
    pools = [
        pool(nodes="0..4", scaling="karpenter", capacity=ladder, zones=["us-east-1a"]),
        shared_pool(nodes="0..2", scaling="karpenter"),
    ]
    lab.write(pools=pools, teams=TEAMS)
    assert "to create" in lab.stack.preview().output
    assert lab.account.all() == []
    lab.stack.up()
    assert all("system" in each for each in lab.groups())
    classes, nodes = OF_KARPENTER
    names = {f"train-{each}" for each in ("reserved-cr-0123456789abcdef0", "spot", "on-demand")}
    names |= {"dev-on-demand"}
    assert api.names("NodePool", nodes) == api.names("EC2NodeClass", classes) == names
    assert api.names("NodeOverlay", "karpenter.sh/v1alpha1") == {"dev"}
    (queue,) = lab.account.all("aws:sqs/queue:Queue")
    release = "lab-karpenter:Release:kube-system/karpenter"
    settings = lab.stack.resource(release)["inputs"]["values"]["settings"]
    assert settings["interruptionQueue"] == queue.state["name"]
    spec = api.get("EC2NodeClass", "train-spot", classes)["spec"]
    (profile,) = lab.account.all("aws:iam/instanceProfile:InstanceProfile")
    assert spec["instanceProfile"] == profile.state["name"]
    lab.stack.unchanged()
    lab.stack.up("--refresh", "--expect-no-changes")

    held = {"metadata": {"finalizers": [HOLDS]}}
    free = {"metadata": {"finalizers": None}}
    cluster, wanted = api.cluster, {"apiVersion": classes, "kind": "EC2NodeClass"}
    named = {**wanted, "metadata": {"name": "train-spot"}}
    patch = ("application/merge-patch+json", {"fieldManager": "karpenter"})
    cluster.patch(named, held, *patch)
    going = lab.stack.start("destroy", "--yes", "--skip-preview")
    until(
        lambda: api.get("EC2NodeClass", "train-spot", classes)["metadata"].get("deletionTimestamp")
    )
    assert "train-spot" not in api.names("NodePool", nodes)
    assert lab.stack.resource(release)
    assert lab.stack.resource(f"{release}-crd")
    assert lab.account.all("aws:iam/instanceProfile:InstanceProfile")
    cluster.patch(named, free, *patch)
    said, _ = going.communicate(timeout=300)
    assert going.returncode == 0, said
    assert lab.kinds() == STAYS["aws"]


def _a_loss_is_refused(lab, pools):
    """Another network takes the cluster with it: the preview, `up` and `check --against` say so alike."""
    there, before = _all_of(lab), _held(lab)
    (lab.stack.folder / "state.json").write_text(lab.stack.run("stack", "export").output)
    lab.write(pools=pools, cluster={"protect": False, "network": {"cidr": "10.64.0.0/16"}})
    said = [lab.stack.preview(fails=True).output, lab.stack.up(fails=True).output]
    said.append(lab.stack.gpuyard("check", lab.file(), "--against", "state.json", code=3))
    assert len({tuple(sorted(set(DIGEST.findall(each)))) for each in said}) == 1
    assert [LOST in " ".join(each.split()) for each in said] == [True] * 3, said
    assert _all_of(lab) == there
    assert _held(lab) == before
    lab.write(pools=pools)


def _held(lab):
    """What the state has of clouds and clusters; the engine adds some of its own whenever it is asked."""
    held = lab.stack.state()["resources"]
    return {each["urn"]: each.get("id") for each in held if not each["type"].startswith("pulumi:")}


def _all_of(lab):
    return {each.id: dict(each.state) for each in lab.account.all()}


@pytest.mark.parametrize("cloud", RAW)
def test_an_existing_cluster_that_does_not_answer_is_one_plain_message(yard, cloud):
    """Before anything is made; and when it has gone, a destroy keeps what it cannot reach and says so."""
    lab = yard(cloud)
    lab.write(cluster=OF_OTHERS)
    account_with({**RAW[cloud], "cluster": OF_OTHERS}, lab.folder)
    lab.stack.run("config", "set", "--stack", STACK, "gcp:project", AT["gcp"].project)
    (cluster,) = lab.account.all(CLUSTER if cloud == "aws" else GKE)
    alive = cluster.state["endpoint"]
    dead = alive.replace(alive.removeprefix("https://"), "127.0.0.1:9")
    lab.account.meddle(cluster.kind, cluster.id, {"endpoint": dead})
    there = _all_of(lab)
    for refused in (lab.stack.preview(fails=True), lab.stack.up(fails=True)):
        said = " ".join(refused.output.split())
        assert "cluster.existing: the API server of the cluster blue does not answer at" in said
        assert "fix: deploy from where it answers" in said
    assert _all_of(lab) == there
    if cloud == "aws":
        lab.account.meddle(cluster.kind, cluster.id, {"endpoint": alive})
        lab.stack.up()
        _a_destroy_keeps_what_it_cannot_reach(lab, alive, dead)
        assert set(_all_of(lab)) == set(there), "what others have there stays"


def _a_destroy_keeps_what_it_cannot_reach(lab, alive, dead):
    """Nodes too: they wait until what runs on them is gone. Where it answers again, all goes."""
    there, state = _all_of(lab), lab.stack.run("stack", "export").output
    _import(lab, state.replace(alive, dead))
    refused = lab.stack.destroy(fails=True).output
    assert "configured Kubernetes cluster is unreachable" in refused
    assert "PULUMI_K8S_DELETE_UNREACHABLE" in refused
    assert _all_of(lab) == there
    _import(lab, state)
    lab.stack.destroy()


def _import(lab, state):
    file = lab.stack.folder / "edited.json"
    file.write_text(state)
    lab.stack.run("stack", "import", "--file", str(file))


def test_what_the_cloud_alone_can_say_is_one_plain_message(yard):
    lab = yard("aws")
    lab.write(cluster={"existing": "blue"})
    said = lab.stack.preview(fails=True).output
    assert "cluster.existing: no cluster blue is found, or you may not see it" in said
    lab.write(cluster={"zones": ["us-east-1a", "us-east-1e"]})
    said = " ".join(lab.stack.up(fails=True).output.split())
    assert "cluster.zones[1]: EKS makes no control plane in us-east-1e, which is use1-az3" in said
    lab.write()
    for credentials, words in (
        ("missing", "No valid credential sources found"),
        ("expired", "ExpiredToken: The security token included in the request is expired"),
    ):
        faults.write(lab.folder, {"credentials": credentials})
        said = lab.stack.up(fails=True).output
        assert words in said
        assert "Traceback" not in said
    assert lab.account.all() == []


def test_what_is_lost_is_refused_before_the_engine_acts_and_is_what_the_engine_would_do(yard):
    lab = yard("aws")
    lab.stack.up()
    there = len(lab.account.all())
    (lab.stack.folder / "state.json").write_text(lab.stack.run("stack", "export").output)
    one = [pool(nodes="1..4", capacity=["spot", "on-demand"])]

    lab.write(pools=one)
    for refused in (lab.stack.preview(fails=True), lab.stack.up(fails=True)):
        assert "pool more is deleted: the stack file has it no more" in refused.output
        assert "up to 2 nodes with 16 GPUs" in refused.output
    assert len(lab.account.all()) == there
    (digest,) = set(DIGEST.findall(refused.output))
    assert digest in lab.stack.gpuyard("check", lab.file(), "--against", "state.json", code=3)

    moved = {"protect": False, "network": {"services": "172.31.0.0/16"}}
    lab.write(pools=one, cluster=moved)
    asked = sorted(set(DIGEST.findall(lab.stack.preview(fails=True).output)))
    assert digest in asked
    lab.write(pools=one, cluster=moved, consent=asked)
    seen = lab.stack.run("preview", "--json", "--show-sames").output
    (lab.stack.folder / "preview.json").write_text(seen[seen.index("{\n") :])
    said = lab.stack.gpuyard("check", lab.file(), "--against", "preview.json", "--format", "json")
    told = json.loads(said)
    assert "change.unforeseen" not in {each["id"] for each in told["findings"]}
    engine = json.loads(seen[seen.index("{\n") :])["steps"]
    assert _told(told["against"]["resources"]) == _by_engine(engine)

    lab.write(pools=one, consent=digest)
    assert lab.stack.up().counts["deleted"] > 3
    assert not [name for name in lab.groups() if "more" in name]
    assert "no change ahead has this digest" in lab.stack.preview().output
    lab.write(pools=one)
    lab.stack.destroy()
    assert lab.account.all() == []


def _told(resources):
    """What we say is replaced or deleted, counted by kind."""
    return Counter(
        (each["kind"], each["becomes"]) for each in resources if each["becomes"] in GOING
    )


def _by_engine(steps):
    """What the engine's preview says."""
    there = [(step["oldState"]["type"], step["op"]) for step in steps if step["op"] in GOING]
    return Counter(each for each in there if each[0].startswith("aws:"))
