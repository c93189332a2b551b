"""Platforms in a cloud on the strict mock monitor: the cluster, its pools, and what is inside."""

import functools
import json
import subprocess
import sys

import pulumi
import pytest

from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.gcp.graph import gcp_graph
from gpuyard.resources import Platform
from gpuyard_core.names import SYSTEM_POOL
from gpuyard_testing import StackRunner
from kit.clouds import answers
from kit.clouds.stored import STORED
from kit.stacks import plan_of, platform, pool, team

TEAMS = [team("vision", guarantee={"train": 8}), team("speech", borrow={"train": 8})]
STACKS = {
    "aws": platform(
        [pool(nodes="0..4", capacity=["spot", "on-demand"], scaling="autoscaler"), pool("more")],
        TEAMS,
        cloud="aws",
    ),
    "gcp": platform(
        [pool(machine="a3-megagpu-8g", nodes="0..4", zones=["us-central1-a"])], TEAMS, cloud="gcp"
    ),
}
GRAPHS = {"aws": aws_graph, "gcp": gcp_graph}
CLOUDS = pytest.mark.parametrize("cloud", STACKS)


def program(cloud, **more):
    def run():
        pulumi.runtime.set_config("aws:region", "us-east-1")
        pulumi.runtime.set_config("gcp:region", "us-central1")
        Platform("lab", {"platform": {**STACKS[cloud], **more}})

    return run


RUNNER = StackRunner(outputs=answers.outputs, calls=answers.calls())


@pytest.fixture
def clouds():
    return RUNNER


@functools.cache
def made_once(cloud):
    """The graph of a cloud; tests read it and leave it as it is."""
    return RUNNER.run(program(cloud))


@pytest.fixture
def made(cloud):
    return made_once(cloud)


def bought_in(graph, cloud):
    return [one for one in graph if one.type.startswith(f"{cloud}:")]


@CLOUDS
def test_all_of_the_graph_is_registered_each_part_below_its_component(made, cloud):
    expected = GRAPHS[cloud](plan_of(STACKS[cloud]))
    bought = bought_in(made, cloud)
    assert sorted(one.type for one in bought) == sorted(each.kind for each in expected.resources)
    homes = {
        "": "lab-cluster",
        SYSTEM_POOL: "lab-cluster",
        "train": "lab-train",
        "more": "lab-more",
    }
    parents = sorted((one.type, made.ancestors(one)[0].name) for one in bought)
    assert parents == sorted((each.kind, homes[each.part]) for each in expected.resources)
    assert len({(one.type, one.name) for one in bought}) == len(bought)
    assert all(one.name.startswith(made.ancestors(one)[0].name) for one in bought)


@CLOUDS
def test_a_first_preview_registers_the_same(clouds, cloud):
    clouds.assert_same_when_unknown(program(cloud))


@CLOUDS
def test_all_that_is_inside_waits_for_the_cluster_with_its_nodes_and_add_ons(made, cloud):
    provider = made.one("pulumi:providers:kubernetes")
    bought = bought_in(made, cloud)
    around = {one.urn for one in bought if made.ancestors(one)[0].name == "lab-cluster"}
    assert around <= set(provider.dependencies)
    inside = [one for one in made if one.type.startswith("kubernetes:")]
    assert len(inside) > 20
    assert {str(one.provider).rpartition("::")[0] for one in inside} == {provider.urn}
    configs = {one.urn for one in inside if one.name.endswith("ConfigMap:gpu-operator/gpuyard-mig")}
    for one in bought_in(made, cloud):
        if made.ancestors(one)[0].name == "lab-train":
            assert configs <= set(one.dependencies), one.name


@CLOUDS
def test_the_way_in_is_the_users_own_program_and_holds_no_credential(made, cloud):
    said = made.one("pulumi:providers:kubernetes").inputs
    config = json.loads(said["kubeconfig"])
    (user,) = config["users"]
    run = user["user"]["exec"]
    assert run["apiVersion"] == "client.authentication.k8s.io/v1beta1"
    (server,) = (each["cluster"]["server"] for each in config["clusters"])
    assert server.startswith("https://")
    if cloud == "aws":
        assert said["clusterIdentifier"] == server
        assert [run["command"], *run["args"]] == [
            *("aws", "--region", "us-east-1", "eks", "get-token"),
            *("--cluster-name", "lab", "--output", "json"),
        ]
    else:
        assert said["clusterIdentifier"].endswith("/clusters/lab")
        assert (run["command"], run["provideClusterInfo"]) == ("gke-gcloud-auth-plugin", True)


@CLOUDS
def test_a_pool_that_is_renamed_keeps_its_names(clouds, made, cloud):
    before = {(one.type, one.name) for one in bought_in(made, cloud)}
    pools = [dict(one) for one in STACKS[cloud]["pools"]]
    pools[0].update(name="pretrain", previous_names=["train"])
    teams = [team("vision", guarantee={"pretrain": 8}), team("speech", borrow={"pretrain": 8})]
    after = clouds.run(program(cloud, pools=pools, teams=teams))
    assert {(one.type, one.name) for one in bought_in(after, cloud)} == before


def test_a_rung_added_before_others_leaves_them_as_they_are(clouds):
    def groups(capacity):
        found = clouds.run(
            program("aws", pools=[{**STACKS["aws"]["pools"][0], "capacity": capacity}])
        )
        return {one.urn: one.inputs for one in bought_in(found, "aws")}

    before = groups(["on-demand"])
    after = groups(["spot", "on-demand"])
    assert {urn: after[urn] for urn in before} == before


@pytest.mark.parametrize(("cloud", "other"), [("aws", "gcp"), ("gcp", "aws")])
def test_a_stack_of_one_cloud_loads_nothing_of_the_other(cloud, other):
    source = (
        "import json, sys, pulumi\n"
        "from gpuyard_testing import StackRunner\n"
        "from gpuyard.resources import Platform\n"
        "from kit.clouds import answers\n"
        "runner = StackRunner(outputs=answers.outputs, calls=answers.calls())\n"
        "raw = json.loads(sys.stdin.read())\n"
        "runner.run(lambda: Platform('lab', {'platform': raw}))\n"
        f"print([n for n in sys.modules if '.{other}' in n and 'gpuyard.' in n and 'catalogue' not in n])\n"
        f"print([n for n in sys.modules if n.startswith('pulumi_{other}')])\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", source],
        input=json.dumps(STACKS[cloud]),
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert ended.stdout.splitlines() == ["[]", "[]"]


@pytest.mark.parametrize("cloud", STORED)
def test_volumes_of_teams_are_given_what_the_cloud_made_of_the_stores(clouds, cloud):
    def run():
        pulumi.runtime.set_config("aws:region", "us-east-1")
        pulumi.runtime.set_config("gcp:region", "us-central1")
        Platform("lab", {"platform": STORED[cloud]})

    made = clouds.run(run)
    volumes = [one for one in made if one.type == "kubernetes:core/v1:PersistentVolume"]
    assert len(volumes) == 3
    handles = [one.inputs["spec"].get("csi", one.inputs["spec"].get("nfs")) for one in volumes]
    assert all(handles)
    assert "Late" not in json.dumps([one.inputs for one in volumes], default=str)
