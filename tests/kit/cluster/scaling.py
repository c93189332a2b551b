"""A fake of Cluster Autoscaler for pools of fake nodes that scale: adds nodes for pending pods, removes empty ones."""

import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from gpuyard.plan.records import PoolPlan
from gpuyard_simulate.agents.autoscaler import needs_of
from gpuyard_simulate.api import ApiError, Unreachable
from kit.cluster.lab import Value, apply, delete, path_of
from kit.cluster.queues import QueueLab

POOL = "gpuyard.dev/pool"
SCAN_SECONDS = 0.5
_ALIVE = "fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed"


class ScalingLab(QueueLab):
    """A platform whose pools start with their lowest number of nodes."""

    def __init__(self, api: Any, raw: Mapping[str, Any]) -> None:
        super().__init__(api, raw)
        nodes = defaultdict[str, list[Value]](list)
        for value in self.objects:
            if value["kind"] == "Node":
                nodes[value["metadata"]["labels"][POOL]].append(value)
        self.spare: dict[str, list[Value]] = {
            pool.name: nodes[pool.stable_name][pool.nodes.low :] for pool in self.plan.pools
        }
        """Nodes that do not exist yet, by pool."""
        unmade = [path_of(node) for spare in self.spare.values() for node in spare]
        self.objects = [value for value in self.objects if path_of(value) not in set(unmade)]


@dataclass(slots=True)
class _Node:
    """A node that was started."""

    manifest: Value
    started: float
    made: bool = False
    ready: float | None = None
    empty_since: float | None = None


@dataclass(slots=True)
class FakeClusterAutoscaler(threading.Thread):
    """Adds and removes the spare nodes of one pool until it is stopped.

    As Cluster Autoscaler with `scale-down-utilization-threshold: 0`: pending pods that fit neither free nor
    starting nodes start nodes, first fit by decreasing size; a node without pods for `unneeded` seconds is removed.
    """

    lab: ScalingLab
    pool: PoolPlan
    boot: float
    """Seconds from the start of an instance to its Node object."""
    unneeded: float
    stopped: bool = False
    used: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    """Start and end of each node that was removed, or existed at the end."""
    ready_after: list[float] = field(default_factory=list[float])
    """Seconds from the start of each node to its devices."""
    _nodes: dict[str, _Node] = field(default_factory=dict[str, "_Node"])

    def __post_init__(self) -> None:
        threading.Thread.__init__(self, daemon=True)

    __hash__ = object.__hash__

    def run(self) -> None:
        """Scan until it is stopped."""
        while not self.stopped:
            began = time.monotonic()
            with suppress(ApiError, Unreachable):
                self._scan()
            time.sleep(max(0.0, SCAN_SECONDS - (time.monotonic() - began)))

    def end(self) -> list[tuple[float, float]]:
        """Stop, remove all nodes, and return start and end of each by this process's clock."""
        self.stopped = True
        self.join()
        now = time.monotonic()
        for node in self._nodes.values():
            delete(self.lab.api, path_of(node.manifest))
        return self.used + [(node.started, now) for node in self._nodes.values()]

    def _scan(self) -> None:
        pods = [p for p in self.lab.listed(f"/api/v1/pods?{_ALIVE}") if self._is_ours(p)]
        now = time.monotonic()
        self._make(now)
        self._remove_empty(now, pods)
        free = {name: self._capacity() for name in self._nodes}
        for pod in pods:
            name = pod["spec"].get("nodeName")
            if name in free:
                free[name] -= self._amount(pod)
        missing = self._place(free.values(), [p for p in pods if not p["spec"].get("nodeName")])
        for _ in range(missing):
            self._start(now)

    def _is_ours(self, pod: Value) -> bool:
        selector = pod["spec"].get("nodeSelector") or {}
        return bool(selector.get(POOL) == self.pool.stable_name)

    def _capacity(self) -> int:
        return self.pool.advertised[0].per_node

    def _amount(self, pod: Value) -> int:
        return int(needs_of(pod["spec"]).get(self.pool.advertised[0].resource, 0))

    def _place(self, free: Iterable[int], pods: Iterable[Value]) -> int:
        """Number of further nodes for these pods."""
        bins = list(free)
        before = len(bins)
        for amount in sorted((self._amount(p) for p in pods), reverse=True):
            index = next((i for i, room in enumerate(bins) if room >= amount), None)
            if index is None:
                bins.append(self._capacity())
                index = len(bins) - 1
            bins[index] -= amount
        return len(bins) - before

    def _start(self, now: float) -> None:
        spare = self.lab.spare[self.pool.name]
        if spare:
            manifest = spare.pop(0)
            self._nodes[manifest["metadata"]["name"]] = _Node(manifest, now)

    def _make(self, now: float) -> None:
        for name, node in self._nodes.items():
            if not node.made and now >= node.started + self.boot:
                apply(self.lab.api, node.manifest)
                node.made = True
            elif node.made and node.ready is None and self._has_devices(name):
                node.ready = now
                self.ready_after.append(now - node.started)

    def _has_devices(self, name: str) -> bool:
        node = self.lab.api.get(f"/api/v1/nodes/{name}") or {}
        allocatable = node.get("status", {}).get("allocatable") or {}
        return self.pool.advertised[0].resource in allocatable

    def _remove_empty(self, now: float, pods: Iterable[Value]) -> None:
        busy = {p["spec"].get("nodeName") for p in pods}
        waiting = any(not p["spec"].get("nodeName") for p in pods)
        for name, node in list(self._nodes.items()):
            if node.ready is None or name in busy:
                node.empty_since = None
            elif node.empty_since is None:
                node.empty_since = now
            elif not waiting and now >= node.empty_since + self.unneeded:
                delete(self.lab.api, path_of(node.manifest))
                self.used.append((node.started, now))
                self.lab.spare[self.pool.name].append(node.manifest)
                del self._nodes[name]
