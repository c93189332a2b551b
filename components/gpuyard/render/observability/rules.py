"""Recording rules and alerts of a platform: data files, filled from its plan and checked against the query contract."""

import json
from collections.abc import Mapping
from itertools import chain
from string import Template
from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.data_files import read_data
from gpuyard.render.observability.contract import (
    RecordingRule,
    check_query,
    check_recording_rules,
)
from gpuyard.render.observability.counters import counter_list
from gpuyard.render.observability.facts import (
    RuleText,
    facts,
    priced_commitments,
)
from gpuyard.render.observability.pool_join import joined_with_pools
from gpuyard.render.observability.relabelings import exporter_relabelings, has_pool
from gpuyard.render.observability.scope import QueryScope, metered_pools, textfile
from gpuyard.render.observability.targets import Target, targets
from gpuyard.render.observability.templates import alert_links
from gpuyard_core.catalogue.metrics import DCGM, DEV, PROF
from gpuyard_core.catalogue.sharing import SharingMethod
from gpuyard_core.findings import Diagnostic

_RECORDING = "observability/recording_rules.yaml"
_ALERTS, _XIDS = "observability/alerts.yaml", "observability/xids.yaml"
_ENGINE, _UTIL = f"{PROF}GR_ENGINE_ACTIVE", f"{DEV}GPU_UTIL"


class _Expression(Template):
    """An expression with `%{…}` for what the plan decides."""

    delimiter = "%"


def query_scope(plan: PlatformPlan) -> QueryScope:
    """What queries on this platform are checked against, with the results of its recording rules."""
    return _checked_scope(plan)[0]


def recorded_names(plan: PlatformPlan) -> frozenset[str]:
    """The names of the series that the recording rules record."""
    return frozenset(rule.record for rules in _recording_rules(plan).values() for rule in rules)


def check_rules(plan: PlatformPlan) -> list[Diagnostic]:
    """Rules and alerts that would return nothing or count a GPU several times."""
    scope, findings = _checked_scope(plan)
    for each in _alerts(plan):
        findings += check_query(each["expr"], scope, ("alerts", each["alert"]))
    return findings


def rule_groups(plan: PlatformPlan) -> list[dict[str, Any]]:
    """The groups of a Prometheus rule file."""
    groups = [
        {"name": f"{name}-{plan.name}", "rules": [rule.document() for rule in rules]}
        for name, rules in _recording_rules(plan).items()
        if rules
    ]
    alerts = _alerts(plan)
    return [
        *groups,
        *([{"name": f"gpuyard-alerts-{plan.name}", "rules": alerts}] if alerts else []),
    ]


def rule_file(plan: PlatformPlan) -> str:
    """The groups as the text of a rule file; JSON is YAML."""
    return json.dumps({"groups": rule_groups(plan)}, indent=1, ensure_ascii=False)


def _base_scope(plan: PlatformPlan) -> QueryScope:
    return QueryScope(
        pools=metered_pools(plan.pools),
        counters=frozenset(each.name for each in counter_list()),
        settings=frozenset({"metricLabelsAllowlist"}),
        target_labels={DCGM: frozenset(r["targetLabel"] for r in exporter_relabelings(plan))},
    )


def _checked_scope(plan: PlatformPlan) -> tuple[QueryScope, list[Diagnostic]]:
    scope, findings = _base_scope(plan), list[Diagnostic]()
    every = [each for rules in recording_rules().values() for each in rules]
    apportioned = {each["record"] for each in every if each.get("apportioned")}
    for group, rules in _recording_rules(plan).items():
        checked = [
            RecordingRule(
                r.record, r.expr, frozenset(r.labels), is_apportioned=r.record in apportioned
            )
            for r in rules
        ]
        scope, problems = check_recording_rules(checked, scope, ("rules", group))
        findings += problems
    return scope, findings


def _recording_rules(plan: PlatformPlan) -> Mapping[str, list[RuleText]]:
    has, values = _conditions(plan), _values(plan)
    found = {
        name: [_rule(each, values) for each in rules if has.issuperset(each.get("when", ()))]
        for name, rules in recording_rules().items()
    }
    first, *_ = found
    found[first] = [*facts(plan), *map(_target_fact, targets(plan)), *found[first]]
    return found


def _rule(each: Mapping[str, Any], values: Mapping[str, str]) -> RuleText:
    expr = _Expression(each["expr"]).substitute(values)
    return RuleText(each["record"], expr, each.get("labels", {}))


def _target_fact(target: Target) -> RuleText:
    labels = {"target": target.name, "priority": target.priority}
    return RuleText("gpuyard:target:value", f"vector({target.value:.12g})", labels)


def _alerts(plan: PlatformPlan) -> list[dict[str, Any]]:
    has, values, links = _conditions(plan), _values(plan), alert_links(plan)
    return [
        _alert(each, values, links, with_pool=has_pool(plan))
        for each in read_data(_ALERTS)
        if has.issuperset(each.get("when", ()))
    ]


def _alert(
    each: Mapping[str, Any],
    values: Mapping[str, str],
    links: Mapping[str, str],
    *,
    with_pool: bool,
) -> dict[str, Any]:
    """An alert; its namespace is that of the workload, by which Alertmanager routes it to the team."""
    owner = {"owner": each["owner"]}
    expr = _Expression(each["expr"]).substitute(values)
    return {
        "alert": each["alert"],
        "expr": expr if with_pool else joined_with_pools(expr),
        **({"for": each["for"]} if "for" in each else {}),
        "labels": {"severity": each["severity"], **owner, **_renamed(each["expr"])},
        "annotations": {
            "summary": each["summary"],
            "description": f"{each['summary']}. The runbook lists causes and steps.",
            "runbook_url": f"{_RUNBOOKS}/{each['alert']}.md",
            **({"dashboard": links[each["alert"]]} if each["alert"] in links else {}),
        },
    }


def _renamed(expr: str) -> Mapping[str, str]:
    """Labels of the alert for the exporter's own names of them."""
    return {
        label: f"{{{{ $labels.{source} }}}}" for source, label in _RENAMED.items() if source in expr
    }


_RENAMED: Mapping[str, str] = {
    "exported_namespace": "namespace",
    "exported_pod": "pod",
    "UUID": "gpu",
    "cluster_queue": "queue",
}
_RUNBOOKS = "docs/runbooks"


def _conditions(plan: PlatformPlan) -> frozenset[str]:
    names = {target.name.partition("_")[0] for target in targets(plan)}
    observed = plan.observability
    priced = [line for line in plan.bill.lines if any(p.mean is not None for p in line.prices)]
    holds = {
        "prices": bool(priced),
        "commitments": bool(priced_commitments(plan)),
        "no_commitments": not priced_commitments(plan),
        "teams": bool(plan.teams),
        "no_teams": not plan.teams,
        "budgets": any(team.budget_usd_per_month is not None for team in plan.teams),
        "system": plan.system in priced,
        "targets": bool(names),
        "nvlink": any("nvlink" in each.products for each in metered_pools(plan.pools)),
        "profiling": any("profiling" in each.products for each in metered_pools(plan.pools)),
        "prometheus": observed is None or observed.managed is None,
        "operator": observed is None or observed.has_operator,
        "validation": bool(textfile(plan)),
        **{f"target_{name}": True for name in names},
    }
    return frozenset(name for name, is_true in holds.items() if is_true)


def _values(plan: PlatformPlan) -> Mapping[str, str]:
    lacks = any("profiling" not in pool.products for pool in metered_pools(plan.pools))
    claims = [pool.name for pool in plan.pools if pool.sharing is SharingMethod.DRA]
    xids = {
        name: "|".join(map(str, chain(*each.values()))) for name, each in read_data(_XIDS).items()
    }
    return {
        **{f"xid_{name}": codes for name, codes in xids.items()},
        "xid_known": "|".join(("0", *xids.values())),
        "claim_pools": "|".join(claims),
        "activity": _activity("", has_old_gpus=lacks),
        "activity_of_pods": _activity('{exported_pod!=""}', has_old_gpus=lacks),
    }


def _activity(matchers: str, *, has_old_gpus: bool) -> str:
    """The activity of GPUs from 0 to 1; of GPUs without profiling the utilisation."""
    engine = f"{_ENGINE}{matchers}"
    return f"{engine} or {_UTIL}{matchers} / 100" if has_old_gpus else engine


def recording_rules() -> Mapping[str, list[Mapping[str, Any]]]:
    """The recording rules by group, as their file has them."""
    found: Mapping[str, list[Mapping[str, Any]]] = read_data(_RECORDING)
    return found
