"""Whole platforms in a cloud: the real engine, fakes of the providers, and a real API server inside."""

import base64
import json
import re
from collections import Counter

import pytest
import yaml
from testbed.plugins.cloud import faults
from testbed.plugins.cloud.account import CALLER, Account
from testbed.plugins.cloud.service import reservations

from kit.clouds.answers import PLACES as AT
from kit.clouds.given import account_with, unprotected
from kit.stacks import platform, pool, shared_pool, team
from stacks import ROOT, STACK

GROUP, CLUSTER = "aws:eks/nodeGroup:NodeGroup", "aws:eks/cluster:Cluster"
GKE = "gcp:container/cluster:Cluster"
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
    "4 resources are removed: subnetwork, cluster, system, train-on-demand; lost: all resources in"
    " the network"
)
GOING = frozenset({"replace", "delete"})
DIGEST = re.compile(r"sha256:\w{12}")
STAYS = {"aws": set(), "gcp": {"gcp:kms/keyRing:KeyRing"}}
"""What a cloud keeps for ever."""


@pytest.fixture
def yard(new_yard):
    """One of the two platforms above."""
    return lambda cloud: new_yard(RAW[cloud])


@pytest.mark.always
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
def test_a_shipped_stack_lives_and_dies_and_tells_no_secret(yard, api, karpenter_kinds, name):
    """Neither what whoever deploys it is let in by, nor what its cluster lets in by."""
    config = yaml.safe_load((ROOT / "stacks" / f"Pulumi.{name}.yaml").read_text())["config"]
    raw = config.pop("gpuyard:platform")
    raw["queueing"] = {**raw.get("queueing", {}), "install": False}
    raw.pop("validation", None)  # no node of this lab runs its pods
    if raw["observability"].get("prometheus") == "existing":
        raw["observability"]["namespace"] = api.namespace
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

    lab.write(**raw | unprotected(raw))
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
        assert "fix: deploy from a network that reaches it" in said
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
    assert (
        "cluster.existing: no cluster blue was found, or your credentials may not read it"
    ) in said
    lab.write(cluster={"zones": ["us-east-1a", "us-east-1e"]})
    said = " ".join(lab.stack.up(fails=True).output.split())
    assert (
        "cluster.zones[1]: EKS offers no control plane in us-east-1e, which is use1-az3 in this account"
        in said
    )
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
        assert "pool more is deleted: the stack file no longer has it" in refused.output
        assert "up to 2 nodes with 16 GPUs" in refused.output
    assert len(lab.account.all()) == there
    (digest,) = set(DIGEST.findall(refused.output))
    assert digest in lab.stack.gpuyard("check", lab.file(), "--against", "state.json", code=3)

    moved = {"protect": False, "network": {"services": "172.31.0.0/16"}}
    lab.write(pools=one, cluster=moved)
    asked = sorted(set(DIGEST.findall(lab.stack.preview(fails=True).output)))
    assert digest in asked
    lab.write(pools=one, cluster=moved, approved_changes=asked)
    seen = lab.stack.run("preview", "--json", "--show-sames").output
    (lab.stack.folder / "preview.json").write_text(seen[seen.index("{\n") :])
    said = lab.stack.gpuyard("check", lab.file(), "--against", "preview.json", "--format", "json")
    told = json.loads(said)
    assert "change.unforeseen" not in {each["id"] for each in told["findings"]}
    engine = json.loads(seen[seen.index("{\n") :])["steps"]
    assert _told(told["against"]["resources"]) == _by_engine(engine)

    lab.write(pools=one, approved_changes=digest)
    assert lab.stack.up().counts["deleted"] > 3
    assert not [name for name in lab.groups() if "more" in name]
    assert "no pending change has this digest" in lab.stack.preview().output
    lab.write(pools=one)
    lab.stack.destroy()
    assert lab.account.all() == []


def _told(resources):
    """What we say is replaced or deleted, counted by kind."""
    return Counter((each["kind"], each["action"]) for each in resources if each["action"] in GOING)


def _by_engine(steps):
    """What the engine's preview says."""
    there = [(step["oldState"]["type"], step["op"]) for step in steps if step["op"] in GOING]
    return Counter(each for each in there if each[0].startswith("aws:"))


def test_bounds_of_a_node_group_change_whatever_size_its_autoscaler_has_given_it(yard):
    """EKS refuses a desired size outside of the bounds; the state has the size of the last deployment."""
    lab = yard("aws")
    lab.write(pools=[pool(nodes="0..4", capacity=["spot"])], teams=[])

    def changed(nodes, size):
        (group,) = [each for each in lab.account.all(GROUP) if "train" in each.id]
        scaled = {**group.state["scalingConfig"], "desiredSize": size}
        lab.account.meddle(GROUP, group.id, {"scalingConfig": scaled})
        lab.write(pools=[pool(nodes=nodes, capacity=["spot"])], teams=[])
        lab.stack.up()
        lab.stack.unchanged()
        (group,) = [each for each in lab.account.all(GROUP) if "train" in each.id]
        return group.state["scalingConfig"]["desiredSize"]

    lab.stack.up()
    assert changed("1..4", size=0) == 1, "raised with the minimum"
    assert changed("1..8", size=3) == 3, "kept where only the maximum is raised"
    assert changed("1..2", size=3) == 2, "lowered with the maximum"
    lab.stack.destroy()


ALONE = """
import json
from pathlib import Path
from gpuyard.resources import EksCluster, GpuNodePool
raw = json.loads(Path("platform.json").read_text())
cluster = EksCluster("lab", {"platform": raw})
GpuNodePool("nodes", {"platform": raw, "pool": "train", "foundation": cluster.foundation})
"""


def test_a_pool_outside_of_a_platform_gets_new_bounds_as_one_inside_does(of_clouds, tmp_path):
    of_clouds.run("config", "set", "--stack", STACK, "aws:region", "us-east-1")
    (of_clouds.folder / "__main__.py").write_text(ALONE)
    account = Account(tmp_path / "cloud", "aws")
    for nodes, size in (("0..4", 0), ("2..6", 2)):
        raw = platform([pool(nodes=nodes)], cloud="aws", cluster={"protect": False})
        (of_clouds.folder / "platform.json").write_text(json.dumps(raw))
        of_clouds.up()
        of_clouds.preview("--expect-no-changes")
        (group,) = [each for each in account.all(GROUP) if "train" in each.id]
        assert group.state["scalingConfig"]["desiredSize"] == size
    of_clouds.destroy()
