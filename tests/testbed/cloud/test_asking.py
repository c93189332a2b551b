"""Function calls to the fakes, and the configuration of a provider."""

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from testbed.plugins.cloud import asking, configuring, faults, installing
from testbed.plugins.cloud.account import Account, Refused
from testbed.plugins.cloud.service import reservations
from testbed.plugins.cloud.shapes import Place
from testbed.plugins.kubernetes.values import Secret

from kit.every import every

AWS = Place("aws", region="us-east-1")
GCP = Place("gcp", region="us-central1", project="my-project")
VPC, SUBNET = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet"
NETWORK = "gcp:compute/network:Network"
ROLE = "arn:aws:iam::123456789012:role/node"


@pytest.fixture
def account() -> Account:
    """A VPC with two subnets and a cluster, as each cloud has them."""
    made = Account()
    vpc = made.create(VPC, "v", {"cidrBlock": "10.0.0.0/16", "tags": {"env": "a"}}, AWS).id
    for zone in "ab":
        subnet = {
            "vpcId": vpc,
            "cidrBlock": f"10.0.{'ab'.index(zone)}.0/24",
            "availabilityZone": f"us-east-1{zone}",
        }
        made.create(SUBNET, zone, subnet, AWS)
    trust = json.dumps({"Statement": [{"Principal": "*"}]})
    made.create("aws:iam/role:Role", "r", {"name": "node", "assumeRolePolicy": trust}, AWS)
    ids = [each.id for each in made.all(SUBNET)]
    cluster = {"name": "main", "roleArn": ROLE, "vpcConfig": {"subnetIds": ids}}
    made.create("aws:eks/cluster:Cluster", "c", cluster, AWS)
    gke = {"name": "gke", "location": "us-central1", "initialNodeCount": 1}
    made.create("gcp:container/cluster:Cluster", "g", gke, GCP)
    return made


def _ask(account: Account, token: str, **given: Any) -> dict[str, Any]:
    assert asking.failures(token, given) == []
    return asking.answer(token, given, account, AWS if token.startswith("aws:") else GCP)


@every(
    ("token", "given", "name", "value"),
    [
        ("aws:index/getCallerIdentity:getCallerIdentity", {}, "accountId", "123456789012"),
        ("aws:index/getPartition:getPartition", {}, "partition", "aws"),
        ("aws:index/getRegion:getRegion", {}, "name", "us-east-1"),
        (
            "aws:index/getAvailabilityZones:getAvailabilityZones",
            {},
            "zoneIds",
            [f"use1-az{number}" for number in (1, 2, 4, 5, 3, 6)],
        ),
        (
            "aws:index/getAvailabilityZones:getAvailabilityZones",
            {"excludeZoneIds": ["use1-az3"]},
            "names",
            [f"us-east-1{each}" for each in "abcdf"],
        ),
        (
            "aws:index/getAvailabilityZones:getAvailabilityZones",
            {"excludeNames": ["us-east-1b"]},
            "names",
            [f"us-east-1{each}" for each in "acdef"],
        ),
        (
            "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings",
            {
                "locationType": "availability-zone",
                "filters": [{"name": "instance-type", "values": ["p5.48xlarge"]}],
            },
            "locations",
            [f"us-east-1{each}" for each in "abcdef"],
        ),
        (
            "gcp:compute/getMachineTypes:getMachineTypes",
            {"zone": "us-central1-a", "filter": 'name = "a3-megagpu-8g" OR name = "g2-standard-4"'},
            "machineTypes",
            [{"name": "a3-megagpu-8g"}, {"name": "g2-standard-4"}],
        ),
        ("gcp:compute/getZones:getZones", {}, "names", [f"us-central1-{each}" for each in "abcf"]),
        (
            "gcp:compute/getZones:getZones",
            {"region": "europe-west4"},
            "names",
            [f"europe-west4-{each}" for each in "abc"],
        ),
        ("gcp:organizations/getProject:getProject", {}, "projectId", "my-project"),
        ("gcp:organizations/getClientConfig:getClientConfig", {}, "region", "us-central1"),
    ],
)
def test_what_every_account_answers(token, given, name, value):
    assert _ask(Account(), token, **given)[name] == value


def test_what_is_there_is_found_by_id_tag_and_filter(account):
    vpc = account.all(VPC)[0].id
    assert _ask(account, "aws:ec2/getVpc:getVpc", id=vpc)["cidrBlock"] == "10.0.0.0/16"
    assert _ask(account, "aws:ec2/getVpc:getVpc", tags={"env": "a"})["id"] == vpc
    with pytest.raises(Refused, match="no matching EC2 VPC found"):
        _ask(account, "aws:ec2/getVpc:getVpc", tags={"env": "b"})
    account.create(VPC, "w", {"cidrBlock": "10.1.0.0/16"}, AWS)
    with pytest.raises(Refused, match="multiple matching EC2 VPC found"):
        _ask(account, "aws:ec2/getVpc:getVpc")
    inside = {"name": "vpc-id", "values": [vpc]}
    zone = {"name": "availability-zone", "values": ["us-east-1a"]}
    tagged = {"name": "tag:env", "values": ["a"]}
    subnets = "aws:ec2/getSubnets:getSubnets"
    assert len(_ask(account, subnets, filters=[inside])["ids"]) == 2
    assert len(_ask(account, subnets, filters=[inside, zone])["ids"]) == 1
    assert _ask(account, subnets, filters=[tagged])["ids"] == []
    with pytest.raises(Refused, match="The filter 'vpc' is invalid"):
        _ask(account, subnets, filters=[{"name": "vpc", "values": []}])


def test_a_cluster_answers_and_its_token_is_secret(account):
    found = _ask(account, "aws:eks/getCluster:getCluster", name="main")
    assert found["endpoint"].startswith("https://")
    assert found["certificateAuthorities"][0]["data"]
    token = _ask(account, "aws:eks/getClusterAuth:getClusterAuth", name="main")["token"]
    assert isinstance(token, Secret)
    assert token.value.startswith("k8s-aws-v1.")
    gke = _ask(account, "gcp:container/getCluster:getCluster", name="gke", location="us-central1")
    assert gke["masterAuths"][0]["clusterCaCertificate"]


@every(
    ("token", "given", "said"),
    [
        (
            "aws:eks/getCluster:getCluster",
            {"name": "none"},
            r"reading EKS Cluster \(none\): couldn't find resource",
        ),
        (
            "aws:eks/getNodeGroup:getNodeGroup",
            {"clusterName": "a", "nodeGroupName": "b"},
            r"reading EKS Node Group \(a:b\)",
        ),
        ("gcp:container/getCluster:getCluster", {"name": "none"}, "clusters/none not found"),
        (
            "aws:ssm/getParameter:getParameter",
            {"name": "/mine"},
            r"reading SSM Parameter \(/mine\)",
        ),
    ],
)
def test_what_is_not_there_is_an_error(token, given, said):
    with pytest.raises(Refused, match=said):
        _ask(Account(), token, **given)


def test_a_node_group_answers(account):
    inputs = {
        "clusterName": "main",
        "nodeGroupName": "n",
        "nodeRoleArn": ROLE,
        "subnetIds": [account.all(SUBNET)[0].id],
        "scalingConfig": {"minSize": 0, "desiredSize": 0, "maxSize": 1},
    }
    account.create("aws:eks/nodeGroup:NodeGroup", "n", inputs, AWS)
    found = _ask(
        account, "aws:eks/getNodeGroup:getNodeGroup", clusterName="main", nodeGroupName="n"
    )
    assert found["status"] == "ACTIVE"
    assert found["scalingConfigs"] == [inputs["scalingConfig"]]


def test_an_image_of_eks_is_a_parameter():
    name = (
        "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/nvidia/recommended/image_id"
    )
    found = _ask(Account(), "aws:ssm/getParameter:getParameter", name=name)
    assert found["value"].value.startswith("ami-")


def test_a_question_that_is_wrong_is_refused():
    assert asking.failures("aws:eks/getClusters:getClusters", {}) == [
        "aws:eks/getClusters:getClusters: no such function here; the nearest is aws:eks/getCluster:getCluster"
    ]
    assert asking.failures("aws:eks/getCluster:getCluster", {"names": "a"}) == [
        "aws:eks/getCluster:getCluster: names is no argument; the nearest is name",
        "aws:eks/getCluster:getCluster: name is missing; it is required",
    ]


# ── configuration ─────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def bare(monkeypatch) -> None:
    """Remove all variables of clouds."""
    for name in (
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "GOOGLE_PROJECT",
        "GOOGLE_REGION",
        "GPUYARD_FAKE_CLOUD",
    ):
        monkeypatch.delenv(name, raising=False)


def test_aws_needs_a_region(bare, monkeypatch):
    lacking = ("region", "missing required configuration variable: aws:region")
    assert configuring.failures("aws", {}) == [lacking]
    assert configuring.failures("aws", {"region": "us-east-1"}) == []
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert configuring.failures("aws", {}) == []
    assert configuring.place("aws", {}).region == "eu-west-1"
    tagged = configuring.place(
        "aws", {"region": "us-east-1", "defaultTags": '{"tags": {"a": "b"}}'}
    )
    assert (tagged.region, tagged.tags) == ("us-east-1", {"a": "b"})


def test_a_field_that_the_provider_has_not_is_refused():
    said = "regoin is no field of the gcp provider, as far as its fake knows it"
    assert configuring.failures("gcp", {"project": "p", "regoin": "x"}) == [("regoin", said)]
    assert configuring.place("gcp", {"project": "p", "zone": "z"}).project == "p"


@every(
    ("cloud", "ailing"),
    [(cloud, word) for cloud in ("aws", "gcp") for word in ("missing", "expired")],
)
def test_bad_credentials_are_refused_in_the_providers_words(cloud, ailing, tmp_path):
    folder = tmp_path / f"{cloud}-{ailing}"
    folder.mkdir()
    configuring.let_in(cloud, folder)
    (folder / "faults.json").write_text(json.dumps({"credentials": ailing}))
    with pytest.raises(configuring.BadCredentials, match=r"credential|token"):
        configuring.let_in(cloud, folder)


def test_the_account_lies_where_the_variable_says(bare, monkeypatch):
    monkeypatch.setenv("GPUYARD_FAKE_CLOUD", "/somewhere")
    assert configuring.folder() == Path("/somewhere")


def test_both_fakes_are_put_where_an_engine_looks(tmp_path):
    env = installing.install(tmp_path / "home", tmp_path / "cloud")
    found = sorted(each.name for each in (tmp_path / "home").rglob("pulumi-resource-*"))
    assert found == ["pulumi-resource-aws", "pulumi-resource-gcp"]
    assert env["GPUYARD_FAKE_CLOUD"] == str(tmp_path / "cloud")


OFFERS = "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings"
MACHINES = "gcp:compute/getMachineTypes:getMachineTypes"
P5 = [{"name": "instance-type", "values": ["p5.48xlarge"]}]


def test_a_script_takes_machines_from_a_zone_for_who_asks_and_for_who_buys(tmp_path):
    taken = {"fault": "unsold", "zone": "us-east-1b", "type": "p5.48xlarge"}
    script = {"faults": [taken, {"fault": "unsold", "zone": "us-central1-a"}]}
    (tmp_path / "faults.json").write_text(json.dumps(script), encoding="utf-8")
    account = Account(tmp_path)
    sold = _ask(account, OFFERS, locationType="availability-zone", filters=P5)
    assert sold["locations"] == [f"us-east-1{each}" for each in "acdef"]
    here = _ask(account, MACHINES, zone="us-central1-a", filter='name = "a3-megagpu-8g"')
    assert here["machineTypes"] == []


@every(
    ("token", "given", "said"),
    [
        (OFFERS, {"filters": P5}, "only offers by availability-zone"),
        (OFFERS, {"locationType": "availability-zone"}, "only offers of types that are named"),
        (MACHINES, {"zone": "us-central1-z"}, "'us-central1-z'. Unknown zone."),
        (MACHINES, {"zone": "us-central1-a"}, "only machine types that a filter names"),
    ],
)
def test_an_offer_that_is_not_known_here_is_refused(token, given, said):
    with pytest.raises(Refused, match=re.escape(said)):
        _ask(Account(), token, **given)


BLOCK = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
GET_BLOCK = "aws:ec2/getCapacityBlockReservation:getCapacityBlockReservation"
TAGGED = "aws:resourcegroupstaggingapi/getResources:getResources"


def bought(account: Account) -> str:
    offer = {"capacityBlockOfferingId": "cb-0a", "instancePlatform": "Linux/UNIX"}
    return account.create(BLOCK, "b", {**offer, "tags": {"offer": "cb-0a"}}, AWS).id


def test_a_block_is_found_by_its_id_alone(account: Account) -> None:
    """Without an id the provider sends an empty one, and EC2 ignores the filters."""
    held = bought(account)
    tag = {"name": "tag:offer", "values": ["cb-0a"]}
    assert _ask(account, GET_BLOCK, id=held)["id"] == held
    with pytest.raises(Refused, match=r"InvalidCapacityReservationId\.Malformed"):
        _ask(account, GET_BLOCK, filters=[tag])
    with pytest.raises(Refused, match="couldn't find resource"):
        _ask(account, GET_BLOCK, id="cr-0123456789abcdef0")
    with pytest.raises(Refused, match="couldn't find resource"):
        _ask(account, GET_BLOCK, id=held, filters=[{**tag, "values": ["cb-0b"]}])


ODCR = "aws:ec2/capacityReservation:CapacityReservation"
ON_EC2 = {
    "instanceType": "p5.48xlarge",
    "availabilityZone": "us-east-1a",
    "instanceCount": 8,
}
GET_GCE, ON_GCE = (
    "gcp:compute/getReservation:getReservation",
    {"name": "h200", "zone": "us-central1-b", "machineType": "a3-ultragpu-8g", "count": 4},
)


def test_the_same_question_finds_a_reservation_of_any_kind(tmp_path: Path) -> None:
    """The provider queries EC2 by the id, without a kind."""
    reservations.write(tmp_path, {"aws": [{"id": "cr-0a", **ON_EC2}]})
    account = Account(tmp_path, "aws")
    found = _ask(account, GET_BLOCK, id="cr-0a")
    assert {key: found[key] for key in ON_EC2} == ON_EC2
    assert (found["state"], found["reservationType"]) == ("active", "default")
    made = account.create(ODCR, "r", {**ON_EC2, "instancePlatform": "Linux/UNIX"}, AWS)
    assert _ask(account, GET_BLOCK, id=made.id)["availabilityZone"] == "us-east-1a"
    with pytest.raises(Refused, match="couldn't find resource"):
        _ask(account, GET_BLOCK, id="cr-0b")
    assert account.asked() >= {"ec2:DescribeCapacityReservations"}


def test_a_reservation_of_google_is_in_one_zone_of_one_project(tmp_path: Path) -> None:
    """The provider treats a 404 as deleted, and its data source still sets the id."""
    shared = {**ON_GCE, "name": "shared", "project": "capacity", "status": "CREATING"}
    reservations.write(tmp_path, {"gcp": [ON_GCE, shared]})
    account = Account(tmp_path, "gcp")
    there = _ask(account, GET_GCE, name="h200", zone="us-central1-b")
    (held,) = there["specificReservations"]
    assert (there["status"], held["count"]) == ("READY", 4)
    assert held["instanceProperties"] == [{"machineType": "a3-ultragpu-8g"}]
    for given in (
        {"name": "h200", "zone": "us-central1-a"},
        {"name": "h201", "zone": "us-central1-b"},
        {"name": "h200", "zone": "us-central1-b", "project": "capacity"},
        {"name": "shared", "zone": "us-central1-b"},
    ):
        none = _ask(account, GET_GCE, **given)
        assert none["id"].endswith(f"/zones/{given['zone']}/reservations/{given['name']}")
        assert not none.keys() & {"status", "specificReservations"}
    asked = {"name": "shared", "zone": "us-central1-b", "project": "capacity"}
    assert _ask(account, GET_GCE, **asked)["status"] == "CREATING"
    with pytest.raises(Refused, match=re.escape("'us-central1-z'. Unknown zone.")):
        _ask(account, GET_GCE, name="h200", zone="us-central1-z")
    assert account.asked() == {"compute.reservations.get"}


def test_a_reservation_that_a_program_made_is_found_too(account: Account) -> None:
    shape = {"machineType": "a3-ultragpu-8g"}
    given = {
        "name": "h200",
        "zone": "us-central1-b",
        "specificReservation": {"count": 4, "instanceProperties": shape},
    }
    account.create("gcp:compute/reservation:Reservation", "r", given, GCP)
    found = _ask(account, GET_GCE, name="h200", zone="us-central1-b")
    assert (found["status"], found["specificReservations"][0]["count"]) == ("READY", 4)


@every(
    ("said", "why"),
    [
        ({"azure": []}, "has azure; allowed: aws, gcp"),
        (
            {"aws": [{"id": "cr-0a"}]},
            r"aws\[0\]: availabilityZone, instanceCount, instanceType: it has",
        ),
        ({"gcp": [{**ON_GCE, "region": "x"}]}, r"gcp\[0\]: region: it has"),
    ],
)
def test_a_file_of_reservations_that_cannot_be_meant_is_an_error(said, why):
    with tempfile.TemporaryDirectory() as folder:
        reservations.write(Path(folder), said)
        with pytest.raises(ValueError, match=why):
            reservations.read(Path(folder), next(iter(set(said) & {"aws", "gcp"}), "aws"))


def test_what_has_a_tag_is_a_list_that_may_be_empty(account: Account) -> None:
    held = bought(account)

    def with_tag(value: str) -> list[dict[str, Any]]:
        asked = {"tagFilters": [{"key": "offer", "values": [value]}]}
        kinds = ["ec2:capacity-reservation"]
        return _ask(account, TAGGED, resourceTypeFilters=kinds, **asked)["resourceTagMappingLists"]

    (found,) = with_tag("cb-0a")
    assert found["resourceArn"].endswith(f":capacity-reservation/{held}")
    assert with_tag("cb-0b") == []
    for kinds in ([], ["ec2:instance"]):
        with pytest.raises(Refused, match="only these are known here"):
            _ask(account, TAGGED, resourceTypeFilters=kinds)


# ── faults ────────────────────────────────────────────────────────────────────────────────────────
@every(
    ("at", "kind"),
    [("read", VPC), ("ask", "aws:ec2/getSubnets:getSubnets"), ("delete", VPC), ("read", NETWORK)],
)
def test_a_look_at_a_service_that_fails_is_taken_again_and_then_given_up(at, kind):
    with tempfile.TemporaryDirectory() as folder:
        account = Account(Path(folder))

        def act():
            if at == "delete":
                account.delete(kind, "x", "x", {})
            else:
                account.look(at, kind, "x")

        for fault in ({"fault": "unavailable", "times": 24}, {"fault": "throttle", "at": "create"}):
            faults.write(Path(folder), {"faults": [{"at": at, **fault}]})
            act()
        faults.write(Path(folder), {"faults": [{"at": at, "fault": "unavailable"}]})
        with pytest.raises(Refused, match="503"):
            act()
        assert account.met() == 24 + 25


def test_what_only_looks_is_no_step():
    with tempfile.TemporaryDirectory() as folder:
        account = Account(Path(folder))
        faults.write(Path(folder), {"faults": [{"fault": "refuse", "at": "read", "step": 9}]})
        for _ in range(3):
            account.look("read", VPC, "x")
        faults.write(Path(folder), {"faults": [{"fault": "refuse", "step": 1}]})
        with pytest.raises(Refused, match="AccessDenied"):
            account.create(VPC, "v", {"cidrBlock": "10.0.0.0/16"}, AWS)
