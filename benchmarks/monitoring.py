"""Memory and rule evaluation of a real Prometheus with the GPU metrics and the rules of a large fleet.

    python benchmarks/monitoring.py             1,000 nodes with 8 GPUs; ten minutes, 5 GiB of memory
    python benchmarks/monitoring.py --nodes 100 --minutes 3

Prometheus scrapes the list of counters of each GPU with the labels that it stores in a cluster, evaluates the rules every
30 seconds, and is asked for its memory at the end. It needs `scripts/tools prometheus`. benchmarks/monitoring.md has
the result.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from gpuyard.plan import plan_or_raise
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.observability.counters import counter_list
from gpuyard.render.observability.rules import rule_file
from gpuyard.spec.read import platform_spec

ROOT = Path(__file__).resolve().parents[1]
PROMETHEUS = ROOT / ".testbed" / "bin" / "prometheus"
POOLS, TEAMS, GPUS, TARGETS, VARIANTS = 10, 20, 8, 20, 2
SECONDS, SLOWEST = 30, 5
FAULTS = ("XID", "REMAP", "ECC", "ERROR", "RECOVERY", "VIOLATION", "EVENTS")
"""Words of metrics that are zero without a fault."""
_LOCAL = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def plan_of(nodes: int) -> PlatformPlan:
    """Ten pools of whole GPUs with so many nodes together, and twenty teams."""
    pools = [
        {"name": f"pool-{n}", "machine": "p5.48xlarge", "nodes": max(1, nodes // POOLS)}
        for n in range(POOLS)
    ]
    teams = [
        {"name": f"team-{n}", "guarantee": {f"pool-{n % POOLS}": 1}, "budget_usd_per_month": 1e5}
        for n in range(TEAMS)
    ]
    raw = {"name": "lab", "cloud": "none", "kubernetes": "1.36", "pools": pools, "teams": teams}
    prices = {"machines": {"p5.48xlarge": 40}}
    return plan_or_raise(platform_spec({**raw, "prices": prices}))


def exposition(plan: PlatformPlan, nodes: range, variant: int) -> bytes:
    """What the exporters of these nodes serve, with the labels that Prometheus adds."""
    counters = [each.name for each in counter_list()]
    spaces = [each.namespaces[0].name for each in plan.teams]
    lines: list[str] = []
    for number in nodes:
        node, pool = f"node-{number}", f"pool-{number % POOLS}"
        lines.append(f'kube_node_labels{{node="{node}",label_gpuyard_dev_pool="{pool}"}} 1')
        for gpu in range(GPUS):
            space = spaces[(number + gpu) % len(spaces)]
            pod = f'namespace="{space}",pod="job-{number}-{gpu}",label_gpuyard_dev_class="training"'
            lines.append(f"kube_pod_labels{{{pod}}} 1")
            labels = (
                f'gpu="{gpu}",UUID="GPU-{number:08x}-{gpu}",pci_bus_id="00000000:{gpu:02x}:00.0",device="nvidia{gpu}",'
                f'modelName="NVIDIA H100 80GB HBM3",DCGM_FI_DRIVER_VERSION="580.95.05",exported_container="main",'
                f'exported_namespace="{space}",exported_pod="job-{number}-{gpu}",pool="{pool}",'
                f'node="{node}",namespace="gpu-operator",pod="nvidia-dcgm-exporter-{number}",container="exporter",'
                f'service="nvidia-dcgm-exporter",endpoint="gpu-metrics",instance="10.{number // 250}.{number % 250}.9:9400"'
            )
            for index, name in enumerate(counters):
                used = (number * 7 + gpu * 3 + index + variant * 5) % 90 / 100 + 0.1
                value = 0 if any(word in name for word in FAULTS) else used
                lines.append(f"{name}{{{labels}}} {value}")
    return "\n".join([*lines, ""]).encode()


def server(plan: PlatformPlan, nodes: int) -> ThreadingHTTPServer:
    """A server of all targets; their values change with each scrape."""
    step = -(-nodes // TARGETS)
    texts = [
        [exposition(plan, range(at, min(nodes, at + step)), v) for v in range(VARIANTS)]
        for at in range(0, nodes, step)
    ]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            text = texts[int(self.path.rpartition("/")[2])][int(time.time() / SECONDS) % VARIANTS]
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    return made


def configuration(port: int, own: int, nodes: int) -> str:
    """The configuration of Prometheus."""
    count = -(-nodes // -(-nodes // TARGETS))
    exporters = [
        {
            "job_name": f"exporters-{n}",
            "honor_labels": True,
            "metrics_path": f"/{n}",
            "static_configs": [{"targets": [f"127.0.0.1:{port}"]}],
        }
        for n in range(count)
    ]
    itself = {"job_name": "prometheus", "static_configs": [{"targets": [f"127.0.0.1:{own}"]}]}
    every = {"scrape_interval": f"{SECONDS}s", "evaluation_interval": f"{SECONDS}s"}
    return yaml.safe_dump(
        {"global": every, "rule_files": ["rules.yaml"], "scrape_configs": [*exporters, itself]}
    )


def ask(port: int, query: str) -> list[dict[str, Any]]:
    """The result of a query."""
    url = f"http://127.0.0.1:{port}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
    with _LOCAL.open(url, timeout=60) as answer:
        return list(json.load(answer)["data"]["result"])


def slowest(port: int) -> Iterator[tuple[str, str]]:
    """The rules that take longest."""
    with _LOCAL.open(f"http://127.0.0.1:{port}/api/v1/rules", timeout=60) as answer:
        groups = json.load(answer)["data"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    for each in sorted(rules, key=lambda rule: -rule["evaluationTime"])[:SLOWEST]:
        yield f"slow: {each['name']}", f"{each['evaluationTime']:.2f} s"


def figures(port: int) -> Iterator[tuple[str, str]]:
    """What Prometheus says of itself, and its series by origin."""

    def value(query: str) -> float:
        found = ask(port, query)
        return float(found[0]["value"][1]) if found else 0.0

    series = value("prometheus_tsdb_head_series")
    memory = value('process_resident_memory_bytes{job="prometheus"}')
    peak = value('max_over_time(process_resident_memory_bytes{job="prometheus"}[1h])')
    yield "series", f"{series:,.0f}"
    recorded = value('count({__name__=~"gpuyard:.+"})')
    yield "of them recorded", f"{recorded:,.0f}"
    yield "memory", f"{memory / 2**30:.2f} GiB, at most {peak / 2**30:.2f} GiB"
    yield "bytes of a series", f"{memory / series:,.0f}, at most {peak / series:,.0f}"
    yield (
        "samples per second",
        f"{value('rate(prometheus_tsdb_head_samples_appended_total[5m])'):,.0f}",
    )
    cores = value('rate(process_cpu_seconds_total{job="prometheus"}[5m])')
    yield "cores in use", f"{cores:.2f}, load of the machine {os.getloadavg()[0]:.1f}"
    for each in ask(port, "prometheus_rule_group_last_duration_seconds"):
        name = each["metric"]["rule_group"].rpartition(";")[2]
        yield f"evaluation of {name}", f"{float(each['value'][1]):.2f} s"
    yield "failed evaluations", f"{value('sum(prometheus_rule_evaluation_failures_total)'):.0f}"
    missed = value("sum(prometheus_rule_group_iterations_missed_total)")
    yield "missed evaluations", f"{missed:.0f}"


def measure(nodes: int, minutes: float) -> None:
    """Run Prometheus and print its figures."""
    plan = plan_of(nodes)
    own = 19090
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = server(plan, nodes)
        (folder / "rules.yaml").write_text(rule_file(plan), encoding="utf-8")
        (folder / "prometheus.yaml").write_text(
            configuration(made.server_address[1], own, nodes), encoding="utf-8"
        )
        with (folder / "log").open("w", encoding="utf-8") as log:
            process = subprocess.Popen(
                [
                    str(PROMETHEUS),
                    f"--config.file={folder / 'prometheus.yaml'}",
                    f"--storage.tsdb.path={folder / 'data'}",
                    f"--web.listen-address=127.0.0.1:{own}",
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            try:
                time.sleep(60 * minutes)
                for title, text in (*figures(own), *slowest(own)):
                    print(f"{title}: {text}", flush=True)
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(timeout=120)


def main() -> int:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=10)
    given = parser.parse_args()
    if not PROMETHEUS.exists():
        sys.exit(f"no {PROMETHEUS}: run scripts/tools prometheus")
    measure(given.nodes, given.minutes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
