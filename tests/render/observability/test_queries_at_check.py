"""`gpuyard check` holds every query that a platform deploys against its pools."""

import pytest

from gpuyard.render.observability import dashboards, rules
from gpuyard.spec.read import read_stack_file
from gpuyard.stack_validation import validate
from kit.stacks import platform, pool, stack_file

ALERT = {
    "alert": "Idle",
    "severity": "info",
    "owner": "platform",
    "expr": "max by (UUID) (dcgm_gpu_utilization) < 5",
    "summary": "idle",
}
PANEL = {"title": "Use", "queries": {"": "max by (UUID) (DCGM_FI_DEV_GPU_UTL)"}}
DASHBOARD = {"name": "fleet", "rows": [{"panels": [PANEL]}]}


def findings(**more):
    judged = validate(read_stack_file(stack_file(platform([pool()], **more)), "stack.yaml"))
    found = [each for each in judged.findings if each.id.startswith("metric.")]
    assert (judged.plan is None) == bool(found)
    return [(each.id, each.where, each.problem_and_fix) for each in found]


def test_a_query_that_returns_nothing_is_an_error_at_check(monkeypatch):
    monkeypatch.setattr(rules, "_alerts", lambda _plan: [ALERT])
    ((kind, where, words),) = findings(observability={})
    assert (kind, where) == ("metric.unknown", "observability")
    assert words.startswith("query of alerts.Idle: ")
    assert "DCGM_FI_DEV_GPU_UTIL" in words


def test_a_panel_without_data_is_one_too(monkeypatch):
    monkeypatch.setattr(dashboards, "_shown", lambda _plan: [DASHBOARD])
    ((kind, _, words),) = findings(observability={})
    assert kind == "metric.unknown"
    assert words.startswith("query of dashboards.fleet.Use: ")


@pytest.mark.parametrize("more", [{}, {"observability": {"prometheus": "none"}}])
def test_without_a_prometheus_there_is_no_query(monkeypatch, more):
    monkeypatch.setattr(rules, "_alerts", lambda _plan: [ALERT])
    assert findings(**more) == []
