"""Restarts Kueue when its configuration has changed, as a chart's checksum rolls its pods.

One manager runs here, where a cluster has two: while it starts, no webhook answers, and a deployment that
creates queues at that time would fail. So it waits until no queue has changed for a while; on a real cluster
the old pods answer until the new ones do.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

from gpuyard_core.errors import EnvironmentMissing
from gpuyard_core.names import KUEUE_API, KUEUE_CONFIGMAP, KUEUE_NAMESPACE
from gpuyard_simulate.agents.cache import Watched
from gpuyard_simulate.api import Api, ApiError, Unreachable

QUIET_SECONDS: Final = 5.0
LOOK_SECONDS: Final = 1.0
_MAPS: Final = f"/api/v1/namespaces/{KUEUE_NAMESPACE}/configmaps"
_QUEUES: Final = tuple(
    f"/apis/{KUEUE_API}/{plural}"
    for plural in ("resourceflavors", "cohorts", "clusterqueues", "localqueues")
)
_Picture = frozenset[tuple[str, int]]


class KueueRestart:
    """Watches the configuration in its own thread; `renew` restarts Kueue when it differs."""

    def __init__(self, api: Api, renew: Callable[[], bool], say: Callable[[str], None]) -> None:
        self._api = api
        self._renew = renew
        self._say = say
        self._changed = threading.Event()
        self._maps = Watched(api, _MAPS, self._notice)

    def start(self) -> None:
        """Work until the process ends."""
        self._maps.start()
        threading.Thread(target=self._run, daemon=True, name="kueue").start()

    def _notice(self, name: str | None) -> None:
        if name in {None, KUEUE_CONFIGMAP}:
            self._changed.set()

    def _run(self) -> None:
        while True:
            self._changed.wait()
            self._changed.clear()
            self.once()

    def once(self) -> None:
        """Renew once queues no longer change; a failure is retried."""
        try:
            self._wait_until_quiet()
            if self._renew():
                self._say("kueue: the configuration changed; restarted")
        except (ApiError, EnvironmentMissing, OSError, Unreachable) as problem:
            self._say(f"kueue: again in {QUIET_SECONDS:.0f} s: {problem}")
            time.sleep(QUIET_SECONDS)
            self._changed.set()

    def _wait_until_quiet(self) -> None:
        """Wait until no queue has been created, deleted or changed for QUIET_SECONDS."""
        picture, since = self._picture(), time.monotonic()
        while time.monotonic() - since < QUIET_SECONDS:
            time.sleep(LOOK_SECONDS)
            if (now := self._picture()) != picture:
                picture, since = now, time.monotonic()

    def _picture(self) -> _Picture:
        """The uid and generation of each queue; status updates do not change them."""
        results = [item for path in _QUEUES for item in self._api.call("GET", path)["items"]]
        return frozenset(
            (item["metadata"]["uid"], item["metadata"].get("generation", 0)) for item in results
        )
