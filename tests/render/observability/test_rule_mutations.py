"""A metric or label renamed anywhere, in rules, alerts, dashboards or monitors, is refused, with the query and a fix."""

import re
from dataclasses import replace

import pytest

from gpuyard.render.data_files import read_data
from gpuyard.render.observability import dashboards as panels
from gpuyard.render.observability import relabelings, rules
from gpuyard.render.observability.contract import check_query
from gpuyard.render.observability.dashboards import check_dashboards
from gpuyard.render.observability.facts import RuleText
from gpuyard.render.observability.rules import check_rules, query_scope, rule_groups
from gpuyard.render.observability.templates import dashboard_templates
from gpuyard_advisor.usage import fleet
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool, team
from sizes import ROOT

METRIC = re.compile(
    r"(?<![|\w\"])(?:DCGM_|kueue_|kube_|kubelet_|certmanager_|gpu_validation_|apiserver_|prometheus_|vllm:|karpenter_"
    r"|cluster_autoscaler_|tgi_|nv_|gpuyard:)[\w:]+"
)
LISTS = re.compile(r"\b(?:by|on|group_left) \(([^()]*)\)")
MATCHED = re.compile(r"(\w+)(?:=~|!~|!=|=)\"")
OPEN = re.compile(r"label_\w+")
"""kube-state-metrics has any label of nodes that its allowlist names."""
GUIDE = (ROOT / "docs" / "guides" / "metrics.md").read_text(encoding="utf-8")
VARIABLE = re.compile(r"\$(?:pool|team|node|queue)\b")


@pytest.fixture(scope="module")
def plan():
    pools = [pool("whole"), cut_pool(), shared_pool()]
    teams = [team("vision", guarantee={"whole": 1}, budget_usd_per_month=5023)]
    targets = {
        "utilisation_percent": "65..85",
        "memory_percent": 80,
        "idle_percent": 20,
        "wait_p95_minutes": {"research": 120},
    }
    prices = {"commitments": [{"machine": "p5.48xlarge", "nodes": 1, "usd_per_hour": 40.0}]}
    raw = platform(
        pools,
        teams,
        cloud="aws",
        targets=targets,
        priorities={"research": 10},
        prices=prices,
        observability={},
        validation={"image": "registry.example.org/v:1"},
    )
    return plan_of(raw)


def rules_of(plan):
    return [rule for group in rule_groups(plan) for rule in group["rules"]]


def queries(plan):
    """All queries: those of rules and alerts, and those of every panel."""
    shown = [
        VARIABLE.sub(".+", query)
        for each in dashboard_templates()
        for row in each["rows"]
        for panel in row["panels"]
        for query in panel["queries"].values()
    ]
    scope = query_scope(plan)
    served = [each for each in shown if not check_query(each, scope)]
    assert len(served) > len(shown) / 2
    return [*(each["expr"] for each in rules_of(plan)), *served]


def renamed(query):
    """The expression with one name changed, for each of its names."""
    spans = [match.span() for match in METRIC.finditer(query)]
    spans += [match.span(1) for match in MATCHED.finditer(query) if not OPEN.match(match[1])]
    for group in LISTS.finditer(query):
        spans += [
            (group.start(1) + word.start(), group.start(1) + word.end())
            for word in re.finditer(r"\w+", group[1])
        ]
    for _, end in spans:
        yield f"{query[:end]}x{query[end:]}"


def test_each_renamed_metric_or_label_is_refused_with_a_fix(plan):
    scope = query_scope(plan)
    mutants = [mutant for query in queries(plan) for mutant in renamed(query)]
    assert len(mutants) > 800
    accepted = [each for each in mutants if not check_query(each, scope)]
    assert accepted == []
    assert all(found.fix_message for each in mutants for found in check_query(each, scope))


def test_each_name_is_recognised(plan):
    """A query without a name to rename is a constant."""
    assert [each for each in queries(plan) if not [*renamed(each)] and "vector(" not in each] == []


def test_a_renamed_recorded_series_is_refused_where_it_is_read(plan):
    """Each recorded series is read by a rule, an alert, a panel or a command, or is in the guide."""
    scope = query_scope(plan)
    texts = [*queries(plan), *fleet.SERIES.values()]
    for record in {each["record"] for each in rules_of(plan) if "record" in each}:
        without = {name: each for name, each in scope.recorded.items() if name != record}
        lacking = replace(scope, recorded=without)
        readers = [text for text in texts if re.search(rf"{re.escape(record)}(?![\w:])", text)]
        assert readers or f"`{record}`" in GUIDE, f"nothing reads {record}"
        for text in readers:
            assert [f for f in check_query(text, lacking) if record in f.problem and f.fix_message]


@pytest.mark.parametrize("target", ["pool", "node"])
def test_a_label_that_the_monitor_renames_is_refused_by_the_rules_that_read_it(
    plan, target, monkeypatch
):
    """Rules and alerts are checked against the labels that the monitor of the exporter sets."""
    relabeling = {"pool": relabelings.SET_POOL, "node": relabelings.SET_NODE}[target]
    monkeypatch.setitem(relabeling, "targetLabel", f"{target}x")
    found = check_rules(plan)
    assert found
    assert all(f"label {target}" in each.problem and each.fix_message for each in found)
    assert {each.path[0] for each in found} <= {"rules", "alerts"}


def test_no_query_reads_a_label_that_the_monitor_drops(plan):
    dropped = re.compile(rf"\b(?:{relabelings.DROP['regex']})\b")
    assert [each for each in queries(plan) if dropped.search(each)] == []


def test_the_message_names_the_rule_alert_or_panel(plan, monkeypatch):
    every = read_data("observability/alerts.yaml")
    wrong = {**every[0], "expr": every[0]["expr"].replace("xid=~", "xidd=~")}
    monkeypatch.setattr(
        rules, "_alerts", lambda _: [rules._alert(wrong, {"xid_hardware": "1"}, {}, with_pool=True)]
    )
    (found,) = check_rules(plan)
    assert found.path == ("alerts", "GpuXidHardware")
    wrong_rules = {"group": [RuleText("gpuyard:a", "sum(DCGM_FI_DEV_GPU_UTL)")]}
    monkeypatch.setattr(rules, "_recording_rules", lambda _: wrong_rules)
    assert check_rules(plan)[0].path == ("rules", "group", "gpuyard:a")
    panel = {"title": "Use", "queries": {"": "max by (UUID) (DCGM_FI_DEV_GPU_UTL)"}}
    shown = [{"name": "fleet", "rows": [{"panels": [panel]}]}]
    monkeypatch.setattr(panels, "_shown", lambda _: shown)
    (found,) = check_dashboards(plan)
    assert found.path == ("dashboards", "fleet", "Use")
