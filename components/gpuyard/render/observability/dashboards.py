"""Grafana dashboards of a platform, as ConfigMaps for Grafana's sidecar or as JSON files.

dashboards.yaml has their panels. A panel that a platform has no data for is left out.
"""

import json
import re
from collections.abc import Mapping
from itertools import chain
from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.objects import Object, managed_object
from gpuyard.render.observability.contract import check_query
from gpuyard.render.observability.panels import built_dashboard
from gpuyard.render.observability.pool_join import joined_with_pools
from gpuyard.render.observability.relabelings import has_pool
from gpuyard.render.observability.rules import query_scope, recorded_names
from gpuyard.render.observability.templates import dashboard_templates, features
from gpuyard_core.findings import Diagnostic

DASHBOARD_LABEL = "grafana_dashboard"
"""The label of ConfigMaps that the sidecar of Grafana's chart loads (sidecar.dashboards.label)."""
_RECORDED = re.compile(r"gpuyard:[\w:]+")
_VARIABLE = re.compile(r"\$(?:pool|team|node|queue)\b")


def dashboards(plan: PlatformPlan) -> dict[str, dict[str, Any]]:
    """The dashboards in Grafana's JSON, by file name."""
    shown = _shown(plan)
    return {
        f"gpuyard-{plan.name}-{each['name']}.json": built_dashboard(plan, each, shown)
        for each in shown
    }


def dashboard_files(plan: PlatformPlan) -> dict[str, str]:
    """The same dashboards as texts."""
    return {
        file: json.dumps(content, sort_keys=True, ensure_ascii=False)
        for file, content in dashboards(plan).items()
    }


def dashboard_objects(plan: PlatformPlan) -> list[Object]:
    """One ConfigMap for each dashboard, with the label that Grafana's sidecar looks for.

    None without Grafana, and none where no rule of gpuyard records what they show.
    """
    observed = plan.observability
    if observed is None or not observed.grafana or plan.simulated or plan.queueing.dispatch:
        return []
    return [
        managed_object(
            plan.name,
            "v1",
            "ConfigMap",
            file.removesuffix(".json"),
            namespace=observed.namespace,
            labels={DASHBOARD_LABEL: "1"},
            data={file: text},
        )
        for file, text in dashboard_files(plan).items()
    ]


def check_dashboards(plan: PlatformPlan) -> list[Diagnostic]:
    """Problems of the panels' queries: every one is an error of gpuyard."""
    scope = query_scope(plan)
    return [
        problem
        for each in _shown(plan)
        for panel in chain.from_iterable(row["panels"] for row in each["rows"])
        for query in panel["queries"].values()
        for problem in check_query(
            _VARIABLE.sub(".+", query), scope, ("dashboards", each["name"], panel["title"])
        )
    ]


# ── which panels ─────────────────────────────────────────────────────────────────────────────────────


def _shown(plan: PlatformPlan) -> list[dict[str, Any]]:
    """The dashboards and panels that the platform has data for."""
    has = features(plan)
    recorded = recorded_names(plan)

    def is_shown(panel: Mapping[str, Any]) -> bool:
        read = set(_RECORDED.findall(" ".join(panel["queries"].values())))
        return has[panel.get("when", "")] and read <= recorded

    def adapted(panel: Mapping[str, Any]) -> Mapping[str, Any]:
        if has_pool(plan):
            return panel
        queries = {legend: joined_with_pools(q) for legend, q in panel["queries"].items()}
        return {**panel, "queries": queries}

    shown = []
    for template in dashboard_templates():
        rows = [
            {**row, "panels": [adapted(each) for each in row["panels"] if is_shown(each)]}
            for row in template["rows"]
        ]
        if has[template.get("when", "")]:
            shown.append({**template, "rows": [row for row in rows if row["panels"]]})
    return shown
