"""Many jobs through a real Kueue, and the queue model's forecast of their order."""

import random
import statistics
import threading
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from gpuyard.names import GPU
from gpuyard.replay import Disagreement, Replay, SubmittedJob, Timing, compare_orders, replay
from gpuyard.simulate.api import Api, ApiError, Unreachable
from kit.cluster.lab import KUEUE, Value, condition, create, namespaces_of
from kit.cluster.queues import QueueLab, job, one_pool

CLIENTS = 4
PRIORITIES = {"normal": 10, "high": 100}


def backlog(name: str, nodes: int) -> Any:
    """Three teams with guarantees of a fifth each, unequal weights, and borrowing of the rest."""
    fifth = nodes // 5 * 8
    rest = {"guarantee": fifth, "borrow": nodes * 8 - fifth}
    teams = {"a": rest, "b": {**rest, "weight": 2.0}, "c": {**rest, "weight": 0.5}}
    return one_pool(name, nodes, priorities=PRIORITIES, **teams)


def some_jobs(name: str, count: int, seconds: tuple[int, int], seed: int = 1) -> list[SubmittedJob]:
    """Gangs of one to four whole nodes of three teams; one in ten has a higher priority."""
    rng = random.Random(seed)  # noqa: S311  no secret is made of it
    created = []
    for index in range(count):
        letter = rng.choice("abc")
        created.append(
            SubmittedJob(
                name=f"{letter}{index}",
                team=f"{name}-{letter}",
                submitted_at_seconds=0,
                run_seconds=rng.randint(*seconds),
                requests={GPU: 8},
                pods=rng.choice([1, 1, 1, 2, 4]),
                priority=PRIORITIES["high" if rng.random() < 0.1 else "normal"],
            )
        )
    return created


@dataclass(slots=True)
class Seen:
    """Kueue's decisions, from the sequence of changes of its workloads."""

    order: list[str] = field(default_factory=list[str])
    """Jobs in the order in which they first had quota."""
    created: dict[str, float] = field(default_factory=dict[str, float])
    reserved: dict[str, float] = field(default_factory=dict[str, float])
    """Time since which a job has its quota."""
    finished: dict[str, float] = field(default_factory=dict[str, float])
    evictions: int = 0
    _holding: set[str] = field(default_factory=set[str])

    def note(self, workload: Value) -> None:
        """Record one change of a workload."""
        metadata = workload["metadata"]
        owner = metadata.get("ownerReferences", [{}])[0].get("name")
        if owner is None:
            return
        self.created[owner] = _seconds(metadata["creationTimestamp"])
        over = condition(workload, "Finished")
        if over.get("status") == "True":
            self.finished[owner] = _seconds(over["lastTransitionTime"])
        reserved = condition(workload, "QuotaReserved")
        if reserved.get("status") == "True":
            if owner not in self._holding:
                self._holding.add(owner)
                self.reserved[owner] = _seconds(reserved["lastTransitionTime"])
                if owner not in self.order:
                    self.order.append(owner)
        elif owner in self._holding:
            self._holding.discard(owner)
            self.evictions += 1

    def overhead(self, jobs: Sequence[SubmittedJob]) -> float:
        """Median seconds for which a job holds its quota beyond its own duration."""
        known = [j for j in jobs if j.name in self.finished and j.name in self.reserved]
        return statistics.median(
            max(0.0, self.finished[j.name] - self.reserved[j.name] - j.run_seconds) for j in known
        )


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


class Watch(threading.Thread):
    """Records every change of every workload in these namespaces until it is stopped.

    Workloads of an earlier platform may still exist elsewhere.
    """

    def __init__(self, api: Api, namespaces: Collection[str]) -> None:
        super().__init__(daemon=True)
        self.api = api
        self.namespaces = namespaces
        self.seen = Seen()
        self.stopped = False

    def run(self) -> None:
        """List and watch again whenever the server ends the stream."""
        path = f"{KUEUE}/workloads"
        version = ""
        while not self.stopped:
            try:
                if not version:
                    result = self.api.call("GET", path)
                    version = result["metadata"]["resourceVersion"]
                    for one in result["items"]:
                        self._note(one)
                for kind, one in self.api.watch(path, version):
                    if kind == "ERROR":
                        version = ""
                        break
                    version = one["metadata"]["resourceVersion"]
                    if kind in {"ADDED", "MODIFIED"}:
                        self._note(one)
                    if self.stopped:
                        return
            except (ApiError, Unreachable):
                version = ""
                time.sleep(0.2)

    def _note(self, workload: Value) -> None:
        if workload["metadata"]["namespace"] in self.namespaces:
            self.seen.note(workload)


@dataclass(frozen=True, slots=True)
class Run:
    """A run and its forecast."""

    seen: Seen
    forecast: Replay
    apart: Disagreement
    seconds: float
    """From the first submission to the last end."""
    overhead: float


def run(lab: QueueLab, jobs: Sequence[SubmittedJob], limit: float) -> Run:
    """Submit them all in order, wait until all have ended, and compare.

    The model gets the times at which Kueue first knew each job and the cluster's median overhead for a job, and
    none of Kueue's decisions.
    """
    watch = Watch(lab.api, namespaces_of(lab.plan))
    watch.start()
    began = time.monotonic()
    by_priority = {value: name for name, value in PRIORITIES.items()}

    def submit(arrival: SubmittedJob) -> None:
        namespace = lab.plan.team(arrival.team).default_namespace.name
        shape: Any = {"pods": arrival.pods, "gpus": 8, "seconds": arrival.run_seconds}
        created = job(namespace, arrival.name, priority=by_priority[arrival.priority], **shape)
        lab.noted(created)
        create(lab.api, f"/apis/batch/v1/namespaces/{namespace}/jobs", created)

    with ThreadPoolExecutor(CLIENTS) as clients:
        list(clients.map(submit, jobs))
    while len(watch.seen.finished) < len(jobs) and time.monotonic() < began + limit:
        time.sleep(0.5)
    watch.stopped = True
    seconds = time.monotonic() - began
    seen = watch.seen
    remaining = [j.name for j in jobs if j.name not in seen.finished]
    assert not remaining, (
        f"{len(remaining)} of {len(jobs)} jobs did not end within {limit:.0f} s: {remaining[:5]}"
    )
    overhead = seen.overhead(jobs)
    first = min(seen.created.values())
    known = [replace(j, submitted_at_seconds=seen.created[j.name] - first) for j in jobs]
    forecast = replay(lab.plan, known, Timing(start=overhead))
    apart = compare_orders(forecast.order, seen.order, far=len(jobs) // 20)
    return Run(seen, forecast, apart, seconds, overhead)
