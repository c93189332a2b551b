"""Jobs of a trace through a real Kueue and kube-scheduler on fake nodes, beside the replay of the same jobs."""

import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from gpuyard_advisor.replay import SubmittedJob, Timing
from gpuyard_core.manifests.quantities import CPU
from gpuyard_simulate.api import Api, ApiError, Unreachable
from kit.cluster.lab import KUEUE, Value, condition, create, namespaces_of
from kit.cluster.queues import QueueLab, job

CLIENTS = 4
WAITS_FOR_NODE = 5.0
"""Seconds from admission to running pods from which on a job has waited for a node. An instance takes ten to boot."""
PRIORITIES = {"normal": 10, "high": 100}
_NAMES = {value: name for name, value in PRIORITIES.items()}


class Watch(threading.Thread):
    """Passes every object of a path to `note`, and again after every change, until it is stopped."""

    def __init__(self, api: Api, path: str, note: Callable[[str, Value], None]) -> None:
        super().__init__(daemon=True)
        self.api = api
        self.path = path
        self.note = note
        self.stopped = False

    def run(self) -> None:
        """List and watch again whenever the server ends the stream."""
        version = ""
        while not self.stopped:
            try:
                if not version:
                    result = self.api.call("GET", self.path)
                    version = result["metadata"]["resourceVersion"]
                    for one in result["items"]:
                        self.note("ADDED", one)
                for kind, one in self.api.watch(self.path, version):
                    if kind == "ERROR":
                        version = ""
                        break
                    version = one["metadata"]["resourceVersion"]
                    if kind != "BOOKMARK":
                        self.note(kind, one)
                    if self.stopped:
                        return
            except (ApiError, Unreachable):
                version = ""
                time.sleep(0.2)


@dataclass(slots=True)
class Seen:
    """Decisions of Kueue and kube-scheduler, in seconds since the start by this process's clock."""

    began: float
    namespaces: frozenset[str]
    pods_of: dict[str, int]
    """Number of pods of each job."""
    order: list[str] = field(default_factory=list[str])
    """Jobs in the order in which they first had quota."""
    admitted: dict[str, float] = field(default_factory=dict[str, float])
    """Time of the first admission of each job."""
    reserved: dict[str, float] = field(default_factory=dict[str, float])
    """Time of the last admission of each job."""
    started: dict[str, float] = field(default_factory=dict[str, float])
    """Time at which all pods of each job first ran."""
    running: dict[str, float] = field(default_factory=dict[str, float])
    """Time of the last start of all pods of each job."""
    finished: dict[str, float] = field(default_factory=dict[str, float])
    evictions: list[float] = field(default_factory=list[float])
    """Seconds from each eviction to free quota."""
    _leaving: dict[str, float] = field(default_factory=dict[str, float])
    _holding: set[str] = field(default_factory=set[str])
    _ran: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """By job: its pods that run or ended, without deleted ones."""

    def note_workload(self, _: str, workload: Value) -> None:
        """Record one change of a workload."""
        metadata = workload["metadata"]
        owner = metadata.get("ownerReferences", [{}])[0].get("name")
        if owner not in self.pods_of or metadata["namespace"] not in self.namespaces:
            return
        now = time.monotonic() - self.began
        if condition(workload, "QuotaReserved").get("status") == "True":
            if condition(workload, "Evicted").get("status") == "True":
                self._leaving.setdefault(owner, now)
            if owner not in self._holding:
                self._holding.add(owner)
                self.reserved[owner] = now
                if owner not in self.admitted:
                    self.admitted[owner] = now
                    self.order.append(owner)
        elif owner in self._holding:
            self._holding.discard(owner)
            self.evictions.append(now - self._leaving.pop(owner, now))
        if condition(workload, "Finished").get("status") == "True":
            self.finished.setdefault(owner, now)

    def note_pod(self, kind: str, pod: Value) -> None:
        """Record that a pod began to run, or was deleted."""
        metadata = pod["metadata"]
        if metadata["namespace"] not in self.namespaces:
            return
        owner = metadata["labels"]["job"]
        if owner not in self.pods_of:
            return
        ran = self._ran[owner]
        if kind == "DELETED":
            ran.discard(metadata["name"])
        elif pod["status"].get("phase") == "Running" and metadata["name"] not in ran:
            ran.add(metadata["name"])
            if len(ran) == self.pods_of[owner]:
                self.running[owner] = time.monotonic() - self.began
                self.started.setdefault(owner, self.running[owner])

    def timing(self, jobs: Iterable[SubmittedJob]) -> Timing:
        """Mean delays of the cluster. A job that started later than WAITS_FOR_NODE is not counted as a start: the replay
        has its own wait for a node.
        """
        known = [j for j in jobs if j.name in self.finished and j.name in self.running]
        starts = [self.running[j.name] - self.reserved[j.name] for j in known]
        return Timing(
            start=statistics.mean(seconds for seconds in starts if seconds < WAITS_FOR_NODE),
            stop=statistics.mean(
                self.finished[j.name] - self.running[j.name] - j.run_seconds for j in known
            ),
            **({"eviction": statistics.mean(self.evictions)} if self.evictions else {}),
        )


def run(lab: QueueLab, jobs: Sequence[SubmittedJob], limit: float) -> Seen:
    """Submit every job at its time, and wait until all have ended.

    Raises:
        AssertionError: jobs did not end within `limit` seconds.
    """
    _warm_up(lab, jobs)
    spaces = frozenset(namespaces_of(lab.plan))
    seen = Seen(time.monotonic() + 1, spaces, {job.name: job.pods for job in jobs})
    watches = [
        Watch(lab.api, f"{KUEUE}/workloads", seen.note_workload),
        Watch(lab.api, "/api/v1/pods", seen.note_pod),
    ]
    for watch in watches:
        watch.start()
    with ThreadPoolExecutor(CLIENTS) as clients:
        submissions = []
        for arrival in sorted(jobs, key=lambda j: j.submitted_at_seconds):
            time.sleep(max(0.0, seen.began + arrival.submitted_at_seconds - time.monotonic()))
            submissions.append(clients.submit(_submit, lab, arrival))
    for submission in submissions:
        submission.result()  # a job that was not created never ends
    while len(seen.finished) < len(jobs) and time.monotonic() < seen.began + limit:
        time.sleep(0.5)
    for watch in watches:
        watch.stopped = True
    remaining = [j.name for j in jobs if j.name not in seen.finished]
    assert not remaining, (
        f"{len(remaining)} of {len(jobs)} jobs did not end within {limit:.0f} s: {remaining[:5]}"
    )
    return seen


def _warm_up(lab: QueueLab, jobs: Sequence[SubmittedJob]) -> None:
    """One short job of each team: the first jobs of a new cluster take seconds to start."""
    firsts = {job.team: job for job in jobs if job.pods == 1}.values()
    for first in firsts:
        _submit(lab, replace(first, name=f"warm-{first.name}", run_seconds=0.1))
    for first in firsts:
        lab.expect(
            lab.plan.team(first.team).default_namespace.name, f"warm-{first.name}", "finished"
        )


def _submit(lab: QueueLab, arrival: SubmittedJob) -> None:
    namespace = lab.plan.team(arrival.team).default_namespace.name
    shape: Any = {"pods": arrival.pods, "seconds": arrival.run_seconds}
    created = job(namespace, arrival.name, priority=_NAMES[arrival.priority], **shape)
    container = created["spec"]["template"]["spec"]["containers"][0]
    created["spec"]["ttlSecondsAfterFinished"] = 30  # a namespace has a quota of Job objects
    amounts = _quantities(arrival.requests)
    container["resources"] = {"requests": amounts, "limits": amounts}
    lab.noted(created)
    create(lab.api, f"/apis/batch/v1/namespaces/{namespace}/jobs", created)


def _quantities(requests: Mapping[str, int]) -> dict[str, str]:
    return {name: f"{n}m" if name == CPU else str(n) for name, n in requests.items()}
