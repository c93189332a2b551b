"""Run the programs that open nodes and requeue gangs, where a pod of them runs, as the account of that pod.

They are those that are installed beside this. Each look is a process of its own: what a look begins
the next one must be able to end.
"""

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from gpuyard.names import JOB_NAME_LABEL
from gpuyard.simulate.api import Api, ApiError, ApiObject, Unreachable, merge_if_there
from gpuyard.simulate.validation.pods import EndedRun, mounted_file, status_of

AGAIN: Final = "gpuyard_gate.again"
PACKAGES: Final = ("gpuyard_gate", AGAIN, "gpuyard_requeue")
_LOOK_SECONDS: Final = 10.0
"""Between looks when nothing has changed."""
_SOON_SECONDS: Final = 3.0
"""For a while after a change and after a deed: what follows may change no node and no pod."""
_PAUSE_SECONDS: Final = 0.3
"""Many changes at once are one look."""


def is_gate(pod: Mapping[str, Any]) -> bool:
    """Whether a pod is one of the programs, and a kubelet has started it."""
    if (
        "deletionTimestamp" in pod["metadata"]
        or (pod.get("status") or {}).get("phase") != "Running"
    ):
        return False
    return _package(pod) is not None


def _package(pod: Mapping[str, Any]) -> str | None:
    words = [word for each in pod["spec"]["containers"] for word in each.get("command") or ()]
    return next((package for package in PACKAGES if package in words), None)


class FakeGate:
    """Looks after each change of a node or a pod, as long as a pod of a program runs."""

    def __init__(self, api: Api, say: Callable[[str], None]) -> None:
        self._api = api
        self._say = say
        self._pods: list[ApiObject] = []
        self._changed = threading.Event()

    def start(self) -> None:
        """Look until the process ends."""
        threading.Thread(target=self._run, daemon=True, name="gate").start()

    def wake(self, pods: Mapping[str, ApiObject] | None = None) -> None:
        """Something has changed; `pods`: all that are on nodes, where these may have."""
        if pods is not None:
            self._pods = [pod for pod in pods.values() if is_gate(pod)]
        if self._pods:
            self._changed.set()

    def _run(self) -> None:
        did = 0.0  # when there was something to do, or to see
        while True:
            lately = time.monotonic() - did < _LOOK_SECONDS
            idle = _SOON_SECONDS if lately else _LOOK_SECONDS
            if self._changed.wait(idle if self._pods else None):
                did = time.monotonic()
            self._changed.clear()
            for pod in self._pods:
                try:
                    if self.look(pod):
                        did = time.monotonic()
                except (ApiError, Unreachable) as problem:
                    self._say(f"gate: {problem}")
            threading.Event().wait(_PAUSE_SECONDS)

    def look(self, pod: ApiObject) -> bool:
        """One look, whether it did anything; what the program says goes into this log."""
        where, package = mounted_file(pod, "--settings"), _package(pod)
        if where is None or package is None:
            return False
        space, account = pod["metadata"]["namespace"], pod["spec"]["serviceAccountName"]
        home = f"/api/v1/namespaces/{space}"
        settings = self._api.get(f"{home}/configmaps/{where[0]}") or {}
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = self._api.call("POST", f"{home}/serviceaccounts/{account}/token", body)
        with tempfile.TemporaryDirectory() as folder:
            files = {
                "settings.json": (settings.get("data") or {}).get(where[1], ""),
                "token": token["status"]["token"],
                "ca.crt": self._api.certificate,
            }
            for name, text in files.items():
                Path(folder, name).write_text(text, encoding="utf-8")
            words = ("--once", "--server", self._api.server, "--account", folder, *_run(pod))
            done = subprocess.run(  # noqa: S603  our own program, no shell
                [sys.executable, "-m", package, *words, "--settings", f"{folder}/settings.json"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
        lines = (done.stdout + done.stderr).decode(errors="replace").splitlines()
        for line in lines:
            self._say(f"{package.removeprefix('gpuyard_')}: {line}")
        if package == AGAIN and done.returncode == 0:
            ended = status_of(pod, EndedRun(0, ""))
            path = f"/api/v1/namespaces/{space}/pods/{pod['metadata']['name']}/status"
            merge_if_there(self._api, path, {"status": ended})
        return bool(lines)


def _run(pod: ApiObject) -> tuple[str, ...]:
    """What the kubelet tells a pod of a Job: whose it is."""
    if _package(pod) != AGAIN:
        return ()
    return ("--run", str((pod["metadata"].get("labels") or {}).get(JOB_NAME_LABEL, "")))
