"""The fake aws and gcp providers under the real engine, and the account that stays behind them."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from testbed.plugins import environment
from testbed.plugins.cloud import facts, faults, installing
from testbed.plugins.cloud.account import Account

from kit.cluster.warm import AT_EVERY_STEP
from stacks import PASSPHRASE, STACK, Stack

GROUP, CLUSTER = "aws:eks/nodeGroup:NodeGroup", "aws:eks/cluster:Cluster"
POOL, GKE = "gcp:container/nodePool:NodePool", "gcp:container/cluster:Cluster"


def _role(service: str) -> str:
    principal = {"Service": f"{service}.amazonaws.com"}
    statement = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": principal}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def _node(kind: str, name: str, inputs: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"kind": kind, "name": name, "inputs": inputs, **more}


def aws_graph() -> dict[str, Any]:
    """A VPC with two subnets, a cluster in it and a group of GPU nodes."""
    subnets = [
        _node(
            "aws:ec2/subnet:Subnet",
            f"subnet-{zone}",
            {
                "vpcId": "$vpc.id",
                "cidrBlock": f"10.0.{place}.0/24",
                "availabilityZone": f"us-east-1{zone}",
            },
        )
        for place, zone in enumerate("ab")
    ]
    group = {
        "clusterName": "$main.name",
        "nodeRoleArn": "$node.arn",
        "subnetIds": ["$subnet-a.id"],
        "scalingConfig": {"minSize": 0, "desiredSize": 1, "maxSize": 2},
        "launchTemplate": {"id": "$template.id", "version": "$template.latestVersion"},
        "amiType": "AL2023_x86_64_NVIDIA",
        "taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}],
    }
    return {
        "version": facts.sdk("aws"),
        "resources": [
            _node("aws:ec2/vpc:Vpc", "vpc", {"cidrBlock": "10.0.0.0/16", "tags": {"a": "b"}}),
            *subnets,
            _node(
                "aws:iam/role:Role", "control", {"assumeRolePolicy": _role("eks")}, reads=["arn"]
            ),
            _node(
                "aws:iam/role:Role",
                "node",
                {"assumeRolePolicy": _role("ec2")},
                reads=["arn", "name"],
            ),
            _node(
                CLUSTER,
                "main",
                {
                    "roleArn": "$control.arn",
                    "vpcConfig": {"subnetIds": ["$subnet-a.id", "$subnet-b.id"]},
                    "accessConfig": {"authenticationMode": "API"},
                },
                reads=["name", "endpoint"],
            ),
            _node(
                "aws:ec2/launchTemplate:LaunchTemplate",
                "template",
                {"instanceType": "p5.48xlarge", "userData": "secret:aGVsbG8="},
                reads=["latestVersion"],
            ),
            _node(GROUP, "h100", group),
        ],
        "exports": ["main.endpoint"],
        "asks": {"aws:index/getAvailabilityZones:getAvailabilityZones": {}},
    }


def gcp_graph() -> dict[str, Any]:
    """A network with a subnetwork, a cluster in it and a pool of GPU nodes."""
    network = {"autoCreateSubnetworks": False}
    subnetwork = {"network": "$net.id", "ipCidrRange": "10.0.0.0/20", "region": "us-central1"}
    cluster = {
        "location": "us-central1",
        "network": "$net.id",
        "subnetwork": "$sub.id",
        "initialNodeCount": 1,
        "removeDefaultNodePool": True,
        "deletionProtection": False,
    }
    pool = {
        "cluster": "$gke.id",
        "nodeLocations": ["us-central1-a"],
        "nodeCount": 1,
        "nodeConfig": {"machineType": "a3-highgpu-8g", "serviceAccount": "$nodes.email"},
    }
    return {
        "version": facts.sdk("gcp"),
        "resources": [
            _node("gcp:compute/network:Network", "net", network),
            _node("gcp:compute/subnetwork:Subnetwork", "sub", subnetwork),
            _node("gcp:serviceaccount/account:Account", "nodes", {}, reads=["email"]),
            _node(GKE, "gke", cluster, reads=["endpoint"]),
            _node(POOL, "pool", pool),
        ],
        "exports": ["gke.endpoint"],
        "asks": {"gcp:organizations/getClientConfig:getClientConfig": {}},
    }


class Lab:
    """A stack of one graph, and the account behind it."""

    def __init__(self, stack: Stack, cloud: str, graph: dict[str, Any]) -> None:
        self.stack = stack
        self.graph = graph
        self.folder = Path(stack.env["GPUYARD_FAKE_CLOUD"])
        self.account = Account(self.folder, cloud)
        self.write()

    def write(self) -> None:
        (self.stack.folder / "graph.json").write_text(json.dumps(self.graph))

    def inputs(self, name: str) -> dict[str, Any]:
        return next(each for each in self.graph["resources"] if each["name"] == name)["inputs"]

    def change(self, name: str, **more: Any) -> None:
        """Change inputs of one resource; None takes one away."""
        inputs = self.inputs(name)
        inputs.update(more)
        for key in [key for key, value in inputs.items() if value is None]:
            del inputs[key]
        self.write()

    def drop(self, *names: str) -> None:
        kept = [each for each in self.graph["resources"] if each["name"] not in names]
        self.graph["resources"] = kept
        self.write()

    def faults(self, *script: dict[str, Any], **more: str) -> None:
        faults.write(self.folder, {"faults": script, **more})

    def kinds(self) -> list[str]:
        return sorted(each.kind.rpartition(":")[2] for each in self.account.all())


@pytest.fixture
def new_lab(engine: environment.Engine, tmp_path: Path, new_stack: Path) -> Iterator[Any]:
    """A stack on the fakes that needs no cluster."""
    made: list[Stack] = []

    def build(cloud: str, graph: dict[str, Any]) -> Lab:
        folder = tmp_path / "project"
        folder.mkdir()
        shutil.copytree(new_stack / "state" / "stacks", tmp_path / "state" / "stacks")
        shutil.copy(new_stack / f"Pulumi.{STACK}.yaml", folder)
        env = environment.variables(
            engine, state=tmp_path / "state", passphrase=PASSPHRASE, logs=False
        )
        env.update(installing.install(tmp_path / "state" / "home", tmp_path / "cloud"))
        env.update(PULUMI_STACK=STACK, GOGC="off", GOMEMLIMIT="1GiB", AWS_REGION="us-east-1")
        env.update(GPUYARD_TEST_PULUMI=str(engine.path), GOOGLE_PROJECT="my-project")
        env.update(GOOGLE_REGION="us-central1")
        stack = Stack(folder, env, "", Path("none"))
        (tmp_path / "none").touch()
        stack.kubeconfig = tmp_path / "none"
        stack.project()
        shutil.copy(Path(__file__).parents[1] / "programs" / "graph.py", folder / "__main__.py")
        made.append(stack)
        return Lab(stack, cloud, graph)

    yield build
    for each in made:
        each.close()


def test_an_aws_graph_lives_and_dies_as_at_the_real_cloud(new_lab):
    lab = new_lab("aws", aws_graph())
    seen = lab.stack.preview()
    assert "+ 9 to create" in seen.output
    assert "this is a fake of aws: nothing is made" in seen.output
    assert "main.endpoint" in seen.output
    assert "[unknown]" in seen.output
    assert lab.account.all() == []

    lab.faults(
        {"fault": "not-assumable", "kind": CLUSTER, "times": 3},
        {"fault": "throttle", "name": "subnet", "times": 2},
        {"fault": "capacity", "zone": "us-east-1a", "type": "p5.48xlarge", "times": 1},
    )
    failed = lab.stack.up(fails=True)
    assert (
        "sufficient p5.48xlarge capacity in the Availability Zone you requested (us-east-1a)"
        in failed.output
    )
    group = lab.account.all(GROUP)[0]
    assert group.state["status"] == "CREATE_FAILED"
    assert lab.stack.resource("h100")["id"] == group.id

    again = lab.stack.up("--replace", lab.stack.resource("h100")["urn"])
    assert again.counts["replaced"] == 1
    assert [each.state["status"] for each in lab.account.all(GROUP)] == ["ACTIVE"]
    lab.stack.up("--refresh", "--expect-no-changes")

    lab.change("template", instanceType="p5en.48xlarge")
    lab.change("vpc", tags={"a": "c"})
    changed = lab.stack.up()
    assert changed.counts["updated"] == 3
    assert lab.account.all(GROUP)[0].state["launchTemplate"]["version"] == "2"

    before = lab.account.all(GROUP)[0]
    lab.change("h100", amiType="BOTTLEROCKET_x86_64_NVIDIA")
    assert lab.stack.up().counts["replaced"] == 1
    assert lab.account.all(GROUP)[0].id != before.id
    canary = json.dumps(lab.stack.state())
    assert "aGVsbG8=" not in canary


@pytest.mark.usefixtures("cold")
def test_what_aws_refuses_and_what_is_left_of_a_kill(new_lab):
    """Cold: the fault kills the engine that started the provider, which warm is another one."""
    graph = aws_graph()
    graph.update(resources=graph["resources"][:1], exports=[])
    lab = new_lab("aws", graph)
    lab.faults(credentials="expired")
    said = lab.stack.preview(fails=True).output
    assert "ExpiredToken: The security token included in the request is expired" in said

    lab.faults({"fault": "kill", "kind": "aws:ec2/subnet:Subnet", "times": 1})
    subnet = {"vpcId": "$vpc.id", "cidrBlock": "10.0.0.0/24", "availabilityZone": "us-east-1a"}
    lab.graph["resources"].append(_node("aws:ec2/subnet:Subnet", "inside", subnet))
    lab.write()
    lab.stack.up(fails=True, **AT_EVERY_STEP)
    assert lab.kinds() == ["Subnet", "Vpc"]
    (pending,) = lab.stack.state()["pending_operations"]
    assert pending["resource"]["type"] == "aws:ec2/subnet:Subnet"

    lab.stack.run("cancel", "--yes")
    twice = lab.stack.up(fails=True).output
    assert "InvalidSubnet.Conflict: The CIDR '10.0.0.0/24' conflicts with another subnet" in twice
    lab.graph["resources"][-1]["import"] = lab.account.all("aws:ec2/subnet:Subnet")[0].id
    lab.write()
    assert lab.stack.up().counts["imported"] == 1
    lab.change("vpc", cidrBlock="10.0.0.0/15", tag={})
    said = lab.stack.preview(fails=True).output
    assert "cidrBlock is '10.0.0.0/15'; allowed: a range with a mask of 16 to 28 bits" in said
    assert "tag is no field; the nearest is tags" in said


def test_a_gcp_graph_lives_and_dies_as_at_the_real_cloud(new_lab):
    lab = new_lab("gcp", gcp_graph())
    lab.faults({"fault": "quota", "kind": POOL, "times": 1})
    failed = lab.stack.up(fails=True)
    assert "googleapi: Error 403: Insufficient regional quota to satisfy request" in failed.output
    assert lab.kinds() == ["Account", "Cluster", "Network", "Subnetwork"]

    lab.change("gke", deletionProtection=None)
    lab.change("pool", nodeCount=2)
    assert lab.stack.up().counts == {"created": 1, "updated": 1}
    lab.stack.up("--refresh", "--expect-no-changes")

    refused = lab.stack.destroy(fails=True)
    assert "Cannot destroy cluster because deletion_protection is set to true" in refused.output
    lab.change("gke", deletionProtection=False)
    lab.stack.up()
    lab.stack.destroy()
    assert lab.account.all() == []
