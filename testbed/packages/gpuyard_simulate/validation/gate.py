"""Runs the gate and requeue agents where their pods run, with the service account of those pods.

It runs the installed version of the agents as of their pod's start: an edit takes effect with the next pod.
Each iteration is a process of its own, because the next one must be able to finish it. As in the image, it has
only the pod's files and Python; modules are imported once per pod.
"""

import re
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import gpuyard_core
from gpuyard_core.names import JOB_NAME_LABEL
from gpuyard_simulate.api import Api, ApiError, ApiObject, Unreachable, merge_if_exists
from gpuyard_simulate.validation.copies import WarmProcesses
from gpuyard_simulate.validation.forking import PROGRAM
from gpuyard_simulate.validation.pods import ProgramResult, mounted_file, status_of

AGAIN: Final = "gpuyard_agents.gate.recurring"
PACKAGES: Final = ("gpuyard_agents.gate", AGAIN, "gpuyard_agents.requeue")
INSTALLED: Final = Path(gpuyard_core.__file__).parents[1]
_OURS: Final = re.compile(r"gpuyard_agents(/[a-z_]+)+\.py")
"""Files that come from the installation; content of the cluster is never executed."""
_SETTINGS: Final = "settings.json"
_ALONE: Final = ("-S", "-B")
"""Python without installed packages, and without writing bytecode files."""
_LOOK_SECONDS: Final = 10.0
"""Interval while nothing has changed."""
_SOON_SECONDS: Final = 3.0
"""Interval for a while after a change: its effects may change no node and no pod."""
_PAUSE_SECONDS: Final = 0.3
"""Many changes at once cause one iteration."""


def is_gate(pod: Mapping[str, Any]) -> bool:
    """Whether a pod is one of the agents, and a kubelet has started it."""
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
    """Iterates after each change of a node or a pod, as long as a pod of an agent runs."""

    def __init__(self, api: Api, say: Callable[[str], None]) -> None:
        self._api = api
        self._say = say
        self._pods: list[ApiObject] = []
        self._mounted: dict[str, WarmProcesses] = {}
        """By the uid of a pod: its program, as of its container's start."""
        self._gone: set[str] = set()
        """Uids of deleted pods; only the iterating thread may end their programs."""
        self._changed = threading.Event()

    def start(self) -> None:
        """Iterate until the process ends."""
        threading.Thread(target=self._run, daemon=True, name="gate").start()

    def wake(self, pods: Mapping[str, ApiObject] | None = None) -> None:
        """Wake the loop; `pods`: all pods on nodes, if they may have changed."""
        if pods is not None:
            self._pods = [pod for pod in pods.values() if is_gate(pod)]
            known_uids = {pod["metadata"]["uid"] for pod in self._pods}
            self._gone |= set(self._mounted) - known_uids
        if self._pods or self._gone:
            self._changed.set()

    def _run(self) -> None:
        did = 0.0  # time of the last iteration with work or changes
        while True:
            lately = time.monotonic() - did < _LOOK_SECONDS
            idle = _SOON_SECONDS if lately else _LOOK_SECONDS
            if self._changed.wait(idle if self._pods else None):
                did = time.monotonic()
            self._changed.clear()
            self._forget()
            for pod in self._pods:
                try:
                    if self.look(pod):
                        did = time.monotonic()
                except (ApiError, Unreachable) as problem:
                    self._say(f"gate: {problem}")
            threading.Event().wait(_PAUSE_SECONDS)

    def look(self, pod: ApiObject) -> bool:
        """One iteration; returns whether it changed anything; the program's output goes into this log."""
        self._forget()
        program, package = self._mount(pod), _package(pod)
        if program is None or package is None:
            return False
        space, account = pod["metadata"]["namespace"], pod["spec"]["serviceAccountName"]
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        path = f"/api/v1/namespaces/{space}/serviceaccounts/{account}/token"
        token = self._api.call("POST", path, body)
        files = {"token": token["status"]["token"], "ca.crt": self._api.certificate}
        where = ("--server", self._api.server, "--account", "..", "--settings", f"../{_SETTINGS}")
        done = program.run(("--once", *where, *_run(pod)), files)
        lines = done.output.splitlines()
        for line in lines:
            self._say(f"{package.removeprefix('gpuyard_agents.')}: {line}")
        if package == AGAIN and done.code == 0:
            ended = status_of(pod, ProgramResult(0, ""))
            path = f"/api/v1/namespaces/{space}/pods/{pod['metadata']['name']}/status"
            merge_if_exists(self._api, path, {"status": ended})
        return bool(lines)

    def _mount(self, pod: ApiObject) -> WarmProcesses | None:
        """The program that a pod's container has started; None before it can start."""
        uid, package = pod["metadata"]["uid"], _package(pod)
        if uid not in self._mounted and package and (files := self._files(pod)) is not None:
            self._mounted[uid] = WarmProcesses(package, _ALONE, files)
        return self._mounted.get(uid)

    def _forget(self) -> None:
        while self._gone:
            if (program := self._mounted.pop(self._gone.pop(), None)) is not None:
                program.end()

    def _files(self, pod: ApiObject) -> Mapping[str, str] | None:
        """Files that a pod's container reads at start, by path; None before it can start."""
        where = mounted_file(pod, "--settings")
        home = f"/api/v1/namespaces/{pod['metadata']['namespace']}/configmaps"
        config_map = self._api.get(f"{home}/{where[0]}") if where else None
        if where is None or config_map is None:
            return None
        results = {f"{PROGRAM}/{path}": text for path, text in _installed(pod).items()}
        return results | {_SETTINGS: (config_map.get("data") or {}).get(where[1], "")}


def _installed(pod: Mapping[str, Any]) -> dict[str, str]:
    """The program files of a pod, by path, with their installed content."""
    volumes = [each.get("configMap") or {} for each in pod["spec"].get("volumes") or ()]
    paths = [item["path"] for each in volumes for item in each.get("items") or ()]
    ours = [path for path in paths if _OURS.fullmatch(path) and (INSTALLED / path).is_file()]
    return {path: (INSTALLED / path).read_text(encoding="utf-8") for path in ours}


def _run(pod: ApiObject) -> tuple[str, ...]:
    """Arguments from the environment of a pod of a Job, which the kubelet sets."""
    if _package(pod) != AGAIN:
        return ()
    return ("--run", str((pod["metadata"].get("labels") or {}).get(JOB_NAME_LABEL, "")))
