"""A scene of the demo: a service scales from zero, training gives way, and gets its GPUs back.

For the scene the platform is deployed with the service, and afterwards without it again. A real KEDA and a real
Prometheus scale it by the requests that a fake gateway reports.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gpuyard_simulate.api import Api
from testbed import controllers, monitoring
from testbed.yard.engine import Engine, deployed_with

TEAM, POOL, NAME = "vision", "train", "chat"
KEDA = "keda"
REQUESTS = "envoy_cluster_upstream_rq_active"
SERVICE = {
    "name": NAME,
    "team": TEAM,
    "shape": NAME,
    "replicas": "0..1",
    "image": "registry.example.org/ml/chat:demo",
    "scale_on": "requests",
    "query": f'sum({REQUESTS}{{envoy_cluster_name="{NAME}"}})',
    "scale_down_seconds": 5,
    "cooldown_seconds": 5,
}
CHANGE = {
    "shapes": [{"name": NAME, "pool": POOL, "gpus_per_node": 8}],
    "workloads": {"services": [SERVICE]},
    "addons": [KEDA],
    "observability": {},
}
"""Fields of the stack file."""


def missing_tools() -> str:
    """The families of tools that the scene needs and that are not built."""
    return controllers.missing([KEDA])


@dataclass(slots=True)
class Served:
    """The service and its load."""

    api: Api
    requests: int = 0

    def replicas(self) -> int:
        """The number of its replicas when all are ready, otherwise -1."""
        found = self.api.call("GET", f"/apis/apps/v1/namespaces/{TEAM}/deployments/{NAME}")
        ready = int(found["status"].get("readyReplicas", 0))
        return ready if found["spec"]["replicas"] == ready else -1

    def metrics(self) -> str:
        """What the gateway reports."""
        series = f'{REQUESTS}{{envoy_cluster_name="{NAME}"}}'
        return f"# TYPE {REQUESTS} gauge\n{series} {self.requests}\n"


@contextmanager
def served(
    api: Api, kubeconfig: Path, pulumi: Engine, say: Callable[[str], None]
) -> Iterator[Served]:
    """The platform with a service whose windows are short, until the end of the block."""
    found = Served(api)
    with (
        tempfile.TemporaryDirectory() as name,
        monitoring.serving_text(found.metrics) as gateway,
        monitoring.prometheus(Path(name), [_scraped(gateway)], []) as prometheus,
        controllers.controllers(kubeconfig, Path(name), KEDA, prometheus=prometheus),
    ):
        say("  pulumi up with a service in the stack file; KEDA and Prometheus run")
        with deployed_with(pulumi, CHANGE):
            yield found
            say("  pulumi up, without it")


def _scraped(gateway: str) -> dict[str, object]:
    return {"job_name": "gateway", "static_configs": [{"targets": [gateway]}]}
