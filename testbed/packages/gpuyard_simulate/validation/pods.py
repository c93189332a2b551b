"""Runs the validator of pods on fake nodes, and writes its result, as a kubelet does.

It runs the installed program, no text of the cluster; of a pod's arguments only those that skip checks are
used. Each run is a process of its own.
"""

import contextlib
import itertools
import queue
import re
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gpuyard_simulate.api import Api, ApiError, ApiObject, Unreachable, merge_if_exists
from gpuyard_simulate.validation.copies import WarmProcesses
from gpuyard_simulate.validation.machine import machine_text
from gpuyard_simulate.validation.shares import PACKAGE as SHARES
from gpuyard_simulate.validation.shares import FakeShares, is_share, observation_text
from gpuyard_simulate.validation.volumes import PACKAGE as VOLUMES
from gpuyard_simulate.validation.volumes import is_reading, read_text

PACKAGE: Final = "gpuyard_validator"
PROGRAMS: Final = (PACKAGE, SHARES, VOLUMES)
MESSAGE_BYTES: Final = 4096
"""Maximum size of a termination message that the kubelet keeps."""
_LOG_BYTES: Final = 2048
"""Size in bytes of the log's end, for a pod without a termination message."""
_CHECK: Final = re.compile(r"[a-z_.]+")
_TAKES_SECONDS: Final = 4.0
"""Validating a real node takes seconds at least: objects deployed in parallel exist when it ends."""
_AGAIN_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 0.5
_BACKOFF_SECONDS: Final = 10.0
"""Initial restart delay of a kubelet; it grows with each restart."""
_ENDS: Final = ("Ready", "ContainersReady")


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """How a validator ended."""

    code: int
    message: str


def is_running_validator(pod: Mapping[str, Any]) -> bool:
    """Whether a pod runs the validator, and a kubelet has started it."""
    if (
        "deletionTimestamp" in pod["metadata"]
        or (pod.get("status") or {}).get("phase") != "Running"
    ):
        return False
    commands = [each.get("command") or () for each in pod["spec"]["containers"]]
    return any(program in command for program in PROGRAMS for command in commands)


class FakeValidator:
    """The validators of all fake nodes, one after the other, in one thread."""

    def __init__(
        self,
        api: Api,
        node: Callable[[str], ApiObject | None],
        say: Callable[[str], None],
    ) -> None:
        self._api = api
        self._node = node
        self._say = say
        self._programs = {each: WarmProcesses(each) for each in PROGRAMS}
        self._work: queue.Queue[tuple[float, ApiObject]] = queue.Queue()
        self._under_way: list[tuple[float, ApiObject]] = []
        """Pods that are being validated, and until when."""
        self._begun: set[str] = set()
        self._passed: list[tuple[ApiObject, ProgramResult]] = []
        self._shares = FakeShares(api)
        self._ended: list[tuple[float, ApiObject]] = []
        """Pods to be restarted, and when."""

    def start(self) -> None:
        """Run validators until the process ends."""
        threading.Thread(target=self._run, daemon=True, name="validator").start()

    def take(self, pod: ApiObject) -> None:
        """Queue a changed pod; one that is already running is not started again."""
        if is_running_validator(pod) and (uid := pod["metadata"]["uid"]) not in self._begun:
            self._begun.add(uid)
            self._work.put((time.monotonic() + _TAKES_SECONDS, pod))

    def _run(self) -> None:
        while True:
            pod = self._next()
            waiting = list(self._passed)
            try:
                if pod is not None:
                    self.check(pod)
                self.look_again()
                self.look_at_shares(time.monotonic())
                self.start_again(time.monotonic())
            except (ApiError, Unreachable) as problem:
                self._say(f"validator: again in {_AGAIN_SECONDS:.0f} s: {problem}")
                self._passed = waiting
                time.sleep(_AGAIN_SECONDS)
                if pod is not None:
                    self._work.put((0.0, pod))

    def _next(self) -> ApiObject | None:
        """The next pod whose validation time is over; None if waiting pods must be checked first."""
        waits = self._passed or self._ended or self._under_way or self._shares
        over = any(when <= time.monotonic() for when, _ in self._under_way)
        pause = _LOOK_SECONDS if waits else None
        with contextlib.suppress(queue.Empty):
            self._under_way.append(self._work.get(block=not over, timeout=pause))
        now = time.monotonic()
        result = next((each for each in self._under_way if each[0] <= now), None)
        if result is None:
            return None
        self._under_way.remove(result)
        return result[1]

    def check(self, pod: ApiObject) -> None:
        """Validate one pod; if it passes, it waits for the others, as the program does."""
        node_object = self._node(pod["spec"]["nodeName"])
        if node_object is None:
            return
        expectations = self._expected(pod)
        if is_share(pod):
            self._shares.start(pod, expectations, time.monotonic())
            return
        reads = is_reading(pod)
        seen = (
            read_text(self._api, node_object, pod, expectations)
            if reads
            else machine_text(node_object, expectations)
        )
        ended = self._ran(pod, expectations, seen)
        if ended.code == 0 and job_of(pod):
            self._passed.append((pod, ended))
        else:
            self._end(pod, ended)

    def look_again(self) -> None:
        """End passed pods once all others of their Job run or have passed; deleted ones are dropped."""
        waiting, self._passed = self._passed, []
        for pod, ended in waiting:
            space = pod["metadata"]["namespace"]
            now = self._api.get(_path(pod))
            if now is None or not is_running_validator(now) or _uid(now) != _uid(pod):
                continue
            job = self._api.get(f"/apis/batch/v1/namespaces/{space}/jobs/{job_of(pod)}")
            if job is not None and all_pods_running(job):
                self._end(pod, ended)
            else:
                self._passed.append((pod, ended))

    def look_at_shares(self, now: float) -> None:
        """End pods of shares that have observed the others long enough; deleted ones are dropped."""
        for share in self._shares.look(now):
            current = self._api.get(_path(share.pod))
            node = self._node(share.pod["spec"]["nodeName"])
            if (
                node
                and current
                and is_running_validator(current)
                and _uid(current) == _uid(share.pod)
            ):
                self._end(
                    share.pod, self._ran(share.pod, share.expected, observation_text(node, share))
                )
            self._shares.forget(share)

    def start_again(self, now: float) -> None:
        """Restart ended pods as a kubelet does, as long as they exist."""
        due = [pod for when, pod in self._ended if when <= now]
        self._ended = [(when, pod) for when, pod in self._ended if when > now]
        for pod in due:
            current = self._api.get(_path(pod))
            if current is not None and is_running_validator(current) and _uid(current) == _uid(pod):
                self._work.put((now + _TAKES_SECONDS, current))

    def _end(self, pod: ApiObject, ended: ProgramResult) -> None:
        space, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        merge_if_exists(self._api, f"{_path(pod)}/status", {"status": status_of(pod, ended)})
        if is_restart_policy_always(pod):
            self._ended.append((time.monotonic() + _BACKOFF_SECONDS, pod))
        self._say(f"validator: {space}/{name} on {pod['spec']['nodeName']} ended with {ended.code}")

    def _ran(self, pod: ApiObject, expectations: str, machine: str) -> ProgramResult:
        program = SHARES if is_share(pod) else VOLUMES if is_reading(pod) else PACKAGE
        return run(self._programs[program], pod, expectations, machine)

    def _expected(self, pod: ApiObject) -> str:
        """The expectations that the pod has mounted; "" if there are none."""
        where = mounted_file(pod, "--expect")
        if where is None:
            return ""
        space = pod["metadata"]["namespace"]
        result = self._api.get(f"/api/v1/namespaces/{space}/configmaps/{where[0]}") or {}
        return str((result.get("data") or {}).get(where[1], ""))


def job_of(pod: Mapping[str, Any]) -> str:
    """The Job for whose other pods a passed pod waits; "" if it waits for none."""
    words = [str(each) for each in _container(pod).get("args") or ()]
    return words[words.index("--together") + 1] if "--together" in words[:-1] else ""


def all_pods_running(job: Mapping[str, Any]) -> bool:
    """Whether as many pods of the Job as required run or have passed."""
    status = job.get("status") or {}
    ready_pods = (status.get("ready") or 0) + (status.get("succeeded") or 0)
    return bool(ready_pods >= job["spec"]["completions"])


def is_restart_policy_always(pod: Mapping[str, Any]) -> bool:
    """Whether its kubelet restarts it after its end; for pods of DaemonSets always."""
    return bool(pod["spec"].get("restartPolicy", "Always") == "Always")


def mounted_file(pod: Mapping[str, Any], option: str) -> tuple[str, str] | None:
    """ConfigMap and key of the file that an option of the program names."""
    container = _container(pod)
    words = [str(each) for each in container.get("args") or ()]
    if option not in words[:-1]:
        return None
    folder, _, file = words[words.index(option) + 1].rpartition("/")
    mounts = {m["mountPath"].rstrip("/"): m["name"] for m in container.get("volumeMounts") or ()}
    volumes = {v["name"]: v.get("configMap") or {} for v in pod["spec"].get("volumes") or ()}
    name = volumes.get(mounts.get(folder, ""), {}).get("name")
    return (name, file) if name else None


def run(
    program: WarmProcesses, pod: Mapping[str, Any], expectations: str, machine: str
) -> ProgramResult:
    """Run the program in its own process, with a recorded machine or a recorded observation as input."""
    option = "--snapshot" if program.package == PACKAGE else "--seen"
    with tempfile.TemporaryDirectory() as folder:
        at = {name: Path(folder, name) for name in ("expected", "machine", "last-words")}
        at["expected"].write_text(expectations, encoding="utf-8")
        at["machine"].write_text(machine, encoding="utf-8")
        files = ("--expect", at["expected"], option, at["machine"])
        words = (*files, "--termination-log", at["last-words"], *_excluded(pod, program.package))
        done = program.run([str(word) for word in words])
        message = at["last-words"].read_bytes() if at["last-words"].exists() else b""
        fallback = _container(pod).get("terminationMessagePolicy") == "FallbackToLogsOnError"
        if not message and fallback and done.code:
            message = done.output.encode()[-_LOG_BYTES:]
    return ProgramResult(done.code, message[:MESSAGE_BYTES].decode(errors="ignore"))


def status_of(pod: Mapping[str, Any], ended: ProgramResult) -> dict[str, Any]:
    """The status that a kubelet writes when the pod's only container has ended and is not restarted."""
    good, now = ended.code == 0, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    status = pod.get("status") or {}
    reason = "PodCompleted" if good else "PodFailed"
    other_conditions = [c for c in status.get("conditions") or () if c["type"] not in _ENDS]
    ended_conditions = [
        {"type": each, "status": "False", "reason": reason, "lastTransitionTime": now}
        for each in _ENDS
    ]
    terminated = {
        "exitCode": ended.code,
        "reason": "Completed" if good else "Error",
        "message": ended.message,
        "startedAt": status.get("startTime", now),
        "finishedAt": now,
    }
    container = _container(pod)
    again = is_restart_policy_always(pod)
    waiting = {"reason": "CrashLoopBackOff", "message": "back-off restarting failed container"}
    state: dict[str, Any] = {"state": {"terminated": terminated}}
    if again:
        state = {"state": {"waiting": waiting}, "lastState": state["state"]}
    return {
        "phase": "Running" if again else "Succeeded" if good else "Failed",
        "conditions": [*other_conditions, *ended_conditions],
        "containerStatuses": [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": "",
                "ready": False,
                "started": False,
                "restartCount": int(again),
                **state,
            }
        ],
    }


def _path(pod: Mapping[str, Any]) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def _uid(pod: Mapping[str, Any]) -> str:
    return str(pod["metadata"]["uid"])


def _excluded(pod: Mapping[str, Any], package: str) -> list[str]:
    if package != PACKAGE:
        return []
    words = [str(each) for each in _container(pod).get("args") or ()]
    pairs = itertools.pairwise(words)
    check_names = [name for word, name in pairs if word == "--leave-out" and _CHECK.fullmatch(name)]
    return [word for name in check_names for word in ("--leave-out", name)]


def _container(pod: Mapping[str, Any]) -> Mapping[str, Any]:
    result: Mapping[str, Any] = pod["spec"]["containers"][0]
    return result
