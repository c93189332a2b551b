"""Which series the queries of a platform read: a managed service bills each sample, so no other is sent to it."""

import json
import re
from collections.abc import Collection

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.observability.rules import rule_groups
from gpuyard.render.observability.templates import dashboard_templates
from gpuyard.render.workloads.scalers import scaler_queries
from gpuyard_core.catalogue.metrics import DCGM, metric_of_series
from gpuyard_core.names import KUEUE

_WORD = re.compile(r"[a-zA-Z_][\w:]*")
_WHOLE = frozenset({DCGM, KUEUE})
"""Exporters whose list is short: all their series are sent."""


def series_regex(plan: PlatformPlan, exporters: Collection[str] = ()) -> str:
    """A regular expression for the names of the series; `exporters` limits it, empty: all."""
    texts = (
        json.dumps(rule_groups(plan)),
        json.dumps(dashboard_templates(), default=str),
        *scaler_queries(plan).values(),
    )
    found = {name: metric_of_series(name) for text in texts for name in _WORD.findall(text)}
    names = sorted(
        name
        for name, metric in found.items()
        if metric
        and metric.exporter not in _WHOLE
        and (not exporters or metric.exporter in exporters)
    )
    return "|".join(names if exporters else ["DCGM_.+", "kueue_.+", *names, "up"])
