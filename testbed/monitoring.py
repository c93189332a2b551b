"""A real Prometheus and a real Alertmanager beside fake exporters, for tests and the demo.

Both scrape, evaluate and notify each second, and each range of a rule is eight seconds (`sooner`).
"""

import json
import os
import random
import re
import signal
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from gpuyard_simulate.state import is_free

TOOLS = Path(os.environ.get("GPUYARD_TOOLS") or Path(__file__).parents[1] / ".testbed/bin")
Value = dict[str, Any]
ROUTING = "AlertmanagerConfig"
LOCAL = urllib.request.build_opener(urllib.request.ProxyHandler({}))


# ── configuration ─────────────────────────────────────────────────────────────────────────────────
def scrape_configs(
    monitor: Mapping[str, Any], exporters: str, nodes: Iterable[Value]
) -> list[Value]:
    """What prometheus-operator makes of the ServiceMonitor of the DCGM exporter, with static targets.

    Each target has the labels of discovery that the relabelings read, and those that the operator sets.
    """
    (endpoint,) = monitor["spec"]["endpoints"]
    targets = [
        {"targets": [exporters], "labels": _discovered(node["metadata"])}
        for node in nodes
        if "node.kubernetes.io/instance-type" in node["metadata"]["labels"]
    ]
    state = {
        "job_name": "kube-state-metrics",
        "honor_labels": True,
        "metrics_path": "/kube-state-metrics/metrics",
        "static_configs": [{"targets": [exporters]}],
    }
    dcgm = {
        "job_name": "dcgm-exporter",
        "honor_labels": endpoint["honorLabels"],
        "static_configs": targets,
        "relabel_configs": [_relabeling(each) for each in endpoint["relabelings"]],
        "metric_relabel_configs": [_relabeling(each) for each in endpoint["metricRelabelings"]],
    }
    return [dcgm, state]


def _discovered(node: Mapping[str, Any]) -> dict[str, str]:
    return {
        "__metrics_path__": f"/nodes/{node['name']}/metrics",
        "__meta_kubernetes_node_label_gpuyard_dev_pool": node["labels"]["gpuyard.dev/pool"],
        "__meta_kubernetes_pod_node_name": node["name"],
        "instance": node["name"],
        "namespace": "gpu-operator",
        "pod": f"nvidia-dcgm-exporter-{node['name']}",
        "container": "nvidia-dcgm-exporter",
        "service": "nvidia-dcgm-exporter",
    }


def _relabeling(given: Mapping[str, Any]) -> Value:
    """A relabeling with the names of Prometheus instead of those of the operator."""
    names = {"sourceLabels": "source_labels", "targetLabel": "target_label"}
    return {names.get(key, key): value for key, value in given.items()}


def alertmanager_config(routing: Mapping[str, Any], hook: str) -> Value:
    """What prometheus-operator makes of a global AlertmanagerConfig; a webhook's Secret is its path.

    Groups wait for a second instead of half a minute.
    """
    spec = routing["spec"]
    routes = [
        {
            "receiver": each["receiver"],
            "continue": each["continue"],
            "matchers": [f'{m["name"]}{m["matchType"]}"{m["value"]}"' for m in each["matchers"]],
        }
        for each in spec["route"]["routes"]
    ]
    receivers = [
        {
            "name": each["name"],
            "webhook_configs": [
                {"url": f"{hook}/{c['urlSecret']['name']}", "send_resolved": c["sendResolved"]}
                for c in each.get("webhookConfigs", ())
            ],
        }
        for each in spec["receivers"]
    ]
    route = {
        "receiver": spec["route"]["receiver"],
        "group_by": spec["route"]["groupBy"],
        "group_wait": "1s",
        "group_interval": "2s",
        "routes": routes,
    }
    return {"route": route, "receivers": receivers}


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def sooner(text: str, seconds: int = 8) -> str:
    """An expression for a test: each range of more than that many seconds is that long.

    Ranges of minutes and hours become eight seconds, over which a Prometheus that scrapes each second has
    eight samples. Everything else of a rule stays as it is.
    """

    def shorter(match: re.Match[str]) -> str:
        length = sum(int(n) * _UNITS[u] for n, u in re.findall(r"(\d+)([smhdw])", match[1]))
        resolution = "" if match[2] is None else ":1s"
        return f"[{min(length, seconds)}s{resolution}]"

    return re.sub(r"\[((?:\d+[smhdw])+)(:\w*)?\]", shorter, text)


def sooner_groups(groups: Sequence[Value]) -> list[Value]:
    """Groups with the durations of `sooner`; alerts are pending for a second."""
    result: list[Value] = []
    for group in groups:
        rules = [
            {**rule, "expr": sooner(rule["expr"])} | ({"for": "1s"} if "for" in rule else {})
            for rule in group["rules"]
        ]
        result.append({"name": group["name"], "rules": rules})
    return result


@contextmanager
def watching(
    folder: Path,
    monitors: Iterable[Value],
    groups: Sequence[Value],
    exporters: str,
    nodes: Iterable[Value],
    more: Sequence[Value] = (),
) -> Iterator[tuple[str, list[tuple[str, Value]]]]:
    """Prometheus and Alertmanager with the objects of a platform, and more scrape jobs.

    Yields the address of Prometheus, and the notifications with the Secret of each receiver.
    """
    objects = {each["metadata"]["name"]: each for each in monitors if each["kind"] != ROUTING}
    (routing,) = (each for each in monitors if each["kind"] == ROUTING)
    scrapes = [*scrape_configs(objects["gpuyard-dcgm-exporter"], exporters, nodes), *more]
    with ExitStack() as stack:
        hook, got = stack.enter_context(receiver())
        sent_to = stack.enter_context(alertmanager(folder, alertmanager_config(routing, hook)))
        run = prometheus(folder, scrapes, sooner_groups(groups), sent_to)
        yield stack.enter_context(run), got


# ── programs ──────────────────────────────────────────────────────────────────────────────────────
PORTS = range(10000, 20000)
"""Below those of simulated clusters, and those that Linux takes for outgoing connections."""


def free_port() -> int:
    """A port that no program listens on now; a random one, because two callers may look at the same time."""
    while not is_free(port := random.choice(PORTS)):  # noqa: S311  no secret
        pass
    return port


@contextmanager
def running(
    folder: Path,
    command: Sequence[object],
    address: str,
    ready: str = "/-/ready",
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[str]:
    """A program until the end of the block; yields its address when it is ready."""
    log = folder / f"{Path(str(command[0])).name}.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [str(c) for c in command],
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, **environment},
        )
    try:
        deadline = time.monotonic() + 120
        while not _answers(address + ready):
            if process.poll() is not None or time.monotonic() > deadline:
                raise TimeoutError(log.read_text(encoding="utf-8")[-3000:])
            time.sleep(0.05)
        yield address
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def _answers(address: str) -> bool:
    try:
        with LOCAL.open(address, timeout=5) as answer:
            return bool(answer.status == HTTPStatus.OK)
    except OSError:
        return False


@contextmanager
def prometheus(
    folder: Path, scrapes: Sequence[Value], groups: Sequence[Value], alertmanager: str = ""
) -> Iterator[str]:
    """A Prometheus that scrapes and evaluates each second; yields its address."""
    rules = folder / "rules.json"
    rules.write_text(json.dumps({"groups": list(groups)}), encoding="utf-8")
    every = {"scrape_interval": "1s", "scrape_timeout": "1s"}
    config: Value = {
        "global": {**every, "evaluation_interval": "1s"},
        "scrape_configs": [{**each, **every} for each in scrapes],
        "rule_files": [str(rules)],
    }
    if alertmanager:
        target = {"static_configs": [{"targets": [alertmanager.removeprefix("http://")]}]}
        config["alerting"] = {"alertmanagers": [target]}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    address = f"127.0.0.1:{free_port()}"
    command = [
        TOOLS / "prometheus",
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
    ]
    with running(folder, command, f"http://{address}") as url:
        yield url


@contextmanager
def alertmanager(folder: Path, config: Mapping[str, Any]) -> Iterator[str]:
    """An Alertmanager with this configuration."""
    file = folder / "alertmanager.yaml"
    file.write_text(yaml.safe_dump(dict(config)), encoding="utf-8")
    address = f"127.0.0.1:{free_port()}"
    command = [
        TOOLS / "alertmanager",
        f"--config.file={file}",
        f"--storage.path={folder / 'alerts'}",
        f"--web.listen-address={address}",
        "--cluster.listen-address=",
    ]
    with running(folder, command, f"http://{address}") as url:
        yield url


@contextmanager
def receiver() -> Iterator[tuple[str, list[tuple[str, Value]]]]:
    """A webhook receiver: its address, and the notifications that it got, by path."""
    got: list[tuple[str, Value]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            got.append((self.path.strip("/"), body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", got
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def serving_text(read: Callable[[], str]) -> Iterator[str]:
    """An exporter with this text; yields host and port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(read().encode())

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
