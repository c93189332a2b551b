"""What the page about a cluster of your own says of others: the GPU Operator's values, and node labels."""

import re

import pytest
import yaml

import sizes
from gpuyard.names import GPU_OPERATOR_NAMESPACE, MIG_CONFIGMAP, PLUGIN_CONFIGMAP
from gpuyard.plan import planned
from gpuyard.render.gpu_operator import gpu_operator_objects
from gpuyard.spec.read import read_stack_file
from kit.levels import upstream
from kit.pages import blocks

PAGE = sizes.ROOT / "docs" / "guides" / "own-cluster.md"
TEXT = PAGE.read_text(encoding="utf-8")


def block(name):
    (found,) = [b.text for b in blocks(PAGE) if b.text.startswith(f"# {name}\n")]
    return found


@pytest.fixture(scope="module")
def plan():
    reading = read_stack_file(block("Pulumi.blue.yaml").encode(), "Pulumi.blue.yaml")
    return planned(reading.spec)


@pytest.fixture(scope="module")
def values():
    return yaml.safe_load(block("gpu-operator.yaml"))


def test_the_operator_reads_the_config_maps_that_up_makes(plan, values):
    made = {o["metadata"]["name"] for o in gpu_operator_objects(plan) if o["kind"] == "ConfigMap"}
    read = {values[part]["config"]["name"] for part in ("devicePlugin", "migManager")}
    assert read == made == {MIG_CONFIGMAP, PLUGIN_CONFIGMAP}
    (parted,) = [o for o in gpu_operator_objects(plan) if o["metadata"]["name"] == MIG_CONFIGMAP]
    default = values["migManager"]["config"]["default"]
    assert default in yaml.safe_load(parted["data"]["config.yaml"])["mig-configs"]


def test_the_operator_runs_on_every_node_that_is_tainted_as_the_plan_says(plan, values):
    tolerated = {(t["key"], t["effect"]) for t in values["daemonsets"]["tolerations"]}
    tainted = {(taint.key, taint.effect) for pool in plan.pools for taint in pool.taints}
    assert tainted <= tolerated
    assert {t["operator"] for t in values["daemonsets"]["tolerations"]} == {"Exists"}


def test_the_chart_has_the_values(values):
    chart = yaml.safe_load(upstream("values", "gpu-operator.yaml").read_text(encoding="utf-8"))
    assert chart["mig"].keys() >= values["mig"].keys()
    assert chart["devicePlugin"]["config"].keys() >= values["devicePlugin"]["config"].keys()
    assert chart["daemonsets"].keys() >= values["daemonsets"].keys()
    assert "migManager" in chart


def test_the_labels_of_the_page_are_those_of_the_plan(plan):
    labelled = re.findall(r"kubectl label node [\w ]+? ((?:\S+=\S+ ?)+)$", TEXT, re.MULTILINE)
    assert len(labelled) == len(plan.pools)
    later = {"nvidia.com/mig.config"}  # said below: when no pod uses the GPUs
    for line, pool in zip(labelled, plan.pools, strict=True):
        given = dict(each.split("=") for each in line.split())
        assert given == {k: v for k, v in pool.labels.items() if k not in later}


def test_chart_version_and_namespace_are_ours(plan):
    installed = re.search(r"--namespace (\S+) --version v(\S+)", TEXT)
    assert installed is not None
    assert installed.groups() == (GPU_OPERATOR_NAMESPACE, plan.software["gpu-operator"])
