"""PromQL is found wherever it stands, and nowhere else."""

import pytest

from gpuyard_lint.rules.rule import Resource, Stack
from gpuyard_lint.rules.subjects.queries import QUERY_KINDS, honors_labels, queries, recording_rules


def resource(kind, **properties):
    return Resource(kind, "r", properties)


SCALED = "keda.sh/v1alpha1/ScaledObject"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            resource(
                "config:prometheus-rules",
                groups=[{"rules": [{"expr": "a"}, {"alert": "x"}]}, {}, {"rules": [{"expr": "b"}]}],
            ),
            [
                (("groups", 0, "rules", 0, "expr"), "a"),
                (("groups", 2, "rules", 0, "expr"), "b"),
            ],
        ),
        (
            resource(
                "config:prometheus-adapter",
                rules=[{"seriesQuery": "a", "metricsQuery": "b"}],
                externalRules=[{"seriesQuery": "c"}],
            ),
            [
                (("rules", 0, "seriesQuery"), "a"),
                (("rules", 0, "metricsQuery"), "b"),
                (("externalRules", 0, "seriesQuery"), "c"),
            ],
        ),
        (
            resource(
                "config:grafana-dashboard",
                panels=[
                    {"targets": [{"expr": "a"}, {"rawSql": "select"}]},
                    {"panels": [{"targets": [{"expr": "b"}]}]},
                ],
            ),
            [
                (("panels", 0, "targets", 0, "expr"), "a"),
                (("panels", 1, "panels", 0, "targets", 0, "expr"), "b"),
            ],
        ),
        (
            resource(
                SCALED,
                spec={
                    "triggers": [
                        {"type": "cron", "metadata": {"query": "no"}},
                        {"type": "prometheus", "metadata": {"query": "a"}},
                        {"type": "prometheus"},
                    ]
                },
            ),
            [(("spec", "triggers", 1, "metadata", "query"), "a")],
        ),
    ],
    ids=lambda value: value.kind if isinstance(value, Resource) else "",
)
def test_queries_are_found_where_they_stand(given, expected):
    assert list(queries(given)) == expected


@pytest.mark.parametrize("kind", QUERY_KINDS)
@pytest.mark.parametrize("odd", [{}, {"spec": []}, {"groups": 5, "rules": "x", "panels": {"a": 1}}])
def test_what_holds_none_gives_none(kind, odd):
    named = kind if ":" in kind else kind.replace("/", "/v1alpha1/")
    assert list(queries(Resource(named, "r", odd))) == []


def test_names_that_are_recorded_are_known():
    rules = resource(
        "config:prometheus-rules", groups=[{"rules": [{"record": "a:b", "expr": "c"}]}]
    )
    assert recording_rules(Stack((rules,))) == {"a:b"}
    assert recording_rules(Stack(())) == frozenset()


MONITOR = {"honorLabels": True}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (resource("values:gpu-operator", dcgmExporter={"serviceMonitor": MONITOR}), True),
        (resource("values:gpu-operator", dcgmExporter={"serviceMonitor": {}}), False),
        (resource("values:gpu-operator", serviceMonitor={"honorLabels": False}), False),
        (resource("values:dcgm-exporter", serviceMonitor=MONITOR), True),
        (
            resource(
                "nvidia.com/v1/ClusterPolicy", spec={"dcgmExporter": {"serviceMonitor": MONITOR}}
            ),
            True,
        ),
        (
            resource("monitoring.coreos.com/v1/ServiceMonitor", spec={"endpoints": [{}, MONITOR]}),
            True,
        ),
        (resource("monitoring.coreos.com/v1/ServiceMonitor", spec={"endpoints": [{}]}), False),
        (resource("v1/Service", spec={"endpoints": [MONITOR]}), False),
    ],
)
def test_labels_are_kept_where_a_monitor_says_so(given, kept):
    assert honors_labels(Stack((given,))) is kept
