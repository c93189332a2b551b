"""A renamed metric or label in any rule or alert is refused with a fix."""

import re

import pytest

from gpuyard.render.observability.contract import check_query
from gpuyard.render.observability.rules import query_scope, rule_groups
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool, team

METRIC = re.compile(
    r"(?<![|\w\"])(?:DCGM_|kueue_|kube_|gpu_validation_|apiserver_|prometheus_|gpuyard:)[\w:]+"
)
LISTS = re.compile(r"\b(?:by|on) \(([^()]*)\)")
MATCHED = re.compile(r"(\w+)(?:=~|!~|!=|=)\"")
OPEN = re.compile(r"label_\w+")
"""kube-state-metrics has any label of nodes that its allowlist names."""


@pytest.fixture(scope="module")
def checked():
    pools = [pool("whole"), cut_pool(), shared_pool()]
    teams = [team("vision", guarantee={"whole": 1}, budget_usd_per_month=5023)]
    targets = {"utilisation_percent": "65..85", "memory_percent": 80, "idle_percent": 20}
    plan = plan_of(platform(pools, teams, cloud="aws", targets=targets))
    rules = [rule for group in rule_groups(plan) for rule in group["rules"]]
    return query_scope(plan), [each["expr"] for each in rules]


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


def test_each_renamed_metric_or_label_is_refused_with_a_fix(checked):
    scope, queries = checked
    mutants = [mutant for query in queries for mutant in renamed(query)]
    assert len(mutants) > 300
    accepted = [each for each in mutants if not check_query(each, scope)]
    assert accepted == []
    assert all(found.fix_message for each in mutants for found in check_query(each, scope))
