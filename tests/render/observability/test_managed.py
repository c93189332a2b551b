"""A managed Prometheus: what its cloud gets, and what its collectors read, against the schemas of both."""

import itertools
import json
import re
from pathlib import Path

import promql_parser
import pytest
import yaml
from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.inside.definitions import MONITORING
from testbed.plugins.cloud.judging import judged
from testbed.plugins.cloud.shapes import Place
from testbed.plugins.kubernetes.helm import unknown_values

from gpuyard.plan.records.late import unresolved_output_names
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.gcp.graph import gcp_graph
from gpuyard.render.observability.dashboards import check_dashboards
from gpuyard.render.observability.monitoring import monitoring_images, monitoring_release
from gpuyard.render.observability.monitors import monitor_objects
from gpuyard.render.observability.pool_join import joined_with_pools
from gpuyard.render.observability.rules import check_rules, rule_file, rule_groups
from gpuyard_testing import CrdFolder
from kit.clouds.aws import plan_on_aws
from kit.levels import upstream
from kit.promtool import check_rules as check_with_promtool
from kit.stacks import plan_of, platform, pool, team

HERE = Path(__file__).parent
CASES = yaml.safe_load((HERE / "alert_cases.yaml").read_text(encoding="utf-8"))
TOPIC = "arn:aws:sns:eu-west-1:123456789012:gpu"
PLACE = Place("gcp", region="us-central1", project="lab-1")
TEAMS = [team("a", guarantee={"train": 8})]


def on_aws(region="us-east-1", **more):
    alerts = {"critical": {"sns": TOPIC}, "teams": {"a": {"sns": TOPIC}}}
    observability = {"prometheus": "managed", "alerts": alerts}
    return plan_on_aws(region=region, teams=TEAMS, **{"observability": observability, **more})


def on_gcp(**more):
    pools = [pool(machine="a3-megagpu-8g", zones=["us-central1-a"])]
    return plan_of(
        platform(pools, TEAMS, cloud="gcp", observability={"prometheus": "managed"}, **more)
    )


def parts(graph):
    """The resources of the managed service."""
    return [
        each
        for each in graph.resources
        if "metrics" in each.name or "monitoring" in str(each.inputs.get("role", ""))
    ]


def by_kind(plan):
    return {(each["kind"], each["metadata"]["name"]): each for each in monitor_objects(plan)}


def as_text(resources):
    found = [
        {"kind": each.kind, "name": each.name, "inputs": each.inputs, "after": each.after}
        for each in resources
    ]
    return json.dumps(found, indent=1, default=str) + "\n"


def test_aws_gets_a_workspace_with_rules_and_receivers(golden):
    text = as_text(parts(aws_graph(on_aws())))
    rules = json.dumps(rule_file(on_aws()))
    assert rules in text
    golden(HERE / "golden" / "managed-aws.json", text.replace(rules, '"the rules"'))


def test_the_collectors_of_google_get_monitorings_and_rules(golden):
    *objects, rules = monitor_objects(on_gcp())
    assert rules["spec"] == {"groups": rule_groups(on_gcp())}
    text = yaml.safe_dump_all(objects, sort_keys=False, width=120)
    golden(HERE / "golden" / "managed-gcp.yaml", text)


def test_what_google_reads_has_the_form_of_its_crds():
    known = CrdFolder(MONITORING)
    found = {
        each["kind"]: known.violations(each)
        for each in monitor_objects(on_gcp())
        if each["apiVersion"].startswith("monitoring.googleapis.com/")
    }
    assert found == {"PodMonitoring": [], "ClusterPodMonitoring": [], "ClusterRules": []}


def test_google_grants_the_roles_of_the_service_once_the_cluster_exists():
    graph = gcp_graph(on_gcp())
    assert judged(graph, PLACE, Account()) == []
    found = {each.name: (each.inputs["role"], each.after) for each in parts(graph)}
    assert found == {
        "nodes-viewer": ("roles/monitoring.viewer", ()),
        "collector-metricwriter": ("roles/monitoring.metricWriter", ("cluster",)),
        "rule-evaluator-metricwriter": ("roles/monitoring.metricWriter", ("cluster",)),
        "rule-evaluator-viewer": ("roles/monitoring.viewer", ("cluster",)),
    }
    cluster = graph.resource("cluster").inputs["monitoringConfig"]
    assert cluster["managedPrometheus"] == {"enabled": True}


@pytest.mark.parametrize("plan", [on_aws, on_gcp])
def test_each_query_reads_series_that_the_service_has(plan):
    assert check_rules(plan()) == []
    assert check_dashboards(plan()) == []


def test_alerts_of_parts_that_the_service_runs_itself_are_left_out():
    def alerts(plan):
        return {rule.get("alert") for group in rule_groups(plan) for rule in group["rules"]}

    every = alerts(plan_on_aws(teams=TEAMS, observability={}))
    assert every - alerts(on_aws()) == {"RuleEvaluationFailing"}
    of_operator = {"RuleEvaluationFailing", "MonitoringObjectRejected", "WebhookFailing"}
    assert every - alerts(on_gcp()) >= of_operator


def test_on_google_alerts_get_the_pool_of_a_gpu_from_its_node():
    (expr,) = [
        rule["expr"]
        for group in rule_groups(on_gcp())
        for rule in group["rules"]
        if rule.get("alert") == "GpuEccUncorrectable"
    ]
    assert expr == (
        "max by (pool, node, UUID) ((increase(DCGM_FI_DEV_ECC_DBE_VOL_TOTAL[15m])"
        " * on (node) group_left (pool) gpuyard:node:info)) > 0"
    )


@pytest.mark.parametrize(
    ("query", "joined"),
    [
        ('max by (node) (DCGM_A{pool=~"$pool"})', 'gpuyard:node:info{pool=~"$pool"}'),
        ('max by (node) (DCGM_A{pool=~"$pool", node=~"n"})', 'DCGM_A{node=~"n"} * on'),
        ('max by (node) (DCGM_A{node=~"n", pool=~"$pool"})', 'DCGM_A{node=~"n"} * on'),
        ("max by (pool, node) (rate(DCGM_A[5m]))", "(rate(DCGM_A[5m]) * on"),
    ],
)
def test_a_matcher_of_the_pool_moves_to_the_nodes(query, joined):
    promql_parser.parse(joined_with_pools(query))
    assert joined in joined_with_pools(query)


def test_a_query_without_a_pool_stays():
    assert joined_with_pools("max by (node) (DCGM_A)") == "max by (node) (DCGM_A)"


@pytest.mark.parametrize("plan", [on_aws, on_gcp])
def test_every_value_is_one_of_the_charts(plan):
    own = yaml.safe_load(upstream("values", "kube-prometheus-stack.yaml").read_text())
    values = {
        k: v for k, v in monitoring_release(plan()).values.items() if k != "kube-state-metrics"
    }
    assert list(unknown_values(values, own)) == []


def test_prometheus_in_agent_mode_sends_to_the_workspace():
    values = dict(monitoring_release(on_aws()).values)
    assert values["prometheus"]["agentMode"] is True
    assert values["alertmanager"] == {"enabled": False}
    (target,) = values["prometheus"]["prometheusSpec"]["remoteWrite"]
    assert target["sigv4"] == {"region": "us-east-1"}
    (keep,) = target["writeRelabelConfigs"]
    assert {"DCGM_.+", "kueue_.+", "kube_node_labels", "up"} <= set(keep["regex"].split("|"))
    graph = aws_graph(on_aws())
    assert unresolved_output_names(values) <= graph.late_values.keys()


def test_the_form_of_an_agent_has_each_field():
    known = CrdFolder(upstream("more-crds"))
    spec = dict(monitoring_release(on_aws()).values)["prometheus"]["prometheusSpec"]
    of_chart = ("NilUsesHelmValues", "image")
    spec = {k: v for k, v in spec.items() if not k.endswith(of_chart)}
    spec["remoteWrite"][0] |= {"url": "https://example.org"}
    agent = {
        "apiVersion": "monitoring.coreos.com/v1alpha1",
        "kind": "PrometheusAgent",
        "metadata": {"name": "prometheus", "namespace": "monitoring"},
        "spec": spec,
    }
    assert known.violations(agent) == []


def test_without_a_region_the_provider_names_it():
    plan = on_aws(region=None)
    names = unresolved_output_names(dict(monitoring_release(plan).values))
    assert names == {"metrics.url", "metrics.region"}
    assert names <= aws_graph(plan).late_values.keys()


def test_the_images_are_those_that_run():
    def names(plan):
        return [image.reference.rpartition("/")[2].partition(":")[0] for image in plan]

    agent = names(monitoring_images(on_aws()))
    assert agent[-2:] == ["prometheus", "kube-state-metrics"]
    assert "alertmanager" not in agent
    assert names(monitoring_images(on_gcp())) == ["kube-state-metrics"]


def test_an_existing_cluster_gets_the_same_service():
    graph = aws_graph(on_aws(cluster={"existing": "old"}))
    assert {"metrics-workspace", "metrics-identity"} <= {each.name for each in graph.resources}
    names = {each.name for each in gcp_graph(on_gcp(cluster={"existing": "old"})).resources}
    assert "rule-evaluator-viewer" in names


def test_a_network_without_a_way_out_has_an_endpoint_of_the_service():
    network = {"network": {"nat": "none"}, "endpoint": {"public": []}}
    names = {each.name for each in aws_graph(on_aws(cluster=network)).resources}
    assert "endpoint-aps-workspaces" in names


def test_a_receiver_sends_to_its_topic_in_the_region_of_the_topic():
    definition = aws_graph(on_aws()).resource("metrics-receivers").inputs["definition"]
    config = json.loads(json.loads(definition)["alertmanager_config"])
    by_name, by_namespace, critical = config["route"]["routes"]
    assert by_name["receiver"] == by_namespace["receiver"] == "team-a"
    assert by_namespace["matchers"] == ['owner="team"', 'team=""', 'namespace=~"a"']
    assert critical["receiver"] == "critical"
    nowhere, *others = config["receivers"]
    assert nowhere == {"name": "nowhere"}
    for each in others:
        (topic,) = each["sns_configs"]
        assert topic["topic_arn"] == TOPIC
        assert topic["sigv4"] == {"region": "eu-west-1"}


def test_simulated_nodes_have_no_managed_service():
    plan = plan_of(
        platform([pool()], TEAMS, cloud="simulated", observability={"prometheus": "managed"})
    )
    assert monitor_objects(plan) == []
    assert monitoring_release(plan) is None


def test_the_file_of_the_validator_is_read_on_google_too():
    plan = on_gcp(validation={"image": "r.example/v:1", "textfile": "/var/lib/node_exporter"})
    monitoring = by_kind(plan)["PodMonitoring", "gpuyard-validator"]
    (endpoint,) = monitoring["spec"]["endpoints"]
    assert endpoint["port"] == 9100
    values = dict(monitoring_release(plan).values)["prometheus-node-exporter"]
    assert values["prometheus"] == {"monitor": {"enabled": False}}
    images = [image.reference.rpartition("/")[2] for image in monitoring_images(plan)]
    assert [each.partition(":")[0] for each in images] == ["kube-state-metrics", "node-exporter"]
    assert check_rules(plan) == []
    assert CrdFolder(MONITORING).violations(monitoring) == []


def test_prometheus_in_agent_mode_has_monitors_and_neither_rules_nor_receivers():
    assert {kind for kind, _ in by_kind(on_aws())} == {"ServiceMonitor"}


WORKERS = {"clusters": [{"name": "west", "secret": "w"}, {"name": "east", "secret": "e"}]}


def test_a_dispatcher_has_the_metrics_of_its_queues_only():
    hub = on_aws(queueing=WORKERS)
    assert by_kind(hub).keys() == {("ServiceMonitor", "gpuyard-kueue")}
    assert "metrics-rules" not in {each.name for each in aws_graph(hub).resources}
    found = by_kind(on_gcp(queueing=WORKERS))
    assert ("PodMonitoring", "gpuyard-kueue") in found
    assert not {kind for kind, _ in found} & {"ClusterRules", "ClusterPodMonitoring"}


def test_a_workspace_without_receivers_has_no_definition():
    plan = on_aws(observability={"prometheus": "managed"})
    assert "metrics-receivers" not in {each.name for each in aws_graph(plan).resources}


def test_a_receiver_without_a_topic_sends_nothing():
    alerts = {"critical": {}, "info": {"sns": TOPIC}}
    plan = on_aws(observability={"prometheus": "managed", "alerts": alerts})
    definition = aws_graph(plan).resource("metrics-receivers").inputs["definition"]
    receivers = json.loads(json.loads(definition)["alertmanager_config"])["receivers"]
    assert receivers[1] == {"name": "critical"}


def of_google(series):
    """A series of the DCGM exporter as the collectors store it: with the node, without the pool."""
    if not series.startswith("DCGM_"):
        return series
    bare = re.sub(r'(?:pool|node)="[^"]*",? ?', "", series)
    return bare.replace("{", '{node="whole-0", ')


def test_on_google_each_alert_fires_for_a_gpu_that_has_no_pool():
    """The cases of all alerts, with a node whose pool kube-state-metrics reports."""
    spec = platform(
        [pool("whole", machine="a3-megagpu-8g", zones=["us-central1-a"])],
        [team("vision", guarantee={"whole": 1})],
        cloud="gcp",
        observability={"prometheus": "managed"},
    )
    plan = plan_of(spec)
    of_gpus = [
        rule["alert"]
        for group in rule_groups(plan)
        for rule in group["rules"]
        if "DCGM_" in rule["expr"] and "alert" in rule
    ]
    node = 'kube_node_labels{node="whole-0", label_gpuyard_dev_pool="whole"}'
    tests = []
    for name, kind in itertools.product(of_gpus, ("fires", "silent")):
        given = {of_google(key): values for key, values in CASES[name][kind].items()}
        firing = f'count(ALERTS{{alertname="{name}", alertstate="firing"}}) > bool 0'
        tests.append(
            {
                "interval": "1m",
                "name": f"{name} {kind}",
                "input_series": [
                    {"series": key, "values": values}
                    for key, values in {node: "1x180", **given}.items()
                ],
                "promql_expr_test": [
                    {
                        "expr": firing,
                        "eval_time": "177m",
                        "exp_samples": [{"labels": "{}", "value": 1}] if kind == "fires" else [],
                    }
                ],
            }
        )
    check_with_promtool(plan, tests, every=180)
