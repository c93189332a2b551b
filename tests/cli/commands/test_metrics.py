"""`gpuyard metrics`: the rule file of a stack, and what its rules need."""

import json

import yaml

from gpuyard.render.observability.dashboards import dashboards
from gpuyard.render.observability.rules import rule_groups
from kit.stacks import plan_of, platform, pool, shared_pool

RAW = platform([pool(), shared_pool()])


def test_the_text_is_a_rule_file_that_names_its_node_labels(gpuyard, write):
    ended = gpuyard("metrics", write(RAW))
    assert (ended.code, ended.err) == (0, "")
    assert yaml.safe_load(ended.out) == {"groups": rule_groups(plan_of(RAW))}
    second = ended.out.splitlines()[1]
    assert (
        second
        == "# kube-state-metrics: --metric-labels-allowlist=nodes=[gpuyard.dev/pool],pods=[gpuyard.dev/class]"
    )


def test_the_document_has_groups_node_labels_and_counters(gpuyard, write):
    document = json.loads(gpuyard("metrics", write(RAW), "--format", "json").out)
    assert document["groups"] == rule_groups(plan_of(RAW))
    assert document["node_labels"] == ["gpuyard.dev/pool"]
    assert "DCGM_FI_DEV_FB_USED" in document["counters"]


def test_a_rejected_stack_has_no_rules(gpuyard, write):
    ended = gpuyard("metrics", write(platform([pool(nodes="many")])), "--format", "json")
    assert (ended.code, json.loads(ended.out)["groups"]) == (3, None)


def test_dashboards_are_written_to_a_folder(gpuyard, write, tmp_path):
    folder = tmp_path / "grafana"
    ended = gpuyard("metrics", write(RAW), "--dashboards", str(folder))
    assert (ended.code, ended.err) == (0, "")
    found = {file.name: json.loads(file.read_text()) for file in folder.glob("*.json")}
    assert found == dashboards(plan_of(RAW))
