"""A real Prometheus scrapes fake exporters and evaluates our rules; a real Alertmanager gets the alerts.

Prometheus scrapes and evaluates each second, and each range of a rule is eight seconds (kit.cluster.metrics.sooner).
"""

import json
import re
import subprocess
import time
import urllib.parse
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuyard.render.observability import dashboards, rules
from gpuyard.render.observability.counters import counters_text
from gpuyard.render.observability.monitors import monitor_objects
from gpuyard.simulate.metrics.load import Load, PodLoad
from gpuyard.simulate.metrics.server import Exporters, Objects, serving
from kit.cluster import metrics
from kit.inprocess import run
from kit.stacks import plan_of, platform, pool

pytestmark = [pytest.mark.engine, pytest.mark.always]

CUT = {"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 2}
POOLS = [
    pool("whole", nodes=2),
    pool("cut", machine="p4d.24xlarge", nodes=1, sharing={"mig": CUT}),
    pool("turns", machine="g6.xlarge", nodes=1, sharing={"time_slicing": 3}),
    pool("clients", machine="g6.xlarge", nodes=1, sharing={"mps": 4}),
]
TEAMS = [
    {"name": "vision", "guarantee": {"whole": 8}},
    {"name": "speech", "guarantee": {"whole": 8}},
]
PARTS = {"used", "allocated_idle", "unallocated", "overhead", "system"}
SECONDS = 40
IDLE = {
    "alert": "GPUIdle",
    "expr": "gpuyard:pod_gpu_active:ratio < 0.05",
    "for": "2s",
    "labels": {"severity": "warning"},
}
ELSEWHERE = re.compile(
    r"\b(?:kueue|gpu_validation|karpenter|keda|vllm|container|kubelet)_\w+|[a-z]+:\w+_total"
)
"""Metrics of components that do not run beside the fake exporters."""


def webhook(name: str) -> dict[str, Any]:
    return {"webhook": {"secret": name, "key": "url"}}


ALERTS = {"warning": webhook("platform"), "teams": {n: webhook(n) for n in ("vision", "speech")}}
STACK = platform(POOLS, TEAMS, cloud="aws", observability={"alerts": ALERTS})


def queries(panels: list[dict[str, Any]], title: str = "") -> Iterator[tuple[str, str]]:
    """The titles and queries of panels, with values for variables."""
    for panel in panels:
        name = f"{title}/{panel.get('title', '')}"
        yield from queries(panel.get("panels") or [], title)
        for target in panel.get("targets") or ():
            text = re.sub(r"\$(?:pool|team|node|queue)\b", ".+", target["expr"])
            text = re.sub(r"\$__(?:range|rate_interval|interval)\b", "8s", text)
            yield name, metrics.sooner(text)


class Stand:
    """Exporters and Prometheus of one platform."""

    def __init__(
        self,
        exporters: Exporters,
        address: str,
        objects: Objects,
        got: list[tuple[str, dict[str, Any]]],
        folder: Path,
    ) -> None:
        self.exporters, self.address, self.objects = exporters, address, objects
        self.got, self.folder = got, folder

    def query(self, text: str) -> list[dict[str, Any]]:
        asked = urllib.parse.urlencode({"query": text})
        with metrics.LOCAL.open(f"{self.address}/api/v1/query?{asked}", timeout=30) as answer:
            return list(json.load(answer)["data"]["result"])

    def values(self, text: str, *labels: str) -> dict[tuple[str, ...], float]:
        found = self.query(text)
        return {tuple(e["metric"].get(k, "") for k in labels): float(e["value"][1]) for e in found}


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.3)


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    metrics.require_programs()
    folder = tmp_path_factory.mktemp("metrics")
    plan = plan_of(STACK)
    nodes = metrics.nodes_of(plan, {"cut": CUT})
    (team, other) = (next(n.name for n in each.namespaces) for each in plan.teams)
    (shared,) = (p.advertised[0].resource for p in plan.pools if p.name == "turns")
    (clients,) = (p.advertised[0].resource for p in plan.pools if p.name == "clients")
    gpu = "nvidia.com/gpu"
    pods = [
        metrics.pod_of("busy", team, "whole-0", gpu, 8, **{"gpuyard.dev/class": "training"}),
        metrics.pod_of("idle", other, "whole-1", gpu, 2),
        metrics.pod_of("stranger", "default", "whole-1", gpu),
        metrics.pod_of("large", team, "cut-0", "nvidia.com/mig-3g.20gb"),
        metrics.pod_of("small", other, "cut-0", "nvidia.com/mig-1g.5gb", 3),
        *(metrics.pod_of(f"turn-{n}", team, "turns-0", shared) for n in range(2)),
        *(metrics.pod_of(f"client-{n}", other, "clients-0", clients) for n in range(3)),
    ]
    namespaces = [{"metadata": {"name": n, "labels": {}}} for n in (team, other)]
    objects = Objects(nodes, pods, namespaces=namespaces, counters=counters_text(plan))
    exporters = Exporters(lambda: objects)
    loads = (PodLoad(".*/busy", 0.9, 0.8), PodLoad(".*/(large|turn-0|client-.)", 0.5, 0.5))
    exporters.load = Load(pods=(*loads, PodLoad(".*/stranger", 0.1, 0.1)))
    with ExitStack() as stack:
        served = stack.enter_context(serving(exporters))
        groups = metrics.sooner_groups(rules.rule_groups(plan))
        objects_of = {
            each["kind"]: each
            for each in monitor_objects(plan)
            if each["metadata"]["name"] != "gpuyard-kueue"
        }
        scrapes = metrics.scrape_configs(objects_of["ServiceMonitor"], served, nodes)
        hook, got = stack.enter_context(metrics.receiver())
        alerts = stack.enter_context(
            metrics.alertmanager(
                folder, metrics.alertmanager_config(objects_of["AlertmanagerConfig"], hook)
            )
        )
        groups.append({"name": "idle", "rules": [IDLE]})
        address = stack.enter_context(metrics.prometheus(folder, scrapes, groups, alerts))
        found = Stand(exporters, address, objects, got, folder)
        until(lambda: bool(found.query("gpuyard:team_spend:dollars_per_hour")), _state(folder))
        time.sleep(10)  # all rules have read each other's series, and those of eight seconds
        yield found


def _state(folder: Path) -> str:
    return (folder / "prometheus.log").read_text()[-2000:]


def test_each_recorded_series_has_data(stand: Stand):
    plan = plan_of(STACK)
    names = {
        rule["record"] for g in rules.rule_groups(plan) for rule in g["rules"] if "record" in rule
    }
    assert len(names) > 20
    assert [name for name in sorted(names) if not stand.query(name)] == []


def test_no_rule_fails(stand: Stand):
    with metrics.LOCAL.open(f"{stand.address}/api/v1/rules", timeout=30) as answer:
        groups = json.load(answer)["data"]["groups"]
    failed = {r["name"]: r["lastError"] for g in groups for r in g["rules"] if r["health"] != "ok"}
    assert failed == {}


def test_each_pool_is_counted_as_its_pods_hold_it(stand: Stand):
    found = stand.values("sum by (pool) (gpuyard:pod_gpu_allocated:gpus)", "pool")
    sevenths = (3 + 3 * 1) / 7
    assert found == pytest.approx(
        {("whole",): 11, ("cut",): sevenths, ("turns",): 2 / 3, ("clients",): 3 / 4}
    )


def test_the_activity_of_a_pod_is_that_of_its_load(stand: Stand):
    found = stand.values("max by (pod) (gpuyard:pod_gpu_active:ratio)", "pod")
    expected = {"busy": 0.9, "idle": 0, "large": 0.5, "small": 0, "stranger": 0.1}
    expected |= {"turn-0": 0.5, "turn-1": 0, "client-0": 0.5, "client-1": 0.5, "client-2": 0.5}
    assert found == pytest.approx({(pod,): value for pod, value in expected.items()}, abs=0.01)


def test_parts_of_the_cost_sum_to_the_bill(stand: Stand):
    bill = stand.values("gpuyard:bill:dollars_per_hour", "pool")
    parts = stand.values("gpuyard:cost:dollars_per_hour", "pool", "part", "team", "class")
    sums: dict[tuple[str, ...], float] = defaultdict(float)
    for (name, *_), value in parts.items():
        sums[(name,)] += value
    assert bill
    assert {key: round(value, 2) for key, value in sums.items()} == {
        key: round(value, 2) for key, value in bill.items()
    }
    assert {part for _, part, *_ in parts} >= PARTS - {"overhead"}


def test_a_node_whose_exporter_is_gone_is_overhead_and_the_sum_stays(stand: Stand):
    kept = stand.exporters.load
    stand.exporters.load = Load(pods=kept.pods, gone=frozenset({"whole-1"}))
    try:
        sums = 'sum(gpuyard:cost:dollars_per_hour{pool="whole"})'
        part = 'sum(gpuyard:cost:dollars_per_hour{pool="whole",part="overhead"})'
        bill = 'sum(gpuyard:bill:dollars_per_hour{pool="whole"})'
        until(
            lambda: stand.values(f"{part} / {bill}").get((), 0.0) == pytest.approx(0.5, abs=0.01),
            "half of the pool is not measured",
        )
        assert stand.values(f"{sums} - {bill}")[()] == pytest.approx(0, abs=0.01)
    finally:
        stand.exporters.load = kept


def test_each_panel_whose_exporters_run_here_has_data(stand: Stand):
    plan = plan_of(STACK)
    made = dashboards.dashboards(plan)
    asked = [q for file, each in made.items() for q in queries(each["panels"], file)]
    here = [(title, text) for title, text in asked if not ELSEWHERE.search(text)]
    assert len(here) > 40
    assert [pair for pair in here if not stand.query(pair[1])] == []


def test_an_idle_gpu_is_reported_to_the_team_that_holds_it(stand: Stand):
    def told(receiver: str) -> set[str]:
        bodies = [body for path, body in stand.got if path == receiver]
        return {a["labels"]["pod"] for b in bodies for a in b["alerts"] if b["status"] == "firing"}

    until(lambda: "idle" in told("speech"), f"only {stand.got}")
    assert told("speech") == {"idle", "small"}
    assert told("vision") == {"turn-1"}
    assert "stranger" not in told("vision") | told("speech")
    assert told("platform") >= {"idle", "small", "turn-1"}


def test_the_routing_sends_labels_of_each_alert_to_the_owner(stand: Stand):
    file = stand.folder / "alertmanager.yaml"
    subprocess.run([metrics.TOOLS / "amtool", "check-config", file], check=True)
    for labels, receiver in (
        (["team=vision", "severity=warning"], "team-vision,warning"),
        (["team=x"], "nowhere"),
    ):
        command = [metrics.TOOLS / "amtool", "config", "routes", "test", f"--config.file={file}"]
        done = subprocess.run([*command, *labels], capture_output=True, text=True, check=True)
        assert done.stdout.split() == [receiver]


def test_top_shows_pools_teams_and_the_idle_gpu(stand: Stand):
    ended = run("top", "--live", stand.address, "--once")
    assert (ended.code, ended.err) == (0, "")
    for word in ("whole", "cut", "turns", "clients", "vision", "speech", "idle"):
        assert word in ended.out


def test_the_statement_of_this_month_has_both_teams(stand: Stand, tmp_path: Path):
    stack = tmp_path / "Pulumi.lab.yaml"
    config = {"gpuyard:platform": STACK}
    stack.write_text(yaml.safe_dump({"config": config}), encoding="utf-8")
    month = datetime.now(UTC).strftime("%Y-%m")
    ended = run("statement", stack, "--month", month, "--live", stand.address)
    assert ended.code == 0, ended.err
    assert "vision" in ended.out
    assert "speech" in ended.out
