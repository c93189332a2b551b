"""A real Prometheus scrapes fake exporters and evaluates our rules; a real Alertmanager gets the alerts.

Prometheus scrapes and evaluates each second, and each range of a rule is eight seconds (kit.cluster.monitoring.sooner).
"""

import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.observability.counters import counters_text
from gpuyard_simulate.metrics.load import Load, PodLoad
from gpuyard_simulate.metrics.server import Objects
from kit.cluster import metrics
from kit.cluster.stand import Stand, standing, until
from kit.inprocess import run
from kit.stacks import plan_of, platform, pool
from testbed import monitoring

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
DRAWN = Path(__file__).resolve().parents[3] / "scripts" / "dashboards" / "stack.yaml"
DASHBOARDS = ("fleet", "team", "queue", "node", "cost", "validation", "serving")
SERVES = {"gpuyard.dev/class": "real-time-inference"}
PARTS = {"used", "allocated_idle", "unallocated", "overhead", "system"}


def webhook(name: str) -> dict[str, Any]:
    return {"webhook": {"secret": name, "key": "url"}}


ALERTS = {"warning": webhook("platform"), "teams": {n: webhook(n) for n in ("vision", "speech")}}
STACK = platform(POOLS, TEAMS, cloud="aws", observability={"alerts": ALERTS})
CLAIMS = platform(
    [pool("claims", machine="g6.12xlarge", nodes=2, sharing="dra")],
    [{"name": "vision", "guarantee": {"claims": 4}}],
    cloud="aws",
    observability={"alerts": {"warning": webhook("platform")}},
)


def namespaces_of(plan: PlatformPlan) -> list[dict[str, Any]]:
    return [
        {"metadata": {"name": each.name, "labels": {}}}
        for team in plan.teams
        for each in team.namespaces
    ]


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    metrics.require_programs()
    plan = plan_of(STACK)
    nodes = metrics.nodes_of(plan, {"cut": CUT})
    (team, other) = (next(n.name for n in each.namespaces) for each in plan.teams)
    (shared,) = (p.advertised[0].resource for p in plan.pools if p.name == "turns")
    (clients,) = (p.advertised[0].resource for p in plan.pools if p.name == "clients")
    gpu = "nvidia.com/gpu"
    pods = [
        metrics.pod_of("busy", team, "whole-0", gpu, 8, **{"gpuyard.dev/class": "training"}),
        metrics.pod_of("idle", other, "whole-1", gpu, 2),
        metrics.pod_of("unused", team, "whole-1", gpu),
        metrics.pod_of("stranger", "default", "whole-1", gpu),
        metrics.pod_of("large", team, "cut-0", "nvidia.com/mig-3g.20gb"),
        metrics.pod_of("small", other, "cut-0", "nvidia.com/mig-1g.5gb", 3),
        *(metrics.pod_of(f"turn-{n}", team, "turns-0", shared) for n in range(2)),
        *(metrics.pod_of(f"client-{n}", other, "clients-0", clients) for n in range(3)),
    ]
    objects = Objects(nodes, pods, namespaces=namespaces_of(plan), counters=counters_text())
    loads = (PodLoad(".*/busy", 0.9, 0.8), PodLoad(".*/(large|turn-0|client-.)", 0.5, 0.5))
    load = Load(pods=(*loads, PodLoad(".*/stranger", 0.1, 0.1)))
    folder = tmp_path_factory.mktemp("metrics")
    with standing(folder, plan, objects, load, "kueue") as found:
        yield found


def test_each_recorded_series_has_data(stand: Stand):
    assert stand.records_without_data() == []


def test_no_rule_fails(stand: Stand):
    assert stand.failed_rules() == {}


def test_each_pool_is_counted_as_its_pods_hold_it(stand: Stand):
    found = stand.values("sum by (pool) (gpuyard:pod_gpu_allocated:gpus)", "pool")
    sevenths = (3 + 3 * 1) / 7
    assert found == pytest.approx(
        {("whole",): 12, ("cut",): sevenths, ("turns",): 2 / 3, ("clients",): 3 / 4}
    )


def test_the_activity_of_a_pod_is_that_of_its_load_or_of_the_gpu_that_it_shares(stand: Stand):
    found = stand.values("max by (pod) (gpuyard:pod_gpu_active:ratio)", "pod")
    expected = {"busy": 0.9, "idle": 0, "unused": 0, "large": 0.5, "small": 0, "stranger": 0.1}
    expected |= dict.fromkeys(("turn-0", "turn-1"), 0.5 / 3)
    expected |= dict.fromkeys(("client-0", "client-1", "client-2"), 3 * 0.5 / 4)
    assert found == pytest.approx({(pod,): value for pod, value in expected.items()}, abs=0.01)


def test_parts_of_the_cost_sum_to_the_bill(stand: Stand):
    bill, parts = stand.cost()
    assert bill
    assert parts == bill
    found = {part for (part,) in stand.values("gpuyard:cost:dollars_per_hour", "part")}
    assert found >= PARTS - {"overhead"}


def test_a_node_whose_exporter_is_gone_is_overhead_and_the_sum_stays(stand: Stand):
    kept = stand.exporters.load
    stand.exporters.load = Load(pods=kept.pods, gone=frozenset({"whole-1"}))
    try:
        part = 'sum(gpuyard:cost:dollars_per_hour{pool="whole",part="overhead"})'
        bill = 'sum(gpuyard:bill:dollars_per_hour{pool="whole"})'
        until(
            lambda: stand.values(f"{part} / {bill}").get((), 0.0) == pytest.approx(0.5, abs=0.01),
            "half of the pool is not measured",
        )
        billed, parts = stand.cost()
        assert parts == billed
    finally:
        stand.exporters.load = kept


def test_each_panel_has_data(stand: Stand):
    asked = stand.panels()
    assert len(asked) > 40
    assert [pair for pair in asked if not stand.query(pair[1])] == []


def test_each_panel_of_the_stack_that_has_all_of_them_has_data(tmp_path: Path):
    metrics.require_programs()
    raw = yaml.safe_load(DRAWN.read_text(encoding="utf-8"))["config"]["gpuyard:platform"]
    plan = plan_of({**raw, "observability": {"alerts": {"warning": webhook("platform")}}})
    pods = [
        metrics.pod_of("busy", "vision", "train-0", "nvidia.com/gpu", 8),
        metrics.pod_of("chat", "search", "serve-0", "nvidia.com/gpu", 2, **SERVES),
    ]
    objects = Objects(
        metrics.nodes_of(plan, {}),
        pods,
        namespaces=namespaces_of(plan),
        counters=counters_text(),
    )
    load = Load(pods=(PodLoad(".*/busy", 0.9, 0.8),))
    others = ("kueue", "gpuyard-validator", "vllm", "triton", "tgi")
    with standing(tmp_path, plan, objects, load, *others) as found:
        asked = found.panels()
        assert {file for file, _ in (title.split("/", 1) for title, _ in asked)} == {
            f"gpuyard-lab-{name}.json" for name in DASHBOARDS
        }
        empty = [pair for pair in asked if not found.query(pair[1])]
        assert not empty, "\n".join(f"{title}: {text}" for title, text in empty)


def test_an_idle_gpu_is_reported_to_the_team_that_holds_it(stand: Stand):
    def alerted(receiver: str) -> set[str]:
        return stand.alerted(receiver, "GpuIdle")

    until(lambda: {"idle", "small"} <= alerted("speech"), f"only {stand.got}")
    until(lambda: "unused" in alerted("vision"), f"only {stand.got}")
    assert alerted("speech") == {"idle", "small"}
    assert alerted("vision") == {"unused"}
    assert alerted("platform") == {"idle", "small", "unused"}


def test_the_routing_sends_labels_of_each_alert_to_the_owner(stand: Stand):
    file = stand.folder / "alertmanager.yaml"
    subprocess.run([monitoring.TOOLS / "amtool", "check-config", file], check=True)
    for labels, receiver in (
        (["team=vision", "severity=warning"], "team-vision,warning"),
        (["owner=team", "namespace=vision", "severity=info"], "team-vision"),
        (["owner=team", "namespace=other", "severity=info"], "nowhere"),
        (["team=x"], "nowhere"),
    ):
        command = [monitoring.TOOLS / "amtool", "config", "routes", "test", f"--config.file={file}"]
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


def test_claimed_gpus_and_a_node_that_goes_stay_in_the_sum(tmp_path: Path):
    metrics.require_programs()
    plan = plan_of(CLAIMS)
    (space,) = (each.name for team in plan.teams for each in team.namespaces)
    claims = [metrics.claim_of(f"claimer-{n}", space, f"claims-{n}", "gpu-2") for n in range(2)]
    nodes = metrics.nodes_of(plan, {})
    objects = Objects(
        nodes,
        [pod for pod, _ in claims],
        [claim for _, claim in claims],
        namespaces=namespaces_of(plan),
        counters=counters_text(),
    )
    with standing(tmp_path, plan, objects, Load(pods=(PodLoad(".*", 0.5, 0.5),))) as stand:
        used = 'gpuyard:gpus_used:sum{pool="claims",team="vision"}'
        assert stand.values(used)[()] == pytest.approx(1.0)
        (before, parts) = stand.cost()
        assert parts == before
        nodes[:] = [node for node in nodes if node["metadata"]["name"] != "claims-1"]
        until(lambda: stand.cost()[0]["claims"] < before["claims"], "the node is still billed")
        until(lambda: stand.values(used)[()] == pytest.approx(0.5), "its GPUs are still measured")
        (after, parts) = stand.cost()
        assert parts == after
        assert after["claims"] == pytest.approx(before["claims"] / 2, abs=0.01)
