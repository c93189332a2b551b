"""One process that serves the metrics of all fake nodes over HTTP.

GET /nodes/NODE/metrics is the DCGM exporter of a node; GET /kube-state-metrics/metrics that of the cluster.
PUT /load sets the load, as JSON; it answers 400 for an invalid one..
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from gpuyard_simulate.metrics import dcgm, kube_state
from gpuyard_simulate.metrics.devices import Allocations, Held
from gpuyard_simulate.metrics.load import Load, read_load

Value = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of the cluster that the exporters read."""

    nodes: Sequence[Value] = ()
    pods: Sequence[Value] = ()
    claims: Sequence[Value] = ()
    namespaces: Sequence[Value] = ()
    counters: str = ""
    """The list of counters, as its ConfigMap has it."""


@dataclass(slots=True)
class Exporters:
    """The exporters of one cluster."""

    read: Callable[[], Objects]
    now: Callable[[], float] = time.monotonic
    load: Load = field(default_factory=Load)
    _allocations: Allocations = field(default_factory=Allocations)
    _began: dict[str, tuple[int, float]] = field(default_factory=dict)
    _before: dict[str, list[Held]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def node(self, name: str) -> str | None:
        """The metrics of a node; None if its exporter does not answer."""
        objects = self.read()
        found = [node for node in objects.nodes if node["metadata"]["name"] == name]
        if not found or name in self.load.gone:
            return None
        with self._lock:
            held = self._allocations.update(found[0], objects.pods, objects.claims)
            served = [*held, *self._lingering(name, held)]
            seconds = self._seconds(name)
        moment = dcgm.Moment(found[0], served, self.load, seconds)
        return dcgm.text_of(moment, dcgm.read_counters(objects.counters))

    def kube_state(self) -> str:
        """The metrics of kube-state-metrics."""
        objects = self.read()
        return kube_state.text_of(objects.nodes, objects.pods, objects.namespaces)

    def _lingering(self, node: str, held: list[Held]) -> list[Held]:
        """What ended since the last scrape of the node."""
        before, self._before[node] = self._before.get(node, []), held
        return [each for each in before if each not in held] if self.load.lingers else []

    def _seconds(self, node: str) -> float:
        """Seconds since the last reset of the node's counters."""
        resets, now = self.load.resets.get(node, 0), self.now()
        counted, began = self._began.get(node, (resets, now - 1))
        if counted != resets:
            began = now - 1
        self._began[node] = (resets, began)
        return now - began


@contextmanager
def serving(exporters: Exporters, port: int = 0) -> Iterator[str]:
    """Serve until the block ends; yields host and port."""
    server = ThreadingHTTPServer(("127.0.0.1", port), _handler(exporters))
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
    )
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(exporters: Exporters) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            match self.path.strip("/").split("/"):
                case ["nodes", name, "metrics"]:
                    text = exporters.node(name)
                case ["kube-state-metrics", "metrics"]:
                    text = exporters.kube_state()
                case _:
                    text = None
            status = HTTPStatus.NOT_FOUND if text is None else HTTPStatus.OK
            self._answer(status, text or "")

        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            try:
                exporters.load = read_load(json.loads(body))
            except (TypeError, ValueError) as problem:
                self._answer(HTTPStatus.BAD_REQUEST, f"{problem}\n")
                return
            self._answer(HTTPStatus.OK, "")

        def _answer(self, status: HTTPStatus, text: str) -> None:
            content = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
            """Log nothing."""

    return Handler
