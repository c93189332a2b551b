"""A real Prometheus Operator on a real API server makes Prometheus and Alertmanager of what we render.

A real Kueue queues jobs on fake nodes. Fake exporters read pods and nodes from the API server. Prometheus and
Alertmanager run with the configuration that the operator generates (kit.cluster.prometheus_operator).
"""

import re
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuyard.render.observability import rules
from gpuyard.render.observability.counters import COUNTERS_FILE
from gpuyard.render.observability.monitors import monitor_objects
from gpuyard.render.platform import platform_objects
from gpuyard_core.names import GPU_OPERATOR_NAMESPACE, KUEUE_NAMESPACE, MONITORING_NAMESPACE
from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api
from gpuyard_simulate.metrics.cluster import reader
from gpuyard_simulate.metrics.load import Load, PodLoad
from gpuyard_simulate.metrics.server import Exporters, serving
from gpuyard_simulate.state import folder_of
from kit.cluster import metrics
from kit.cluster import prometheus_operator as generated
from kit.cluster.lab import Value, apply, wait
from kit.cluster.queues import QueueLab, kueue_as_rendered
from kit.cluster.stand import Stand, until
from kit.stacks import plan_of, platform, pool
from testbed import monitoring

pytestmark = [pytest.mark.cluster, pytest.mark.always]


def webhook(name: str) -> dict[str, Any]:
    return {"webhook": {"secret": name, "key": "url"}}


OBSERVED = {"alerts": {"warning": webhook("platform"), "teams": {"seen-vision": webhook("vision")}}}
POOLS = [pool("whole", nodes=3)]
TEAMS = [
    {"name": "seen-vision", "guarantee": {"whole": 16}, "budget_usd_per_month": 100000},
    {"name": "seen-speech", "guarantee": {"whole": 8}, "borrow": {"whole": 8}},
]
PRIORITIES = {"production": 1000, "research": 100}
TARGETS = {
    "utilisation_percent": "65..85",
    "memory_percent": 80,
    "idle_percent": 20,
    "wait_p95_minutes": {"research": 120},
}
NAMED = {"name": "seen", "priorities": PRIORITIES, "targets": TARGETS}
SIMULATED = platform(POOLS, TEAMS, cloud="simulated", **NAMED)
STACK = platform(POOLS, TEAMS, cloud="aws", observability=OBSERVED, **NAMED)
"""The same platform in a cloud: a simulated one has no monitors."""
REJECTED = {"ServiceMonitor", "PrometheusRule", "AlertmanagerConfig"}
"""Kinds of which the operator leaves out what it rejects, with an event."""
EXPORTER = {"app": "nvidia-dcgm-exporter"}
QUEUEING = {"app.kubernetes.io/name": "kueue", "app.kubernetes.io/component": "metrics-service"}
"""Labels of services of the GPU Operator v26.7.0 and of Kueue's chart 0.19.2."""


@dataclass(frozen=True, slots=True)
class Site:
    """The cluster, and the programs that run next to it."""

    api: Api
    lab: QueueLab
    stand: Stand
    config: Value
    """The configuration of Prometheus, as generated."""
    routing: Value
    """The configuration of Alertmanager, as generated."""
    groups: Sequence[Value]

    def team(self, name: str) -> str:
        return self.lab.namespace(name)


@pytest.fixture(scope="module")
def site(started: cluster.Outcome, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    metrics.require_programs()
    generated.require_operator()
    folder = tmp_path_factory.mktemp("operator")
    with ExitStack() as stack:
        api = stack.enter_context(kueue_as_rendered(started.status.name, SIMULATED))
        lab = stack.enter_context(QueueLab(api, SIMULATED))
        kubeconfig = Path(started.status.kubeconfig)
        stack.enter_context(generated.operator(api, kubeconfig, folder))
        hook, got = stack.enter_context(monitoring.receiver())
        stack.enter_context(monitored(api, lab, hook))
        config = wait(lambda: configured(api), "the configuration of Prometheus")
        routing = wait(lambda: routed(api), "the configuration of Alertmanager")
        groups = wait(lambda: generated.rule_groups(api), "the rules")
        exporters = Exporters(reader(api, counters(api)))
        exporters.load = Load(
            pods=(PodLoad(".*/(busy|guest|owner)-.*", 0.9, 0.8), PodLoad(".*/short-.*", 0.5))
        )
        served = stack.enter_context(serving(exporters))
        scrapes = scrape_configs(started.status.name, lab, config, served, token(api, folder))
        alerts = stack.enter_context(monitoring.alertmanager(folder, soon(routing)))
        run = monitoring.prometheus(folder, scrapes, monitoring.sooner_groups(groups), alerts)
        stand = Stand(plan_of(STACK), exporters, stack.enter_context(run), got, folder)
        lab.submit("vision", "busy", gpus=8, workload_class="training")
        goodput = 'gpuyard:goodput:ratio{queue=~".*vision"}'
        until(lambda: stand.values(goodput) == {(): 1.0}, "no goodput without evictions")
        evicted(lab)
        lab.submit("speech", "idle", gpus=2)
        stack.enter_context(traffic(lab))
        until(lambda: bool(stand.query("gpuyard:queue_wait_seconds:p95 >= 0")), "no job waited")
        time.sleep(10)  # all rules have read each other's series, and those of eight seconds
        yield Site(api, lab, stand, config, routing, groups)


@contextmanager
def monitored(api: Api, lab: QueueLab, hook: str) -> Iterator[None]:
    """What the chart and gpuyard create, and the receivers that a team and the platform chose."""
    plan = plan_of(STACK)
    for name in (MONITORING_NAMESPACE, GPU_OPERATOR_NAMESPACE):
        apply(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for name in ("platform", "vision"):
        generated.secret(api, name, MONITORING_NAMESPACE, url=f"{hook}/{name}")
    lists = [each for each in platform_objects(plan) if COUNTERS_FILE in (each.get("data") or {})]
    own = receivers(lab.namespace("speech"), f"{hook}/speech-own")
    created = [*lists, *generated.chart_objects(plan), *monitor_objects(plan), own]
    for each in created:
        apply(api, each)
    yield
    generated.remove(api, created)


def receivers(namespace: str, url: str) -> Value:
    """An AlertmanagerConfig as a team writes it in its namespace."""
    return {
        "apiVersion": "monitoring.coreos.com/v1alpha1",
        "kind": "AlertmanagerConfig",
        "metadata": {"name": "own", "namespace": namespace},
        "spec": {
            "route": {"receiver": "own", "groupBy": ["alertname"]},
            "receivers": [{"name": "own", "webhookConfigs": [{"url": url}]}],
        },
    }


def counters(api: Api) -> tuple[str, str, str]:
    """Where the list of counters is."""
    found = api.call("GET", f"/api/v1/namespaces/{GPU_OPERATOR_NAMESPACE}/configmaps")["items"]
    (name,) = (x["metadata"]["name"] for x in found if COUNTERS_FILE in (x.get("data") or {}))
    return GPU_OPERATOR_NAMESPACE, name, COUNTERS_FILE


def monitors() -> list[str]:
    """The ServiceMonitors of the platform: namespace/name."""
    found = [each for each in monitor_objects(plan_of(STACK)) if each["kind"] == "ServiceMonitor"]
    return [f"{x['metadata']['namespace']}/{x['metadata']['name']}" for x in found]


def configured(api: Api) -> Value | None:
    config = generated.prometheus_config(api)
    jobs = {each["job_name"] for each in config.get("scrape_configs", ())}
    expected = {f"serviceMonitor/{name}/0" for name in monitors()}
    return config if jobs >= expected else None


def routed(api: Api) -> Value | None:
    """Complete when the platform's receivers and the team's are in it."""
    config = generated.alertmanager_config(api)
    text = yaml.safe_dump(config)
    return config if "team-seen-vision" in text and "/own" in text else None


def token(api: Api, folder: Path) -> Path:
    """A token of the account of Prometheus, which may read metrics as in the chart."""
    rule = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "prometheus-test"}}
    apply(api, {**rbac, "kind": "ClusterRole", "rules": [rule]})
    account = {"kind": "ServiceAccount", "name": "default", "namespace": MONITORING_NAMESPACE}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole"}
    role["name"] = "prometheus-test"
    apply(api, {**rbac, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": [account]})
    path = f"/api/v1/namespaces/{MONITORING_NAMESPACE}/serviceaccounts/default/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    file = folder / "token"
    file.write_text(api.call("POST", path, request)["status"]["token"])
    return file


def scrape_configs(
    name: str, lab: QueueLab, config: Value, served: str, token: Path
) -> list[Value]:
    """The generated jobs with the targets of this machine."""
    settings = folder_of(name).settings()
    assert settings is not None
    nodes = [each["metadata"] for each in lab.objects if each["kind"] == "Node"]
    exporters = []
    for node in nodes:
        labels = generated.service_labels(
            GPU_OPERATOR_NAMESPACE, "gpu-metrics", EXPORTER, "nvidia-dcgm-exporter", node["name"]
        )
        pool = node["labels"]["gpuyard.dev/pool"]
        labels["__meta_kubernetes_node_label_gpuyard_dev_pool"] = pool
        labels["__metrics_path__"] = f"/nodes/{node['name']}/metrics"
        exporters.append((served, {**labels, "instance": node["name"]}))
    kueue = generated.service_labels(KUEUE_NAMESPACE, "https", QUEUEING, "kueue", "system-0")
    state = generated.service_labels(
        MONITORING_NAMESPACE,
        "http",
        {"app.kubernetes.io/name": "kube-state-metrics"},
        "kube-state-metrics",
        "system-0",
    )
    state["__metrics_path__"] = "/kube-state-metrics/metrics"
    targets: Mapping[str, list[tuple[str, Mapping[str, str]]]] = {
        "gpuyard-dcgm-exporter": exporters,
        "gpuyard-kueue": [(f"127.0.0.1:{settings.ports['kueue-metrics']}", kueue)],
        "kube-state-metrics": [(served, state)],
    }
    return [
        generated.with_targets(
            generated.job(config, f"{MONITORING_NAMESPACE}/{name}"), found, token
        )
        for name, found in targets.items()
    ]


def soon(value: Any) -> Any:
    """A routing whose groups wait for a second."""
    if isinstance(value, list):
        return [soon(each) for each in value]
    if isinstance(value, dict):
        found = {key: soon(each) for key, each in value.items()}
        return found | ({"group_wait": "1s", "group_interval": "2s"} if "receiver" in value else {})
    return value


def evicted(lab: QueueLab) -> None:
    """A job that borrows is evicted for one of the owner, which ends."""
    lab.submit("speech", "guest", pods=2, gpus=8)
    lab.expect("speech", "guest", "admitted")
    wait(lambda: lab.ready("speech", "guest"), "a ready guest")
    lab.submit("vision", "owner", gpus=8)
    lab.expect("vision", "owner", "admitted")
    lab.expect("speech", "guest", "waits")
    lab.withdraw("speech", "guest")
    lab.withdraw("vision", "owner")


@contextmanager
def traffic(lab: QueueLab) -> Iterator[None]:
    """A job of a second each second, so that the queue has waits to measure."""
    over = threading.Event()
    number = 0

    def submit() -> None:
        nonlocal number
        while not over.wait(1):
            number += 1
            lab.submit("speech", f"short-{number}", gpus=1, seconds=1, priority="research")

    thread = threading.Thread(target=submit, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


# ── what the operator generates ───────────────────────────────────────────────────────────────────
def checked(program: str, *words: object) -> str:
    command = [str(monitoring.TOOLS / program), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_prometheus_and_alertmanager_accept_what_the_operator_generates(site: Site, tmp_path: Path):
    files = {"prometheus": site.config, "alertmanager": site.routing}
    for name, content in files.items():
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(content))
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": list(site.groups)}))
    checked("promtool", "check", "config", "--syntax-only", tmp_path / "prometheus.yaml")
    checked("promtool", "check", "rules", tmp_path / "rules.yaml")
    checked("amtool", "check-config", tmp_path / "alertmanager.yaml")


def test_the_operator_rejects_no_object_and_mounts_each_rule(site: Site):
    assert names(site.groups) == names(rules.rule_groups(site.stand.plan))
    found = site.api.call("GET", f"/api/v1/namespaces/{MONITORING_NAMESPACE}/events")["items"]
    of_ours = [each for each in found if each["involvedObject"]["kind"] in REJECTED]
    assert [each["message"] for each in of_ours if each["type"] != "Normal"] == []


def names(groups: Sequence[Value]) -> dict[str, list[tuple[str, str]]]:
    """The rules of groups by name, with their expressions."""
    return {
        group["name"]: [(r.get("record") or r["alert"], r["expr"]) for r in group["rules"]]
        for group in groups
    }


def test_the_living_exporter_is_scraped_as_the_operator_configures_it(site: Site):
    """The living exporter's tests need no operator: their scrape job is made by hand."""
    made = generated.job(site.config, f"{MONITORING_NAMESPACE}/gpuyard-dcgm-exporter")
    monitor, *_ = monitor_objects(site.stand.plan)
    (by_hand, *_) = monitoring.scrape_configs(monitor, "127.0.0.1:1", [])
    assert made["honor_labels"] == by_hand["honor_labels"]
    assert relabelings(made["metric_relabel_configs"]) == by_hand["metric_relabel_configs"]
    ours = by_hand["relabel_configs"]
    assert relabelings(made["relabel_configs"])[-len(ours) :] == ours
    assert made["kubernetes_sd_configs"][0]["attach_metadata"] == {"node": True}


def relabelings(generated: Sequence[Value]) -> list[Value]:
    """Relabelings as we write them: without the default action, and without the operator's sharding."""
    return [
        {key: value for key, value in each.items() if (key, value) != ("action", "replace")}
        for each in generated
        if "__tmp_hash" not in str(each)
    ]


# ── what runs with it ─────────────────────────────────────────────────────────────────────────────
def test_each_recorded_series_has_data(site: Site):
    assert site.stand.records_without_data() == []


def test_no_rule_fails_and_each_target_is_scraped(site: Site):
    assert site.stand.failed_rules() == {}
    targets = site.stand.get("targets")["activeTargets"]
    assert {each["labels"]["job"]: each["lastError"] for each in targets if each["lastError"]} == {}


def test_jobs_of_a_team_are_allocated_and_priced(site: Site):
    found = site.stand.values("sum by (team) (gpuyard:gpus_allocated:sum)", "team")
    assert found[("seen-vision",)] == 8
    assert found[("seen-speech",)] >= 2
    (training,) = site.stand.query('gpuyard:gpus_allocated:sum{class="training"}')
    assert training["metric"]["team"] == "seen-vision"
    bill, parts = site.stand.cost()
    assert bill
    assert parts == bill


def test_an_idle_gpu_is_reported_to_the_team_in_its_own_namespace(site: Site):
    def idle(receiver: str) -> set[str]:
        return {name.rpartition("-")[0] for name in site.stand.alerted(receiver, "GpuIdle")}

    until(lambda: "idle" in idle("speech-own"), f"only {site.stand.got}")
    assert idle("speech-own") == {"idle"}
    until(lambda: "idle" in idle("platform"), f"only {site.stand.got}")
    assert idle("vision") == set()


def test_no_other_alert_fires_than_those_that_are_true(site: Site):
    found = site.stand.get("alerts")["alerts"]
    firing = {each["labels"]["alertname"]: each for each in found if each["state"] == "firing"}
    assert firing.keys() == {"GpuIdle", "TargetMissed"}, firing


def test_an_alert_on_the_exporters_own_labels_would_not_reach_the_team(site: Site):
    """The operator's matcher is the team's namespace, and the exporter's own namespace is another one."""
    file = site.stand.folder / "alertmanager.yaml"
    speech = site.team("speech")

    def receivers(*labels: str) -> str:
        return checked("amtool", "config", "routes", "test", f"--config.file={file}", *labels)

    assert f"{speech}/own" in receivers("severity=warning", f"namespace={speech}")
    ignored = receivers(
        "severity=warning", "namespace=gpu-operator", f"exported_namespace={speech}"
    )
    assert f"{speech}/own" not in ignored


def test_each_alert_of_a_team_reaches_its_receiver(site: Site):
    """Its labels: those of the rule, and the team's name or the namespace of the pods."""
    file = site.stand.folder / "alertmanager.yaml"
    alerts = [r for g in rules.rule_groups(site.stand.plan) for r in g["rules"] if "alert" in r]
    owned = [each for each in alerts if each["labels"]["owner"] == "team"]
    assert len(owned) > 5
    command = ["config", "routes", "test", f"--config.file={file}"]
    for each in owned:
        has_team = re.search(r"gpuyard:(?:team|pod_gpu)_", each["expr"])
        owner = "team=seen-vision" if has_team else f"namespace={site.team('vision')}"
        severity = f"severity={each['labels']['severity']}"
        found = checked("amtool", *command, "owner=team", severity, owner)
        assert "team-seen-vision" in found, each["alert"]


def test_each_panel_has_data(site: Site):
    asked = site.stand.panels()
    assert len(asked) > 50
    assert [pair for pair in asked if not site.stand.query(pair[1])] == []
