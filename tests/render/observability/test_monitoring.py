"""kube-prometheus-stack, monitors and receivers, compared with the chart's values and the CRDs."""

import csv
import re
from itertools import chain

import pytest
import yaml
from testbed.plugins.kubernetes.helm import unknown_values

from gpuyard.render.gpu_operator.values import gpu_operator_release
from gpuyard.render.observability.counters import counter_list, counters_text
from gpuyard.render.observability.dashboards import dashboard_templates
from gpuyard.render.observability.facts import node_labels
from gpuyard.render.observability.monitoring import (
    monitoring_images,
    monitoring_objects,
    monitoring_release,
)
from gpuyard.render.observability.monitors import monitor_objects
from gpuyard.render.observability.rules import rule_groups
from gpuyard.render.platform import object_groups, platform_objects
from gpuyard_core.catalogue.software.charts import MONITORING_CHART, MONITORING_IMAGES
from gpuyard_core.catalogue.software.digests import digest_of
from gpuyard_testing import CrdFolder
from kit.levels import upstream
from kit.stacks import SYSTEM, plan_of, platform, pool, team

SLACK = {"slack": {"secret": "slack", "key": "url"}}
RECEIVERS = {
    "critical": {"pagerduty": {"secret": "pagerduty", "key": "key"}, **SLACK},
    "warning": {"email": "gpu@example.org", "webhook": {"secret": "hook", "key": "url"}},
    "smtp": {
        "host": "smtp.example.org:587",
        "sender": "gpu@example.org",
        "user": "gpu",
        "password": {"secret": "smtp", "key": "password"},
    },
    "teams": {"a": {"slack": {"secret": "slack-a", "key": "url"}, "channel": "#a"}},
}


def planned(observability=None, **more):
    teams = [team("a", guarantee={"train": 8})]
    return plan_of(platform([pool()], teams, observability=observability or {}, **more))


def values(plan):
    return dict(monitoring_release(plan).values)


def own_values():
    return yaml.safe_load(upstream("values", "kube-prometheus-stack.yaml").read_text())


def by_kind(plan):
    return {(each["kind"], each["metadata"]["name"]): each for each in monitor_objects(plan)}


@pytest.mark.parametrize(
    "more", [{}, {"cloud": "aws", "system": SYSTEM}, {"mirror": {"images": "mirror.example/gpu"}}]
)
def test_every_value_is_one_of_the_charts(more):
    plan = planned({"grafana": True, "alerts": RECEIVERS, "storage_class": "ssd"}, **more)
    assert list(unknown_values(values(plan), own_values())) == []


def test_the_images_are_those_of_the_charts_values():
    own = own_values()
    chart = yaml.safe_load(upstream("values", "kube-prometheus-stack.Chart.yaml").read_text())
    for image in MONITORING_IMAGES:
        at = own
        for key in image.values:
            at = at.get(key, {})
        if "repository" in at:
            assert f"{at['registry']}/{at['repository']}" == image.home
            assert (at["tag"] or chart["appVersion"]) == image.tag
    assert len(list(monitoring_images(planned()))) == 6
    assert len(list(monitoring_images(planned({"grafana": True})))) == 8
    newer = planned(software={MONITORING_CHART.pin: "88.6.0"})
    assert {image.tag for image in monitoring_images(newer)} == {""}


def test_images_have_the_digests_of_their_versions():
    prometheus = values(planned())["prometheus"]["prometheusSpec"]["image"]
    assert prometheus == {
        "sha": digest_of("quay.io/prometheus/prometheus", "v3.14.0-distroless")[7:]
    }
    mirrored = values(planned(mirror={"images": "mirror.example/gpu"}))
    assert set(mirrored["alertmanager"]["alertmanagerSpec"]["image"]) == {
        "registry",
        "repository",
        "sha",
    }
    newer = values(planned(software={MONITORING_CHART.pin: "88.6.0"}))
    assert "image" not in newer["prometheus"]["prometheusSpec"]


def test_monitors_and_rules_have_the_form_of_their_crds():
    known = CrdFolder(upstream("crds"))
    found = {each["kind"]: known.violations(each) for each in monitor_objects(planned())}
    assert found == {"ServiceMonitor": [], "PrometheusRule": []}


def test_receivers_have_the_form_of_their_crd():
    found = by_kind(planned({"alerts": RECEIVERS}))["AlertmanagerConfig", "gpuyard"]
    assert CrdFolder(upstream("more-crds")).violations(found) == []


def test_what_prometheus_selects_has_the_label():
    plan = planned({"alerts": RECEIVERS})
    spec = values(plan)["prometheus"]["prometheusSpec"]
    selected = spec["serviceMonitorSelector"]["matchLabels"]
    assert spec["ruleSelector"]["matchLabels"] == selected == values(plan)["commonLabels"]
    for each in monitor_objects(plan):
        assert selected.items() <= each["metadata"]["labels"].items()
        assert each["metadata"]["namespace"] == "monitoring"


def test_a_larger_fleet_has_more_memory_and_storage():
    small, large = planned().observability, None
    teams = [team("a", guarantee={"train": 8})]
    large = plan_of(platform([pool(nodes=1000)], teams, observability={})).observability
    assert large.series > small.series
    assert (small.memory_gib, large.memory_gib) < (large.memory_gib, 64)
    assert large.storage_gib > small.storage_gib
    assert planned({"storage_gib": 7}).observability.storage_gib == 7


def test_monitors_name_the_pool_and_keep_the_labels_of_the_pod():
    monitor = by_kind(planned({"scrape_seconds": 5}))["ServiceMonitor", "gpuyard-dcgm-exporter"]
    (endpoint,) = monitor["spec"]["endpoints"]
    assert monitor["spec"]["attachMetadata"] == {"node": True}
    assert endpoint["honorLabels"] is False
    assert endpoint["interval"] == endpoint["scrapeTimeout"] == "5s"
    assert [each["targetLabel"] for each in endpoint["relabelings"]] == ["pool", "node"]


def test_the_rules_of_the_platform_are_one_object():
    plan = planned()
    spec = by_kind(plan)["PrometheusRule", "gpuyard"]["spec"]
    assert spec == {"groups": rule_groups(plan)}


def test_receivers_name_secrets_and_routes_continue():
    spec = by_kind(planned({"alerts": RECEIVERS}))["AlertmanagerConfig", "gpuyard"]["spec"]
    assert [each["receiver"] for each in spec["route"]["routes"]] == [
        "team-a",
        "team-a",
        "critical",
        "warning",
    ]
    assert all(each["continue"] for each in spec["route"]["routes"])
    _, own, critical, warn = spec["receivers"]
    assert own["slackConfigs"][0]["apiURL"] == {"name": "slack-a", "key": "url"}
    assert critical["pagerdutyConfigs"][0]["routingKey"] == {"name": "pagerduty", "key": "key"}
    assert warn["emailConfigs"][0]["authPassword"] == {"name": "smtp", "key": "password"}
    assert warn["webhookConfigs"][0]["urlSecret"] == {"name": "hook", "key": "url"}


def test_an_alert_without_the_name_of_a_team_goes_to_that_of_its_namespace():
    spec = by_kind(planned({"alerts": RECEIVERS}))["AlertmanagerConfig", "gpuyard"]["spec"]
    by_name, by_namespace, *_ = (
        [(m["name"], m["matchType"], m["value"]) for m in each["matchers"]]
        for each in spec["route"]["routes"]
    )
    assert by_name == [("team", "=", "a")]
    assert by_namespace == [("owner", "=", "team"), ("team", "=", ""), ("namespace", "=~", "a")]


def test_mail_without_a_password_has_none():
    alerts = {
        "info": {"email": "a@example.org"},
        "smtp": {"host": "smtp.example.org:25", "sender": "gpu@example.org"},
    }
    spec = by_kind(planned({"alerts": alerts}))["AlertmanagerConfig", "gpuyard"]["spec"]
    assert spec["receivers"][1]["emailConfigs"] == [
        {"to": "a@example.org", "from": "gpu@example.org", "smarthost": "smtp.example.org:25"}
    ]


def test_an_existing_prometheus_gets_monitors_with_its_labels_and_nothing_else():
    given = {"prometheus": "existing", "namespace": "metrics", "labels": {"release": "prom"}}
    plan = planned(given)
    assert monitoring_release(plan) is None
    assert list(monitoring_images(plan)) == []
    assert "monitoring" not in dict(object_groups(plan))
    for each in monitor_objects(plan):
        assert each["metadata"]["namespace"] == "metrics"
        assert each["metadata"]["labels"]["release"] == "prom"


@pytest.mark.parametrize("more", [{"observability": {"prometheus": "none"}}, {}])
def test_without_prometheus_there_is_no_monitor(more):
    plan = plan_of(platform([pool()], **more))
    assert plan.observability is None
    assert monitor_objects(plan) == []


def test_simulated_nodes_run_no_prometheus():
    plan = planned(cloud="simulated")
    assert monitoring_release(plan) is None
    assert monitor_objects(plan) == []


def test_the_exporter_has_the_list_of_counters_that_its_config_map_has():
    plan = planned()
    exporter = dict(gpu_operator_release(plan).values)["dcgmExporter"]
    maps = {
        each["metadata"]["name"]: each["data"]
        for each in platform_objects(plan)
        if each["kind"] == "ConfigMap"
    }
    (text,) = maps[exporter["config"]["name"]].values()
    assert text == counters_text()
    rows = list(csv.reader(text.splitlines(), skipinitialspace=True))
    assert {len(row) for row in rows} == {3}
    assert [row[0] for row in rows[:-1]] == [each.name for each in counter_list()]
    assert exporter["env"] == []


def test_every_metric_of_the_exporter_that_a_query_reads_is_in_the_list():
    machine = {"gpu": "P100", "gpus": 4, "cpu": 32, "memory_gib": 256}
    old = plan_of(platform([pool(), pool("old", machine=machine)]))
    queries = [rule["expr"] for group in rule_groups(old) for rule in group["rules"]]
    for dashboard in dashboard_templates():
        panels = chain.from_iterable(row["panels"] for row in dashboard["rows"])
        queries += [query for panel in panels for query in panel["queries"].values()]
    read = set(re.findall(r"\bDCGM_\w+", " ".join(queries)))
    assert {"DCGM_FI_DEV_GPU_UTIL", "DCGM_EXP_XID_ERRORS_COUNT"} <= read
    assert read - {each.name for each in counter_list()} == set()


def test_shared_gpus_have_a_series_for_each_pod():
    shared = pool("share", sharing={"time_slicing": 4})
    plan = plan_of(platform([shared], observability={}))
    exporter = dict(gpu_operator_release(plan).values)["dcgmExporter"]
    assert exporter["env"] == [{"name": "KUBERNETES_VIRTUAL_GPUS", "value": "true"}]
    assert (exporter["hostPID"], exporter["enablePodUID"]) == (True, True)


def test_the_exporter_of_claims_and_the_metrics_of_kueue_have_services_of_their_own():
    claims = plan_of(platform([pool(sharing={"dra": True})], observability={}))
    found = by_kind(claims)
    exporter = found["ServiceMonitor", "gpuyard-dcgm-exporter"]["spec"]
    assert exporter["selector"]["matchLabels"] == {"app": "nvidia-dcgm-exporter-dra"}
    kueue = found["ServiceMonitor", "gpuyard-kueue"]["spec"]["selector"]["matchLabels"]
    assert kueue["app.kubernetes.io/component"] == "metrics-service"


def test_kube_state_metrics_exports_the_labels_that_rules_read():
    plan = planned(cloud="aws", system=SYSTEM)
    allowed = values(plan)["kube-state-metrics"]["metricLabelsAllowlist"]
    assert allowed == [f"nodes=[{','.join(node_labels(plan))}]", "pods=[gpuyard.dev/class]"]


def test_scalers_that_gpuyard_installs_are_scraped():
    pools = [pool(nodes="0..2"), pool("late", nodes="0..2", scaling="karpenter")]
    plan = plan_of(platform(pools, cloud="aws", system=SYSTEM, observability={}))
    found = {
        name: each["spec"]
        for (kind, name), each in by_kind(plan).items()
        if kind == "ServiceMonitor"
    }
    for scaler, port in (("cluster-autoscaler", "http"), ("karpenter", "http-metrics")):
        spec = found[f"gpuyard-{scaler}"]
        assert spec["endpoints"] == [{"port": port}]
        assert spec["namespaceSelector"] == {"matchNames": ["kube-system"]}
    assert "gpuyard-karpenter" not in {name for _, name in by_kind(planned())}


def test_the_node_exporter_serves_the_file_of_the_validator_and_nothing_else():
    checked = {"image": "registry.example.org/v:1", "textfile": "/var/lib/node-exporter"}
    plan = planned(validation=checked)
    given = values(plan)
    assert given["nodeExporter"] == {"enabled": True}
    own = given["prometheus-node-exporter"]
    (mount,) = own["extraHostVolumeMounts"]
    assert (mount["hostPath"], mount["readOnly"]) == ("/var/lib/node-exporter", True)
    assert own["prometheus"]["monitor"]["additionalLabels"] == given["commonLabels"]
    assert own["hostNetwork"] is own["hostPID"] is False
    assert "node-exporter" in " ".join(each.reference for each in monitoring_images(plan))
    (space,) = monitoring_objects(plan)
    assert space["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
    (space,) = monitoring_objects(planned())
    assert space["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    assert "ValidationFailed" in str(rule_groups(plan))
    assert "ValidationFailed" not in str(
        rule_groups(planned(validation={"image": "r.example.org/v:1"}))
    )


def test_the_volume_has_a_class_on_a_new_eks_cluster_that_has_no_default_one():
    def volume(plan):
        spec = values(plan)["prometheus"]["prometheusSpec"]["storageSpec"]
        return spec["volumeClaimTemplate"]["spec"].get("storageClassName")

    assert volume(planned(cloud="aws", system=SYSTEM)) == "gp2"
    assert volume(planned({"storage_class": "ssd"}, cloud="aws", system=SYSTEM)) == "ssd"
    existing = {"existing": "blue"}
    assert volume(planned(cloud="aws", cluster=existing, system=None)) is None
    assert "the volume of Prometheus" in planned(cloud="aws", system=SYSTEM).bill.left_out
    other = planned({"prometheus": "existing"}, cloud="aws", system=SYSTEM)
    assert "the volume of Prometheus" not in other.bill.left_out


def test_a_cluster_without_nodes_has_no_exporter_and_no_rules():
    clusters = {"clusters": [{"name": "west", "secret": "w"}]}
    found = by_kind(planned({"alerts": RECEIVERS}, queueing=clusters))
    assert set(found) == {
        ("ServiceMonitor", "gpuyard-kueue"),
        ("AlertmanagerConfig", "gpuyard"),
    }
