"""The objects of a cluster that the fake exporters read, from its API server."""

import time
from collections.abc import Callable

from gpuyard_simulate.api import Api, ApiObject
from gpuyard_simulate.metrics.dcgm import default_counters
from gpuyard_simulate.metrics.server import Objects

_PATHS = {
    "nodes": "/api/v1/nodes",
    "pods": "/api/v1/pods",
    "claims": "/apis/resource.k8s.io/v1/resourceclaims",
    "namespaces": "/api/v1/namespaces",
}
_KEPT_SECONDS = 1.0


def reader(
    api: Api,
    counters: tuple[str, str, str] | None = None,
    now: Callable[[], float] = time.monotonic,
) -> Callable[[], Objects]:
    """Read the cluster at most once a second: a Prometheus scrapes all nodes at about the same time.

    `counters` is the namespace, name and key of the ConfigMap with the list of counters; the exporter has its
    default list without one.
    """
    kept: list[tuple[float, Objects]] = []

    def read() -> Objects:
        if not kept or now() - kept[-1][0] > _KEPT_SECONDS:
            found = {key: _items(api, path) for key, path in _PATHS.items()}
            kept[:] = [(now(), Objects(**found, counters=_counters(api, counters)))]
        return kept[-1][1]

    return read


def _items(api: Api, path: str) -> list[ApiObject]:
    return list((api.get(path) or {}).get("items") or ())


def _counters(api: Api, source: tuple[str, str, str] | None) -> str:
    """The list of counters; an exporter whose ConfigMap does not exist does not start."""
    if source is None:
        return default_counters()
    namespace, name, key = source
    found = api.get(f"/api/v1/namespaces/{namespace}/configmaps/{name}") or {}
    return str((found.get("data") or {}).get(key, ""))
