"""Each alert fires and stays silent in promtool, and names its owner, the workload's namespace and a runbook."""

import re
from pathlib import Path

import pytest
import yaml

from gpuyard.render.observability.rules import rule_groups
from kit.promtool import check_rules
from kit.stacks import plan_of, platform, pool, team

CASES = yaml.safe_load((Path(__file__).parent / "alert_cases.yaml").read_text(encoding="utf-8"))
POD = 'node="whole-0", UUID="{0}", exported_namespace="vision", exported_pod="{0}"'
SHORT = {
    "node": 'kube_node_labels{node="whole-0", label_gpuyard_dev_pool="whole"}',
    "busy": f"DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{POD.format('g')}}}",
    "second": f"DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{POD.format('h')}}}",
    "third": f"DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{POD.format('i')}}}",
    "memory": f"DCGM_FI_DEV_FB_USED{{{POD.format('g')}}}",
}


@pytest.fixture(scope="module")
def plan():
    targets = {"utilisation_percent": "65..85", "memory_percent": 80, "idle_percent": 20}
    raw = platform(
        [pool("whole")],
        [team("vision", guarantee={"whole": 1}, budget_usd_per_month=5023)],
        cloud="aws",
        targets=targets,
        validation={"image": "registry.example.org/v:1", "textfile": "/var/lib/node-exporter"},
    )
    return plan_of(raw)


def alerts(plan):
    return [rule for group in rule_groups(plan) for rule in group["rules"] if "alert" in rule]


def test_each_alert_has_cases_an_owner_and_a_runbook(plan):
    assert {each["alert"] for each in alerts(plan)} == set(CASES)
    for each in alerts(plan):
        assert each["labels"]["severity"] in {"critical", "warning", "info"}
        assert each["labels"]["owner"] in {"team", "platform"}
        assert each["annotations"]["runbook_url"] == f"docs/runbooks/{each['alert']}.md"
        if "exported_namespace" in each["expr"]:
            assert each["labels"]["namespace"] == "{{ $labels.exported_namespace }}"


def test_one_alert_reports_each_xid(plan):
    """The catalogue of 2026-11-29 ends at 172; a code that it does not have, or without an action, is unclassified."""
    matched = {
        each["alert"]: re.search(r"xid(=~|!~)\"([\d|]+)\"", each["expr"])
        for each in alerts(plan)
        if "{xid" in each["expr"]
    }
    found = {
        str(code): [
            name
            for name, matcher in matched.items()
            if (str(code) in matcher[2].split("|")) is (matcher[1] == "=~")
        ]
        for code in range(1, 200)
    }
    assert {code for code, names in found.items() if not names} == {"106", "107", "154"}
    assert {len(names) for names in found.values()} == {0, 1}
    assert found["48"] == found["79"] == ["GpuXidHardware"]
    assert (found["94"], found["31"]) == (["GpuXidContained"], ["GpuXidApplication"])


def case(name, kind, interval):
    series = [{"series": SHORT.get(key, key), "values": v} for key, v in CASES[name][kind].items()]
    firing = f'count(ALERTS{{alertname="{name}", alertstate="firing"}}) > bool 0'
    found = [{"labels": "{}", "value": 1}] if kind == "fires" else []
    return {
        "interval": interval,
        "name": f"{name} {kind}",
        "input_series": series,
        "promql_expr_test": [{"expr": firing, "eval_time": "177m", "exp_samples": found}],
    }


def test_each_alert_fires_and_stays_silent(plan):
    tests = [case(name, kind, "1m") for name in CASES for kind in ("fires", "silent")]
    check_rules(plan, tests, every=180)
