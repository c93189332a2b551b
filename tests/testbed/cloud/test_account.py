"""The account: computed values, errors, stored data, and scripted faults."""

import json
import os
import signal
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from testbed.plugins.cloud import facts, faults, shapes
from testbed.plugins.cloud.account import Account, Failed, Refused
from testbed.plugins.cloud.gather import CLOUDS
from testbed.plugins.cloud.shapes import Place

from kit import waiting
from kit.every import every

AWS = Place("aws", region="us-east-1", tags={"by": "us"})
GCP = Place("gcp", region="us-central1", project="my-project")
VPC, SUBNET, GROUP = (
    "aws:ec2/vpc:Vpc",
    "aws:ec2/subnet:Subnet",
    "aws:ec2/securityGroup:SecurityGroup",
)
ROLE, CLUSTER, NODES = "aws:iam/role:Role", "aws:eks/cluster:Cluster", "aws:eks/nodeGroup:NodeGroup"
TEMPLATE, BUCKET = "aws:ec2/launchTemplate:LaunchTemplate", "aws:s3/bucket:Bucket"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
NETWORK, SUBNETWORK = "gcp:compute/network:Network", "gcp:compute/subnetwork:Subnetwork"
GKE, POOL = "gcp:container/cluster:Cluster", "gcp:container/nodePool:NodePool"
TRUST = json.dumps(
    {"Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": "*"}]}
)


def _disk(gib, device="/dev/xvda"):
    return {"blockDeviceMappings": [{"deviceName": device, "ebs": {"volumeSize": gib}}]}


TARGET = {"capacityReservationTarget": {"capacityReservationId": "cr-1"}}
BLOCK = {
    "instanceMarketOptions": {"marketType": "capacity-block"},
    "instanceType": "p5.48xlarge",
    "capacityReservationSpecification": TARGET,
}


class World:
    """An account in memory, or in a folder, with short helpers to fill it."""

    def __init__(self, folder: Path | None = None) -> None:
        self.account = Account(folder)
        self.folder = folder

    def make(self, kind: str, name: str = "x", /, **inputs: Any) -> str:
        place = AWS if kind.startswith("aws:") else GCP
        return self.account.create(kind, name, inputs, place).id

    def change(self, kind: str, id_: str, **inputs: Any) -> dict[str, Any]:
        place = AWS if kind.startswith("aws:") else GCP
        return dict(self.account.update(kind, "x", id_, inputs, (), place).state)

    def delete(self, kind: str, id_: str) -> None:
        held = self.account.find(kind, id_)
        self.account.delete(kind, "x", id_, held.inputs if held else {})

    def refused(self, kind: str, /, **inputs: Any) -> str:
        with pytest.raises(Refused) as said:
            self.make(kind, **inputs)
        return str(said.value)

    def kept(self, kind: str, id_: str) -> str:
        with pytest.raises(Refused) as said:
            self.delete(kind, id_)
        return str(said.value)

    def foundation(self) -> dict[str, str]:
        """A VPC, two subnets, a role and a cluster."""
        vpc = self.make(VPC, cidrBlock="10.0.0.0/16")
        inner = [
            self.make(
                SUBNET,
                zone,
                vpcId=vpc,
                cidrBlock=f"10.0.{n}.0/24",
                availabilityZone=f"us-east-1{zone}",
            )
            for n, zone in enumerate("ab")
        ]
        self.make(ROLE, "node", name="node", assumeRolePolicy=TRUST)
        arn = f"arn:aws:iam::{shapes.ACCOUNT}:role/node"
        self.make(CLUSTER, "main", name="main", roleArn=arn, vpcConfig={"subnetIds": inner})
        return {"vpc": vpc, "a": inner[0], "b": inner[1], "role": arn}

    def nodes(self, foundation: dict[str, str], **more: Any) -> str:
        inputs = {
            "clusterName": "main",
            "nodeGroupName": "n",
            "nodeRoleArn": foundation["role"],
            "subnetIds": [foundation["a"]],
            "scalingConfig": {"minSize": 0, "desiredSize": 1, "maxSize": 1},
            "instanceTypes": ["p5.48xlarge"],
            **more,
        }
        return self.make(
            NODES, **{key: value for key, value in inputs.items() if value is not None}
        )

    def script(self, *script: dict[str, Any]) -> None:
        assert self.folder is not None
        faults.write(self.folder, {"faults": script})


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "cloud")


# ── form ──────────────────────────────────────────────────────────────────────────────────────────
def test_every_type_has_an_id_and_each_one_of_aws_with_an_arn_has_that():
    for cloud in CLOUDS:
        for kind in facts.kinds(cloud):
            assert "id" in shapes.SHAPES[kind]
            assert ("arn" in (facts.resource(kind) or {})["outputs"]) <= (
                "arn" in shapes.SHAPES[kind]
            )
    assert len(shapes.SHAPES) == sum(len(facts.kinds(cloud)) for cloud in CLOUDS)


@every(
    ("kind", "inputs", "id_"),
    [
        (ROLE, {"name": "node", "assumeRolePolicy": TRUST}, "node"),
        (BUCKET, {"bucket": "b"}, "b"),
        (
            "aws:iam/policy:Policy",
            {"name": "p", "policy": '{"Statement": []}'},
            "arn:aws:iam::123456789012:policy/p",
        ),
        (
            "aws:sqs/queue:Queue",
            {"name": "q"},
            "https://sqs.us-east-1.amazonaws.com/123456789012/q",
        ),
        (NETWORK, {"name": "n"}, "projects/my-project/global/networks/n"),
        (
            "gcp:serviceaccount/account:Account",
            {"accountId": "nodes"},
            "projects/my-project/serviceAccounts/nodes@my-project.iam.gserviceaccount.com",
        ),
        ("gcp:projects/iAMMember:IAMMember", {"project": "p", "role": "r", "member": "m"}, "p/r/m"),
    ],
)
def test_ids_are_of_true_form(kind, inputs, id_):
    assert World().make(kind, **inputs) == id_


def test_what_a_cloud_fills_in_is_there_and_equal_for_equal_names():
    made = World().account.create(VPC, "vpc", {"cidrBlock": "10.0.0.0/16", "tags": {"a": "b"}}, AWS)
    assert made.id == World().make(VPC, "vpc", cidrBlock="10.0.0.0/16")
    assert made.id != World().make(VPC, "other", cidrBlock="10.0.0.0/16")
    assert made.state["arn"] == f"arn:aws:ec2:us-east-1:123456789012:vpc/{made.id}"
    assert made.state["tagsAll"] == {"a": "b", "by": "us"}
    assert made.state["region"] == "us-east-1"
    world = World()
    world.foundation()
    state = world.account.all(CLUSTER)[0].state
    assert state["endpoint"].endswith(".gr7.us-east-1.eks.amazonaws.com")
    assert state["vpcConfig"]["clusterSecurityGroupId"].startswith("sg-")
    assert state["identities"][0]["oidcs"][0]["issuer"].startswith("https://oidc.eks.us-east-1")


def test_a_pool_takes_project_and_place_from_its_clusters_id():
    world = World()
    cluster = world.make(GKE, name="c", location="us-central1", initialNodeCount=1)
    assert world.make(POOL, name="p", cluster=cluster) == f"{cluster}/nodePools/p"
    assert world.account.find(POOL, "my-project/us-central1/c/p") is not None


@pytest.mark.parametrize(("version", "taken"), [("1.34", False), ("1.35", True), ("", True)])
def test_an_older_gke_rejects_taint_settings(version, taken):
    world = World()
    said = {"minMasterVersion": version} if version else {}
    cluster = world.make(GKE, name="c", location="us-central1", initialNodeCount=1, **said)
    world.make(POOL, name="plain", cluster=cluster)
    config = {"taintConfig": {"architectureTaintBehavior": "NONE"}}
    if taken:
        world.make(POOL, name="p", cluster=cluster, nodeConfig=config)
    else:
        refused = world.refused(POOL, name="p", cluster=cluster, nodeConfig=config)
        assert "1.35.0-gke.2141000 or later" in refused


def test_a_replacement_gets_another_id():
    world = World()
    first = world.make(VPC, "vpc", cidrBlock="10.0.0.0/16")
    assert world.make(VPC, "vpc", cidrBlock="10.1.0.0/16") != first


# ── refusals ──────────────────────────────────────────────────────────────────────────────────────
def test_what_is_not_there_is_refused_in_the_services_words():
    world = World()
    said = world.refused(SUBNET, vpcId="vpc-1", cidrBlock="10.0.0.0/24")
    assert said.startswith(
        "operation error EC2: CreateSubnet, https response error StatusCode: 400"
    )
    assert said.endswith("InvalidVpcID.NotFound: The vpc ID 'vpc-1' does not exist")
    assert "Error 404" in world.refused(
        SUBNETWORK, name="s", network="n", ipCidrRange="10.0.0.0/24"
    )
    attached = {"role": "none", "policyArn": "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"}
    assert "NoSuchEntity: The role with name none" in world.refused(
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment", **attached
    )


def test_eks_takes_no_subnet_of_a_zone_without_a_control_plane():
    world = World()
    foundation = world.foundation()
    far = world.make(
        SUBNET,
        "e",
        vpcId=foundation["vpc"],
        cidrBlock="10.0.9.0/24",
        availabilityZone="us-east-1e",
    )
    given = {
        "name": "far",
        "roleArn": foundation["role"],
        "vpcConfig": {"subnetIds": [foundation["a"], far]},
    }
    said = world.refused(CLUSTER, **given)
    assert "UnsupportedAvailabilityZoneException: Cannot create cluster 'far'" in said
    assert "control plane instances in us-east-1e, the targeted availability zone" in said


def test_ranges_names_and_rules_are_there_once():
    world = World()
    vpc = world.make(VPC, cidrBlock="10.0.0.0/16")
    world.make(SUBNET, vpcId=vpc, cidrBlock="10.0.0.0/24")
    assert "InvalidSubnet.Conflict" in world.refused(SUBNET, vpcId=vpc, cidrBlock="10.0.0.0/25")
    assert "InvalidSubnet.Range" in world.refused(SUBNET, vpcId=vpc, cidrBlock="10.9.0.0/24")
    world.make(SUBNET, vpcId=vpc, ipv6Native=True)
    group = world.make(GROUP, vpcId=vpc, name="g")
    assert "InvalidGroup.Duplicate: The security group 'g'" in world.refused(
        GROUP, vpcId=vpc, name="g"
    )
    rule = {"securityGroupId": group, "ipProtocol": "-1", "referencedSecurityGroupId": group}
    world.make(INGRESS, **rule)
    assert "InvalidPermission.Duplicate" in world.refused(INGRESS, **rule)
    world.make(NETWORK, name="n")
    assert "Error 409" in world.refused(NETWORK, name="n")
    world.make(SUBNETWORK, name="s", network="n", ipCidrRange="10.0.0.0/20")
    assert "conflicts with 's'" in world.refused(
        SUBNETWORK, name="t", network="n", ipCidrRange="10.0.8.0/24"
    )
    grant = {"project": "p", "role": "r", "member": "m"}
    assert len({world.make("gcp:projects/iAMMember:IAMMember", **grant) for _ in "ab"}) == 1


def test_a_network_of_bare_metal_has_one_subnetwork_by_itself_and_takes_no_other():
    world = World()
    profile = "https://www.googleapis.com/compute/beta/projects/p/global/networkProfiles/us-central1-a-vpc-roce"
    made = {
        name: world.make(NETWORK, name, name=name, networkProfile=profile + end)
        for name, end in (("metal", "-metal"), ("cards", ""))
    }
    place = {"region": "us-central1", "ipCidrRange": "10.0.0.0/24"}
    said = world.refused(SUBNETWORK, name="more", network=made["metal"], **place)
    assert "lets no subnetwork be made" in said
    world.make(SUBNETWORK, name="more", network=made["cards"], **place)
    cluster = world.make(GKE, name="c", location="us-central1", initialNodeCount=1)
    for network, subnetwork, taken in (
        ("metal", "default-subnet-1-metal", True),
        ("metal", "metal", False),
        ("cards", "default-subnet-1-cards", False),
    ):
        link = {"network": network, "subnetwork": subnetwork}
        further = {"networkConfig": {"additionalNodeNetworkConfigs": [link]}}
        if not taken:
            assert "was not found" in world.refused(POOL, cluster=cluster, **further)
            continue
        rests = world.make(POOL, cluster=cluster, **further)
        assert "is already being used by" in world.kept(NETWORK, made["metal"])
        world.delete(POOL, rests)
    world.delete(NETWORK, made["metal"])


def test_one_mount_target_a_zone():
    world = World()
    foundation = world.foundation()
    other = world.make(
        SUBNET, vpcId=foundation["vpc"], cidrBlock="10.0.9.0/24", availabilityZone="us-east-1a"
    )
    files = world.make("aws:efs/fileSystem:FileSystem", creationToken="t")
    target = "aws:efs/mountTarget:MountTarget"
    world.make(target, fileSystemId=files, subnetId=foundation["a"])
    assert "MountTargetConflict" in world.refused(target, fileSystemId=files, subnetId=other)
    world.make(target, "b", fileSystemId=files, subnetId=foundation["b"])
    assert "FileSystemInUse" in world.kept("aws:efs/fileSystem:FileSystem", files)


@every(
    ("template", "group", "said"),
    [
        ({"iamInstanceProfile": {"name": "a"}}, {}, "should not specify iamInstanceProfile"),
        ({"networkInterfaces": [{"subnetId": "s"}]}, {}, "should not specify a subnet"),
        (_disk(8), {"amiType": "AL2023_x86_64_NVIDIA"}, "8GB is smaller than snapshot"),
        (_disk(65_537), {"amiType": "BOTTLEROCKET_x86_64"}, "maximum is 65536GiB"),
        ({"instanceType": "p5.48xlarge"}, {"instanceTypes": ["p5.48xlarge"]}, "give one"),
        ({"imageId": "ami-1"}, {"amiType": "AL2023_x86_64_NVIDIA"}, "amiType cannot be given"),
        ({}, {"capacityType": "CAPACITY_BLOCK"}, "CAPACITY_BLOCK needs a launch template"),
        (BLOCK, {}, "needs capacityType CAPACITY_BLOCK"),
    ],
)
def test_a_group_and_its_launch_template_agree(template, group, said):
    world = World()
    foundation = world.foundation()
    id_ = world.make(TEMPLATE, name="t", **template)
    of_template = {"instanceTypes": None, "launchTemplate": {"id": id_, "version": "1"}}
    with pytest.raises(Refused) as refused:
        world.nodes(foundation, **{**of_template, **group})
    assert said in str(refused.value)


@every(
    ("template", "image"),
    [
        (_disk(20), "AL2023_x86_64_NVIDIA"),
        (_disk(65_536, "/dev/xvdb"), "AL2023_x86_64_NVIDIA"),
        (_disk(8, "/dev/xvdb"), "BOTTLEROCKET_x86_64_NVIDIA"),
    ],
)
def test_a_group_comes_up_on_a_disk_that_holds_its_image(template, image):
    world = World()
    id_ = world.make(TEMPLATE, name="t", **template)
    world.nodes(world.foundation(), amiType=image, launchTemplate={"id": id_, "version": "1"})


# ── deletes ───────────────────────────────────────────────────────────────────────────────────────
def test_what_is_used_stays():
    world = World()
    foundation = world.foundation()
    nodes = world.nodes(foundation)
    assert "has dependencies and cannot be deleted" in world.kept(VPC, foundation["vpc"])
    assert "The subnet" in world.kept(SUBNET, foundation["a"])
    assert "ResourceInUseException: Cluster has nodegroups attached" in world.kept(CLUSTER, "main")
    world.make("aws:eks/addon:Addon", clusterName="main", addonName="vpc-cni")
    world.delete(NODES, nodes)
    world.delete(CLUSTER, "main")
    assert world.account.all("aws:eks/addon:Addon") == []
    attachment = world.make(
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
        role="node",
        policyArn="arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy",
    )
    assert "DeleteConflict" in world.kept(ROLE, "node")
    world.delete("aws:iam/rolePolicyAttachment:RolePolicyAttachment", attachment)
    world.delete(ROLE, "node")
    world.delete(ROLE, "node")  # a missing one counts as deleted


def test_a_group_stays_while_anothers_rule_names_it_and_goes_with_its_own():
    world = World()
    vpc = world.make(VPC, cidrBlock="10.0.0.0/16")
    one, two = (world.make(GROUP, name, vpcId=vpc, name=name) for name in ("one", "two"))
    world.make(INGRESS, securityGroupId=one, ipProtocol="-1", referencedSecurityGroupId=two)
    assert "has a dependent object" in world.kept(GROUP, two)
    world.delete(GROUP, one)
    assert world.account.all(INGRESS) == []
    world.delete(GROUP, two)


def test_protection_policies_and_objects_keep_what_they_are_on():
    world = World()
    world.make(BUCKET, bucket="b")
    world.account.fill("b", 3)
    assert "BucketNotEmpty" in world.kept(BUCKET, "b")
    world.change(BUCKET, "b", forceDestroy=True)
    world.delete(BUCKET, "b")
    store = world.make("gcp:storage/bucket:Bucket", name="s", location="US")
    world.account.fill(store, 1)
    assert "without `force_destroy`" in world.kept("gcp:storage/bucket:Bucket", store)
    cluster = world.make(GKE, name="c", location="us-central1", initialNodeCount=1)
    assert "deletion_protection is set to true" in world.kept(GKE, cluster)
    network = world.make(NETWORK, name="n", deletionPolicy="PREVENT")
    assert 'without setting deletion_policy="DELETE"' in world.kept(NETWORK, network)
    world.change(NETWORK, network, deletionPolicy="ABANDON")
    world.delete(NETWORK, network)
    assert world.account.find(NETWORK, network) is not None
    ring = world.make("gcp:kms/keyRing:KeyRing", name="r", location="us-central1")
    world.delete("gcp:kms/keyRing:KeyRing", ring)
    assert "Error 409" in world.refused("gcp:kms/keyRing:KeyRing", name="r", location="us-central1")


# ── changes ───────────────────────────────────────────────────────────────────────────────────────
def test_a_template_counts_its_versions():
    world = World()
    id_ = world.make(TEMPLATE, name="t", updateDefaultVersion=True)
    assert world.change(TEMPLATE, id_, instanceType="p5.48xlarge")["latestVersion"] == 2
    state = world.change(TEMPLATE, id_, description="none")
    assert (state["latestVersion"], state["defaultVersion"]) == (2, 2)


def test_a_change_sends_only_what_changed_and_is_refused_like_a_create():
    world = World()
    foundation = world.foundation()
    nodes = world.nodes(foundation)
    drifted = {
        "scalingConfig": {"minSize": 0, "desiredSize": 1, "maxSize": 1},
        "labels": {"a": "b"},
    }
    world.account.meddle(NODES, nodes, drifted)
    assert world.change(NODES, nodes, version="1.35")["labels"] == {"a": "b"}
    bad = {"minSize": 2, "desiredSize": 2, "maxSize": 1}
    with pytest.raises(Refused, match="minSize 2 is more than maxSize 1"):
        world.change(NODES, nodes, scalingConfig=bad)
    world.account.meddle(NODES, nodes, None)
    with pytest.raises(Refused, match="does not exist"):
        world.change(NODES, nodes, version="1.35")


def test_the_account_outlives_its_process(world):
    id_ = world.make(VPC, cidrBlock="10.0.0.0/16")
    again = Account(world.folder)
    assert [each.id for each in again.all()] == [id_]
    assert again.find(VPC, id_) == world.account.find(VPC, id_)


# ── faults ────────────────────────────────────────────────────────────────────────────────────────
def test_no_capacity_leaves_a_group_that_failed(world):
    foundation = world.foundation()
    world.script({"fault": "capacity", "zone": "us-east-1a", "type": "p5.48xlarge"})
    with pytest.raises(Failed, match="InsufficientInstanceCapacity") as failed:
        world.nodes(foundation)
    assert failed.value.resource.state["status"] == "CREATE_FAILED"
    with pytest.raises(Refused, match="not in Active State"):
        world.change(NODES, failed.value.resource.id, labels={"a": "b"})
    nothing = {"minSize": 0, "desiredSize": 0, "maxSize": 1}
    world.nodes(foundation, nodeGroupName="empty", scalingConfig=nothing)
    world.nodes(foundation, nodeGroupName="elsewhere", subnetIds=[foundation["b"]])
    world.nodes(foundation, nodeGroupName="both", subnetIds=[foundation["a"], foundation["b"]])


def test_no_capacity_in_google_cloud(world):
    cluster = world.make(GKE, name="c", location="us-central1", initialNodeCount=1)
    world.script({"fault": "capacity", "zone": "us-central1-a"})
    pool = {
        "cluster": cluster,
        "nodeLocations": ["us-central1-a"],
        "nodeConfig": {"machineType": "a3"},
    }
    with pytest.raises(Failed, match="GCE_STOCKOUT"):
        world.make(POOL, name="p", nodeCount=1, **pool)
    world.make(POOL, name="q", **pool)


def test_throttling_and_roles_that_are_not_everywhere_are_asked_again(world):
    world.script(
        {"fault": "throttle", "kind": VPC, "times": 3}, {"fault": "not-assumable", "kind": ROLE}
    )
    world.make(VPC, cidrBlock="10.0.0.0/16")
    assert "could not be assumed" in world.refused(ROLE, name="r", assumeRolePolicy=TRUST)


def test_what_is_held_comes_once_the_script_lets_it(world):
    world.script({"fault": "hold", "kind": VPC, "times": 1})
    assert world.account.met() == 0
    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(world.make, VPC, cidrBlock="10.0.0.0/16")
        waiting.until(world.account.met)
        assert world.account.all() == []
        world.script()
    assert [each.id for each in world.account.all()] == [made.result()]


def test_quota_a_message_of_ones_own_and_a_time_out(world):
    world.script(
        {"fault": "quota", "step": 1},
        {"fault": "refuse", "message": "AccessDenied: no", "at": "update"},
        {"fault": "time-out", "name": "slow", "seconds": 0.01},
    )
    assert "VcpuLimitExceeded" in world.refused(VPC, cidrBlock="10.0.0.0/16")
    id_ = world.make(VPC, cidrBlock="10.0.0.0/16")
    with pytest.raises(Refused, match="AccessDenied: no"):
        world.change(VPC, id_, tags={"a": "b"})
    with pytest.raises(Failed, match="timeout while waiting for state to become 'ACTIVE'"):
        world.make(VPC, "slow one", cidrBlock="10.1.0.0/16")


@every(("word", "made", "ended"), [("kill", 1, 2), ("kill-before", 0, 2), ("crash", 1, 1)])
def test_a_kill_ends_the_engine_too_and_a_crash_the_provider_alone(
    word, made, ended, tmp_path, monkeypatch
):
    class Ended(BaseException):
        pass

    killed: list[int] = []

    def kill(process: int, number: int) -> None:
        killed.append(process)
        assert number == signal.SIGKILL
        if process == os.getpid():
            raise Ended

    monkeypatch.setattr(os, "kill", kill)
    world = World(tmp_path / word)
    world.script({"fault": word})
    with pytest.raises(Ended):
        world.make(VPC, cidrBlock="10.0.0.0/16")
    assert len(killed) == ended
    assert len(world.account.all()) == made


def test_a_script_that_cannot_be_meant_is_an_error(world):
    world.script({"fault": "capactiy"})
    with pytest.raises(
        ValueError, match=r"faults\[0\] is 'capactiy'; allowed: capacity, unsold, quota"
    ):
        faults.read(world.folder)
    world.script({"fault": "kill", "stpe": 3})
    with pytest.raises(ValueError, match=r"faults\[0\] has stpe"):
        faults.read(world.folder)
    assert faults.read(None) == ("", [])


def test_two_who_hold_the_account_see_each_other_and_looks_write_nothing(tmp_path):
    one, other = World(tmp_path), World(tmp_path)
    vpc = one.make(VPC, cidrBlock="10.0.0.0/16")
    assert other.account.find(VPC, vpc) == one.account.find(VPC, vpc)
    other.make(SUBNET, vpcId=vpc, cidrBlock="10.0.0.0/24", availabilityZone="us-east-1a")
    (subnet,) = one.account.all(SUBNET)
    written = one.account.file.stat().st_ino
    one.account.saw(other.account.asked())
    assert one.account.file.stat().st_ino == written
    other.delete(SUBNET, subnet.id)
    assert [each.kind for each in one.account.all()] == [VPC]


def test_what_was_half_changed_when_it_was_refused_is_as_before(tmp_path):
    world = World(tmp_path)
    with suppress(ZeroDivisionError), world.account._open() as book:
        book.images["ami-1"] = "half"
        raise ZeroDivisionError
    assert world.account.images() == {}


def test_a_cluster_of_eks_takes_other_subnets_of_its_own_network_alone():
    world = World()
    foundation = world.foundation()
    (cluster,) = world.account.all(CLUSTER)
    more = world.make(
        SUBNET, "c", vpcId=foundation["vpc"], cidrBlock="10.0.9.0/24", availabilityZone="us-east-1c"
    )
    world.change(CLUSTER, cluster.id, vpcConfig={"subnetIds": [foundation["a"], more]})
    vpc = world.make(VPC, "other", cidrBlock="10.9.0.0/16")
    far = [
        world.make(SUBNET, zone, vpcId=vpc, cidrBlock=cidr, availabilityZone=f"us-east-1{zone}")
        for zone, cidr in (("a", "10.9.0.0/24"), ("b", "10.9.1.0/24"))
    ]
    with pytest.raises(Refused, match="Provided subnets must belong to the VPC of the cluster"):
        world.change(CLUSTER, cluster.id, vpcConfig={"subnetIds": far})


@every(("cloud", "kind"), [("aws", VPC), ("gcp", NETWORK)])
def test_a_service_that_fails_by_itself_is_asked_again_and_then_given_up(cloud, kind):
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        inputs = {"cidrBlock": "10.0.0.0/16"} if cloud == "aws" else {"name": "n"}
        faults.write(Path(folder), {"faults": [{"fault": "unavailable", "times": 3}]})
        world.make(kind, **inputs)
        faults.write(Path(folder), {"faults": [{"fault": "unavailable", "name": "y"}]})
        with pytest.raises(Refused, match="503"):
            world.make(kind, "y", **inputs)
