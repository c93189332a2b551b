"""A third cloud, which no component names: one registered object takes it from check to deployment."""

import sys

import pytest
import yaml

from gpuyard import provider
from gpuyard.resources import Platform
from gpuyard.spec import platform as spec_of_platform
from gpuyard.spec.platform import Cloud
from gpuyard_core.catalogue.software.support import WINDOWS
from gpuyard_testing import StackRunner
from kit.clouds.toy import CATALOGUE, Toy, sdk
from kit.clouds.unasked import deaf, no_cluster_is_queried
from kit.inprocess import run
from kit.stacks import plan_of, platform, pool, team

__all__ = ["deaf", "no_cluster_is_queried"]

RAW = platform(
    [pool(machine="toy-8xh100", nodes=2), pool("more", machine="toy-8xh100", nodes=1)],
    [team("vision", guarantee={"train": 8})],
    cloud="toy",
    system={"machine": "toy-4cpu", "nodes": 2},
)
OUTPUTS = {"toy:index:Cluster": {"address": "https://10.0.0.1", "authority": "Y2E="}}


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(provider, "_registered", {})
    monkeypatch.setattr(spec_of_platform, "_ADDED", {})
    for table, row in CATALOGUE:
        monkeypatch.setitem(table, row.name, row)
    monkeypatch.setitem(WINDOWS, "toy", WINDOWS["none"])
    provider.register(Toy())
    monkeypatch.setitem(sys.modules, "pulumi_toy", sdk())


@pytest.fixture
def stack(tmp_path):
    file = tmp_path / "Pulumi.toy.yaml"
    file.write_text(yaml.safe_dump({"config": {"gpuyard:platform": RAW}}), encoding="utf-8")
    return file


def test_a_stack_of_it_is_accepted_and_planned(stack):
    checked = run("check", stack)
    assert checked.code == 0, checked.err
    assert "error" not in checked.err
    planned = run("plan", stack).out
    assert "lab  toy, Kubernetes 1.36" in planned
    assert "toy-8xh100" in planned


def test_its_cost_is_the_sum_of_its_prices(stack):
    costs = run("cost", stack)
    assert "maximum    60.20" in costs.out, costs.err


def test_its_objects_are_rendered(stack, tmp_path):
    values = tmp_path / "values.yaml"
    values.write_text("cluster.name: lab\n", encoding="utf-8")
    ended = run("render", stack, "--out", tmp_path / "out", "--values", values)
    assert ended.code == 0, ended.err
    kinds = {
        obj.get("kind")
        for file in (tmp_path / "out").rglob("*.yaml")
        for obj in yaml.safe_load_all(file.read_text(encoding="utf-8"))
    }
    assert {"Namespace", "ClusterQueue", "LocalQueue"} <= kinds


def test_a_deployment_registers_its_graph_in_order_and_then_the_objects():
    graph = StackRunner(outputs=OUTPUTS).run(lambda: Platform("lab", {"platform": RAW}))
    registered = [one for one in graph if one.custom]
    assert [one.name for one in registered if one.type.startswith("toy:")] == [
        "lab-cluster-network",
        "lab-cluster",
        "lab-train-nodes",
        "lab-more-nodes",
    ]
    kinds = [one.type for one in registered]
    assert kinds.index("toy:index:Cluster") < kinds.index("pulumi:providers:kubernetes")
    assert kinds.index("pulumi:providers:kubernetes") < min(
        number for number, kind in enumerate(kinds) if kind.startswith("kubernetes:")
    )
    assert "https://10.0.0.1" in str(graph.one("pulumi:providers:kubernetes").inputs)


@pytest.mark.parametrize("command", [["check", "--live"], ["permissions"]])
def test_a_command_about_its_account_says_that_it_has_none(stack, command):
    ended = run(command[0], stack, *command[1:])
    assert ended.code == 2
    assert "toy" in ended.err


def test_a_cloud_that_is_not_registered_is_unknown():
    assert Cloud("toy") == "toy"
    spec_of_platform._ADDED.clear()
    with pytest.raises(ValueError, match="toy"):
        Cloud("toy")


def test_it_names_no_interfaces_and_no_networks_of_pods():
    plan = plan_of(RAW)
    train = plan.pool("train")
    assert plan.provider.network_interfaces(train.machine) == ()
    assert plan.provider.pod_networks(plan, train) == ()
