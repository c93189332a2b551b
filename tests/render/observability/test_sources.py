"""The metrics that rules, alerts and dashboards read were seen in the source of their exporter."""

import json
import re
from pathlib import Path

from gpuyard.render import observability
from gpuyard.render.observability.rules import rule_groups
from gpuyard_core.catalogue.metrics import exporters, metric_of_series
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool

NAME = re.compile(r"[A-Za-z_][\w:]*")
PANELS = Path(observability.__file__).with_name("dashboards.yaml")


def test_each_metric_that_is_read_has_a_verified_source():
    plan = plan_of(platform([pool(), cut_pool(), shared_pool()]))
    text = json.dumps(rule_groups(plan)) + PANELS.read_text(encoding="utf-8")
    read = {name: metric_of_series(name) for name in NAME.findall(text)}
    used = {name: metric for name, metric in read.items() if metric is not None}
    assert {
        "kube_node_labels",
        "prometheus_operator_managed_resources",
        "tgi_queue_size",
    } <= used.keys()
    unseen = {
        name for name, metric in used.items() if not exporters()[metric.exporter].source.verified
    }
    assert unseen == set()
