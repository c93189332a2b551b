"""Metrics of autoscalers by name, and what to ask for where a rung has no machines."""

import re
from pathlib import Path

from gpuyard_core.catalogue.kubernetes.autoscaler_metrics import AUTOSCALERS
from gpuyard_core.catalogue.metrics import metrics_of
from gpuyard_lint.rules.subjects.promql import read_promql
from kit.every import every
from kit.shortages import SHORTAGES

PAGE = Path(__file__).parents[3] / "docs/concepts/interruption.md"


def test_every_metric_of_an_autoscaler_has_its_prefix():
    for each in AUTOSCALERS:
        for name in metrics_of(each.exporter):
            assert re.fullmatch(f"{each.prefix}[a-z][a-z0-9_]+", name)


@every(
    ("metric", "whose"),
    [
        ("karpenter_nodeclaims_disrupted_total", "Karpenter"),
        ("karpenter_nodeclaims_terminated", "Karpenter"),
        ("karpenter_pods_startup_duration_seconds_bucket", "Karpenter"),
        ("karpenter_interruption_message_queue_duration_seconds_sum", "Karpenter"),
        ("karpenter_cloudprovider_instance_launch_failures_total", "Karpenter"),
        ("cluster_autoscaler_failed_scale_ups_total", "Cluster Autoscaler"),
        ("cluster_autoscaler_nodes_count", "Cluster Autoscaler"),
        ("cluster_autoscaler_node_group_backoff_status", "Cluster Autoscaler"),
        ("karpenter_pods_startup", None),
        ("cluster_autoscaler_nodes_bucket", None),
    ],
)
def test_a_metric_is_served_by_some_release_or_by_none(metric, whose):
    assert [each.name for each in AUTOSCALERS if each.serves(metric)] == ([whose] if whose else [])


def test_what_tells_of_a_shortage_is_served_by_the_release_that_we_know():
    for each in SHORTAGES:
        asked = {selector.metric for selector in read_promql(each.query).selectors}
        (autoscaler,) = (one for one in AUTOSCALERS if one.name == each.autoscaler)
        assert {name.removeprefix(autoscaler.prefix) for name in asked} <= autoscaler.served


def test_the_page_has_every_query_and_what_it_says():
    page = PAGE.read_text(encoding="utf-8")
    for each in SHORTAGES:
        assert (
            f"| {each.autoscaler} | {each.description} | `{each.query.replace('|', chr(92) + '|')}` |"
            in page
        )
