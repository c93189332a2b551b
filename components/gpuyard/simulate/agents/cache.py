"""Cache of the cluster's objects, kept up to date by watching: a small informer for three kinds."""

import threading
import time
from collections.abc import Callable
from typing import Final

from gpuyard.simulate.api import Api, ApiError, ApiObject, Unreachable

_PAUSE_SECONDS: Final = 0.5
_NOT_YET_SECONDS: Final = 2.0


class Watched:
    """The objects of one path by name, followed in a thread of its own."""

    def __init__(self, api: Api, path: str, changed: Callable[[str | None], None]) -> None:
        self._api = api
        self._path = path
        self._changed = changed
        self._objects: dict[str, ApiObject] = {}
        self._lock = threading.Lock()

    def start(self) -> None:
        """Follow until the process ends."""
        threading.Thread(target=self._follow, daemon=True, name=self._path).start()

    def all(self) -> dict[str, ApiObject]:
        """Every object now."""
        with self._lock:
            return dict(self._objects)

    def _follow(self) -> None:
        while True:
            try:
                self._list_and_watch()
                pause = 0.0
            except Unreachable:
                pause = _PAUSE_SECONDS
            except (
                ApiError
            ) as problem:  # 404: the kind is not there yet; 410: the version is too old
                pause = _NOT_YET_SECONDS if problem.status == 404 else _PAUSE_SECONDS  # noqa: PLR2004
            time.sleep(pause)

    def _list_and_watch(self) -> None:
        answer = self._api.call("GET", self._path)
        fresh = {item["metadata"]["name"]: item for item in answer["items"]}
        with self._lock:
            self._objects = fresh
        self._changed(None)
        for kind, item in self._api.watch(self._path, answer["metadata"]["resourceVersion"]):
            if kind == "ERROR":
                return
            if kind == "BOOKMARK":
                continue
            name = item["metadata"]["name"]
            with self._lock:
                if kind == "DELETED":
                    self._objects.pop(name, None)
                else:
                    self._objects[name] = item
            self._changed(name)
