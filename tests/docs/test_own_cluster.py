"""The page about a cluster of your own: the GPU Operator's values, and node labels."""

import re

import pytest
import yaml
from testbed.plugins.kubernetes.helm import unknown_values

import sizes
from gpuyard.plan import plan_or_raise
from gpuyard.render.files import render_files
from gpuyard.render.gpu_operator.existing_operator import differences
from gpuyard.render.gpu_operator.objects import gpu_operator_objects
from gpuyard.render.gpu_operator.values import gpu_operator_release
from gpuyard.spec.read import read_stack_file
from gpuyard.spec.sections import OperatorSpec
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
    return plan_or_raise(reading.spec)


@pytest.fixture(scope="module")
def joined():
    """The same platform with an existing operator."""
    reading = read_stack_file(block("Pulumi.blue.yaml").encode(), "Pulumi.blue.yaml")
    there = OperatorSpec(install=False)
    return plan_or_raise(reading.spec.model_copy(update={"gpu_operator": there}))


def test_an_operator_that_has_the_values_of_the_page_is_as_the_plan_needs_it(joined):
    values = yaml.safe_load(block("gpu-operator.yaml"))
    assert [
        said for said in differences(joined, {"spec": values}) if "toolkit.env" not in said
    ] == []
    made = {o["metadata"]["name"] for o in gpu_operator_objects(joined)}
    assert {values[part]["config"]["name"] for part in ("devicePlugin", "migManager")} == made


def test_the_chart_has_the_values():
    chart = yaml.safe_load(upstream("values", "gpu-operator.yaml").read_text(encoding="utf-8"))
    unknown = list(unknown_values(yaml.safe_load(block("gpu-operator.yaml")), chart))
    assert unknown == ["dcgmExporter.config"]  # templates/clusterpolicy.yaml reads it


def test_the_labels_of_the_page_are_those_of_the_plan(plan):
    labelled = re.findall(r"kubectl label node [\w ]+? ((?:\S+=\S+ ?)+)$", TEXT, re.MULTILINE)
    assert len(labelled) == len(plan.pools)
    later = {"nvidia.com/mig.config"}  # described below: when no pod uses the GPUs
    for line, pool in zip(labelled, plan.pools, strict=True):
        given = dict(each.split("=") for each in line.split())
        assert given == {k: v for k, v in pool.labels.items() if k not in later}


def test_namespace_and_folder_of_the_page_are_where_up_and_render_put_it(plan):
    release = gpu_operator_release(plan)
    assert f"installs NVIDIA's chart into `{release.namespace}`" in TEXT
    assert "001-gpu-operator/values.yaml" in TEXT
    assert "001-gpu-operator/values.yaml" in render_files(plan, {})
