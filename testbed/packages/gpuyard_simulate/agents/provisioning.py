"""Watches ProvisioningRequests, and writes the fake autoscaler's answers."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from gpuyard_simulate.agents.cache import Watched
from gpuyard_simulate.api import Api, ApiError, ApiObject, Unreachable, merge_if_exists

_REQUESTS: Final = "/apis/autoscaling.x-k8s.io/v1/provisioningrequests"
_AGAIN_SECONDS: Final = 2.0
"""Interval of retries for waiting requests: no event announces that pods end."""


class FakeAutoscaler:
    """The fake autoscaler in its own thread: a request never waits for a node."""

    def __init__(self, api: Api, say: Callable[[str], None]) -> None:
        self._api = api
        self._say = say
        self._changed = threading.Event()
        self._requests = Watched(api, _REQUESTS, lambda _: self._changed.set())

    def start(self) -> None:
        """Answer until the process ends."""
        self._requests.start()
        threading.Thread(target=self._run, daemon=True, name="autoscaler").start()

    def _run(self) -> None:
        while True:
            self._changed.wait(_AGAIN_SECONDS if self._requests.all() else None)
            self._changed.clear()
            try:
                self.answer()
            except (ApiError, Unreachable) as problem:
                self._say(f"autoscaler: again in {_AGAIN_SECONDS:.0f} s: {problem}")

    def answer(self) -> None:
        """Evaluate every request once."""
        requests = self._list(_REQUESTS)
        if not requests:
            return
        # imported with the first request: most platforms have none, and it doubles the process
        from gpuyard_simulate.agents import autoscaler

        templates = {
            (t["metadata"]["namespace"], t["metadata"]["name"]): t
            for t in self._list("/api/v1/podtemplates")
        }
        nodes, pods = self._list("/api/v1/nodes"), self._list("/api/v1/pods")
        world = autoscaler.ClusterView(nodes, pods, templates, requests)
        for verdict in autoscaler.verdicts(world, datetime.now(UTC)):
            self._write(verdict.request, list(verdict.conditions))

    def _list(self, path: str) -> list[ApiObject]:
        return list(self._api.call("GET", path)["items"])

    def _write(self, request: ApiObject, conditions: list[ApiObject]) -> None:
        space, name = request["metadata"]["namespace"], request["metadata"]["name"]
        root, _, plural = _REQUESTS.rpartition("/")
        path = f"{root}/namespaces/{space}/{plural}/{name}/status"
        merge_if_exists(self._api, path, {"status": {"conditions": conditions}})
        last = conditions[-1]
        self._say(f"autoscaler: {space}/{name}: {last['type']}={last['status']}: {last['message']}")
