"""A real Prometheus Operator ignores and rejects what we render, and `gpuyard readiness --live` says so.

The operator, its Prometheus and Alertmanager are the user's: they select by labels of their own.
"""

import copy
import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuyard.render.observability import rules
from gpuyard.render.observability.monitors import monitor_objects
from gpuyard_advisor.readiness.inputs import place_of
from gpuyard_core.names import GPU_OPERATOR_NAMESPACE, MONITORING_NAMESPACE
from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api, connect
from kit.cluster import metrics
from kit.cluster import prometheus_operator as generated
from kit.cluster.lab import Value, apply, delete, wait
from kit.inprocess import run
from kit.levels import require_level
from kit.stacks import plan_of, platform, pool
from testbed import monitoring

pytestmark = [pytest.mark.cluster]

CHECKS = ("MON-01", "MON-02", "MON-03", "MON-05", "MON-06")
RULES = f"PrometheusRule {MONITORING_NAMESPACE}/gpuyard"
EXPORTER = f"ServiceMonitor {MONITORING_NAMESPACE}/gpuyard-dcgm-exporter"
RECEIVERS = f"AlertmanagerConfig {MONITORING_NAMESPACE}/gpuyard"
OBSERVED = {
    "prometheus": "existing",
    "labels": {"release": "fleet"},
    "alerts": {"critical": {"webhook": {"secret": "on-call", "key": "url"}}},
}
STACK = platform(
    [pool("whole", nodes=1)],
    [{"name": "vision", "guarantee": {"whole": 8}}],
    name="noticed",
    cloud="aws",
    observability=OBSERVED,
)
SELECTOR = {"matchLabels": {"release": "fleet"}}
PROMETHEUS = {
    "replicas": 0,
    "version": "v3.9.0",
    "serviceAccountName": "default",
    "ruleSelector": SELECTOR,
    "serviceMonitorSelector": SELECTOR,
    "serviceMonitorNamespaceSelector": {},
}
ALERTMANAGER = {
    "replicas": 0,
    "version": "v0.28.1",
    "alertmanagerConfigSelector": {},
    "alertmanagerConfigMatcherStrategy": {"type": "OnNamespaceExceptForAlertmanagerNamespace"},
}


def custom(kind: str, spec: Value) -> Value:
    metadata = {"name": "fleet", "namespace": MONITORING_NAMESPACE}
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
    }


@dataclass(frozen=True, slots=True)
class Site:
    """The cluster, our objects by display name, and the stack file."""

    api: Api
    objects: dict[str, Value]
    stack: Path

    def problems(self, *more: str) -> dict[str, list[str]]:
        """What readiness finds wrong with our objects, by object."""
        ended = run("readiness", self.stack, "--live", "--format", "json", *more)
        assert ended.code == 0, ended.err
        found: dict[str, list[str]] = {}
        for check in json.loads(ended.out)["readiness"]["checks"]:
            why = check["why"] if check["id"] in CHECKS else ""
            for each in why.split("; "):
                where, _, problem = each.partition(": ")
                if where in {RULES, EXPORTER, RECEIVERS} or where.startswith("Secret"):
                    found.setdefault(where, []).append(problem)
        return found

    def until(self, holds: Callable[[dict[str, list[str]]], Any], what: str) -> None:
        wait(lambda: holds(self.problems()), what)


@pytest.fixture(scope="module")
def site(started: cluster.Outcome, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    require_level("cluster", available=bool(shutil.which("kubectl")), why="no kubectl in PATH")
    generated.require_operator()
    folder = tmp_path_factory.mktemp("noticing")
    kubeconfig = Path(started.status.kubeconfig)
    api = connect(kubeconfig)
    stack = folder / "noticed.yaml"
    config = {"aws:region": "us-east-1", "gpuyard:platform": STACK}
    stack.write_text(yaml.safe_dump({"config": config}), encoding="utf-8")
    objects = {place_of(each): each for each in monitor_objects(plan_of(STACK))}
    theirs = [custom("Prometheus", PROMETHEUS), custom("Alertmanager", ALERTMANAGER)]
    with pytest.MonkeyPatch.context() as patch, generated.operator(api, kubeconfig, folder):
        patch.setenv("KUBECONFIG", str(kubeconfig))
        for name in (MONITORING_NAMESPACE, GPU_OPERATOR_NAMESPACE):
            apply(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        generated.secret(api, "on-call", MONITORING_NAMESPACE, url="http://127.0.0.1:1/hook")
        created = [*theirs, *objects.values()]
        for each in created:
            apply(api, each)
        found = Site(api, objects, stack)
        found.until(lambda problems: not problems, "the operator to load everything")
        yield found
        generated.remove(api, created)


def test_rules_and_monitors_without_the_label_are_noticed(site: Site) -> None:
    for name in (RULES, EXPORTER):
        other = copy.deepcopy(site.objects[name])
        other["metadata"]["labels"]["release"] = "other"
        apply(site.api, other)
    found = site.problems()
    prometheus = f"of Prometheus {MONITORING_NAMESPACE}/fleet"
    needs = f"{prometheus} requires release: fleet. Write observability.labels: {{release: fleet}}"
    assert found == {
        RULES: [f"ruleSelector {needs}"],
        EXPORTER: [f"serviceMonitorSelector {needs}"],
    }
    for name in (RULES, EXPORTER):
        apply(site.api, site.objects[name])
    site.until(lambda problems: not problems, "the operator to load them again")


def test_rules_that_the_api_server_accepts_and_the_operator_rejects_are_noticed_until_corrected(
    site: Site,
) -> None:
    right = site.objects[RULES]
    wrong = copy.deepcopy(right)
    wrong["spec"]["groups"][0]["rules"][0]["expr"] = "sum(rate(x))"
    apply(site.api, wrong)
    site.until(lambda problems: len(problems.get(RULES, ())) == 2, "both signs of a rejection")
    event, left_out = site.problems()[RULES]
    assert event.startswith("the operator rejects it, at ")
    assert event.endswith(
        "PrometheusRule gpuyard was rejected due to invalid configuration: invalid rule"
    )
    assert (
        left_out
        == f"the operator leaves it out of the rules of Prometheus {MONITORING_NAMESPACE}/fleet"
    )
    time.sleep(1.1)  # times of events and of writes are whole seconds
    apply(site.api, right)
    site.until(lambda problems: not problems, "the operator to load the corrected rules")


def test_a_secret_that_is_gone_is_noticed_by_its_name_and_by_the_rejected_receivers(
    site: Site,
) -> None:
    path = f"/api/v1/namespaces/{MONITORING_NAMESPACE}/secrets/on-call"
    delete(site.api, path)
    apply(site.api, site.objects[RECEIVERS])
    name = f"Secret {MONITORING_NAMESPACE}/on-call"
    site.until(lambda problems: {name, RECEIVERS} <= problems.keys(), "the rejected receivers")
    found = site.problems()
    assert found[name] == ["a receiver names it, and it does not exist"]
    assert "on-call" in found[RECEIVERS][0]
    generated.secret(site.api, "on-call", MONITORING_NAMESPACE, url="http://127.0.0.1:1/hook")
    site.until(lambda problems: name not in problems, "the Secret")


def test_receivers_that_get_only_alerts_of_their_own_namespace_are_noticed(site: Site) -> None:
    spec = {k: v for k, v in ALERTMANAGER.items() if k != "alertmanagerConfigMatcherStrategy"}
    apply(site.api, custom("Alertmanager", spec))
    found = site.problems()[RECEIVERS][-1]
    assert found.startswith(f"Alertmanager {MONITORING_NAMESPACE}/fleet sends it only alerts with")
    apply(site.api, custom("Alertmanager", ALERTMANAGER))


def test_what_a_real_prometheus_cannot_scrape_or_evaluate_is_noticed(
    site: Site, tmp_path: Path
) -> None:
    metrics.require_programs()
    first, *others = rules.rule_groups(plan_of(STACK))
    broken = {"record": "broken", "expr": 'label_replace(up, "instance", "same", "", "")'}
    job = f"serviceMonitor/{MONITORING_NAMESPACE}/gpuyard-dcgm-exporter/0"
    addresses = [f"127.0.0.1:{monitoring.free_port()}" for _ in range(2)]
    scrapes = [{"job_name": job, "static_configs": [{"targets": addresses}]}]
    groups = [{"name": others[0]["name"], "rules": [broken]}, *others[1:]]
    with monitoring.prometheus(tmp_path, scrapes, groups) as address:

        def noticed() -> Any:
            found = site.problems("--prometheus", address)
            return found if len(found.get(RULES, ())) == 2 and EXPORTER in found else None

        found = wait(noticed, "targets that are down and a rule that fails")
    assert found[RULES][0] == f"Prometheus has no group {first['name']}"
    assert "same labelset" in found[RULES][1]
    assert any("connection refused" in each for each in found[EXPORTER])
