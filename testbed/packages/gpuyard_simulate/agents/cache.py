"""Cache of the cluster's objects, kept up to date by watching: a small informer for three kinds."""

import threading
import time
from collections.abc import Callable
from typing import Final

from gpuyard_simulate.api import Api, ApiError, ApiObject, Unreachable

_PAUSE_SECONDS: Final = 0.5
_NOT_YET_SECONDS: Final = 2.0


class Watched:
    """The objects of one path by name, watched in its own thread."""

    def __init__(
        self, api: Api, path: str, changed: Callable[[str | None], None], where: str = ""
    ) -> None:
        self._api = api
        self._path = path
        self._where = where
        self._changed = changed
        self._objects: dict[str, ApiObject] = {}
        self._lock = threading.Lock()

    def start(self) -> None:
        """Watch until the process ends."""
        threading.Thread(target=self._follow, daemon=True, name=self._path).start()

    def all(self) -> dict[str, ApiObject]:
        """All current objects."""
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
            ) as problem:  # 404: the kind does not exist yet; 410: the version is too old
                pause = _NOT_YET_SECONDS if problem.status == 404 else _PAUSE_SECONDS  # noqa: PLR2004
            time.sleep(pause)

    def _list_and_watch(self) -> None:
        query = f"?fieldSelector={self._where}" if self._where else ""
        answer = self._api.call("GET", self._path + query)
        fresh = {_name(item): item for item in answer["items"]}
        with self._lock:
            self._objects = fresh
        self._changed(None)
        version = answer["metadata"]["resourceVersion"]
        for kind, item in self._api.watch(self._path, version, self._where):
            if kind == "ERROR":
                return
            if kind == "BOOKMARK":
                continue
            name = _name(item)
            with self._lock:
                if kind == "DELETED":
                    self._objects.pop(name, None)
                else:
                    self._objects[name] = item
            self._changed(name)


def _name(item: ApiObject) -> str:
    """A pod's with its namespace before it; of ConfigMaps only one namespace's are followed."""
    metadata = item["metadata"]
    pod = "nodeName" in item.get("spec", {})
    return f"{metadata['namespace']}/{metadata['name']}" if pod else str(metadata["name"])
