"""The query contract: correct queries pass, wrong ones are refused with the fix, and no renamed name passes."""

import re
from functools import partial
from pathlib import Path

import pytest
import yaml

from gpuyard.render.observability.contract import (
    RecordingRule,
    check_query,
    check_recording_rules,
)
from gpuyard.render.observability.scope import MeteredPool, QueryScope
from gpuyard.render.observability.series import Labels, Series
from gpuyard_core.catalogue.kubernetes.autoscaler_metrics import PER_GROUP_FLAG
from gpuyard_core.catalogue.metrics import dcgm_default, exporters
from gpuyard_core.catalogue.sharing import SharingMethod
from kit.every import judge
from kit.shortages import SHORTAGES

CASES = yaml.safe_load((Path(__file__).parent / "queries.yaml").read_text(encoding="utf-8"))
RECORDED = {
    "gpuyard:team": Series(Labels(frozenset({"namespace", "team"}))),
    "gpuyard:any": Series(Labels(is_open=True)),
}
NAMES = re.compile(r'"[^"]*"|\b[A-Za-z_][\w:]*')
"""Strings, and words outside them."""
OWN = re.compile(
    r"DCGM_\w+|kueue_\w+|kube_\w+|gpu_validation_\w+|gpuyard:team|karpenter_\w+|vllm:\w+"
)
LABELS = re.compile(r"(?:\b(?:by|on|group_left|without|ignoring) \(|\{)([^(){}]*)[)}]")
OPEN = ("gpuyard:any", "vector")


def pool(name):
    if name == "old":
        return MeteredPool(name, SharingMethod.NONE, frozenset())
    return MeteredPool(name, SharingMethod(name))


def scope(case):
    honored = {name for name, each in exporters().items() if each.honors_labels}
    return QueryScope(
        pools=tuple(map(pool, case.get("pools", ["none"]))),
        counters=frozenset([*dcgm_default(), *case.get("counters", ())]),
        recorded=RECORDED,
        settings=frozenset(case.get("settings", ())),
        honors_labels=frozenset(honored | ({"dcgm-exporter"} if case.get("honors") else set())),
        target_labels={"dcgm-exporter": frozenset({"pool", "node"})},
        has_virtual_gpus=case.get("virtual", True),
    )


def test_correct_queries_are_accepted():
    def accepted(case):
        assert [str(each) for each in check_query(case["query"], scope(case))] == []

    judge([(case["query"], partial(accepted, case)) for case in CASES["accepted"]])


def test_wrong_queries_are_refused_with_the_fix():
    def refused(case):
        found = check_query(case["query"], scope(case), ("queries", 0))
        assert [each.id for each in found] == case["ids"]
        assert case["fix"] in "\n".join(each.fix_message for each in found)
        assert {each.path for each in found} <= {("queries", 0)}

    judge([(case["query"], partial(refused, case)) for case in CASES["refused"]])


def renamed(query):
    """The query with one metric, or one label of a grouping or matcher, renamed; for each of them."""
    for found in OWN.finditer(query):
        yield f"{query[: found.end()]}_renamed{query[found.end() :]}"
    for group in LABELS.finditer(query):
        for name in NAMES.finditer(group[1]):
            if not name[0].startswith('"') and name[0] != "__name__":
                at = group.start(1) + name.end()
                yield f"{query[:at]}_renamed{query[at:]}"


@pytest.mark.parametrize(
    "case",
    [c for c in CASES["accepted"] if not any(word in c["query"] for word in OPEN)],
    ids=lambda case: case["query"],
)
def test_no_renamed_metric_or_label_passes(case):
    for query in renamed(case["query"]):
        found = check_query(query, scope(case))
        if "label_renamed" not in query and "label_team_renamed" not in query:
            assert found, query


def test_a_query_may_use_the_results_of_recording_rules():
    rules = [
        RecordingRule("gpu:use", "max by (UUID, pool) (DCGM_FI_PROF_GR_ENGINE_ACTIVE)"),
        RecordingRule("pool:use", "sum by (pool) (gpu:use)", frozenset({"platform"})),
        RecordingRule(
            "pod:use", "max by (UUID, exported_namespace) (DCGM_FI_PROF_GR_ENGINE_ACTIVE)"
        ),
    ]
    extended, findings = check_recording_rules(rules, scope({"pools": ["time-slicing"]}))
    assert findings == []
    assert check_query('pool:use{platform="lab", pool="a"}', extended) == []
    assert [each.id for each in check_query("sum(pod:use)", extended)] == ["metric.counted_twice"]
    assert [each.id for each in check_query("pool:use{team=''}", extended)] == ["metric.label"]


def test_a_recording_rule_is_reported_by_its_name():
    rules = [RecordingRule("a:b", "sum("), RecordingRule("c:d", "sum(a:bb)")]
    _, findings = check_recording_rules(rules, scope({}), ("rules",))
    assert [(each.id, each.path) for each in findings] == [
        ("metric.query", ("rules", "a:b")),
        ("metric.unknown", ("rules", "c:d")),
    ]


def test_queries_of_the_documentation_are_accepted():
    found = scope({"settings": [PER_GROUP_FLAG]})
    assert [each for shortage in SHORTAGES for each in check_query(shortage.query, found)] == []
