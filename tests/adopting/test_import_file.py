"""The file that `pulumi import` takes, and the state that comes of it."""

from gpuyard.adopting.resource_search import import_file, with_explicit_names
from gpuyard_core.catalogue.software.providers import PROVIDERS
from kit.clouds.running import COMPONENT, running


def test_a_file_has_parents_first_and_names_as_the_program_has_them():
    lab = running("aws")
    ids = {"vpc": "vpc-1", "system": "lab:system-1", "train-spot": "lab:train-spot"}
    content = import_file(lab.plan, lab.graph, ids, COMPONENT)
    assert content["nameTable"] == {}
    rows = [
        (r["type"], r["logicalName"], r.get("id"), r.get("parent")) for r in content["resources"]
    ]
    top, cluster, pool = (
        "Platform platform",
        "EksCluster platform-cluster",
        "GpuNodePool platform-train",
    )
    assert rows == [
        ("gpuyard:index:Platform", "platform", None, None),
        ("gpuyard:index:EksCluster", "platform-cluster", None, top),
        ("gpuyard:index:GpuNodePool", "platform-train", None, top),
        ("aws:ec2/vpc:Vpc", "platform-cluster-vpc", "vpc-1", cluster),
        ("aws:eks/nodeGroup:NodeGroup", "platform-cluster-system", "lab:system-1", cluster),
        ("aws:eks/nodeGroup:NodeGroup", "platform-train-spot", "lab:train-spot", pool),
    ]
    names = [each["name"] for each in content["resources"]]
    assert len(set(names)) == len(names)
    assert [r.get("component") for r in content["resources"]] == [True] * 3 + [None] * 3
    assert {r["version"] for r in content["resources"] if "id" in r} == {PROVIDERS["aws"].version}


def test_names_that_the_program_does_not_give_count_as_the_engines():
    def entry(kind, called, **inputs):
        urn = f"urn:pulumi:dev::p::{kind}::{called}"
        return {"urn": urn, "type": kind, "custom": True, "inputs": inputs}

    role = entry("aws:iam/role:Role", "lab-role", name="lab-role-0a1b2c3", __defaults=["path"])
    vpc = entry("aws:ec2/vpc:Vpc", "lab-vpc", cidrBlock="10.0.0.0/16", __defaults=[])
    other = entry("aws:iam/role:Role", "other", name="mine", __defaults=[])
    top = {
        "urn": "urn:pulumi:dev::p::gpuyard:index:Platform::lab",
        "type": "gpuyard:index:Platform",
    }
    deployment = {"resources": [top, role, vpc, other], "manifest": {}}
    made = with_explicit_names(deployment, ["lab", "lab-role", "lab-vpc"])
    wanted = {**role, "inputs": {**role["inputs"], "__defaults": ["name", "path"]}}
    assert made == {"resources": [top, wanted, vpc, other], "manifest": {}}
    assert with_explicit_names({}, [])["resources"] == []
