"""Placement of pods with parts of GPUs on nodes, one after the other, by a scoring policy.

A pod gets the node with the best score among those that it fits. Scores of a kind of pod change only on nodes
that received a pod since, so only these are computed again. `docs/concepts/placement.md` explains the policies.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from gpuyard_core.errors import EnvironmentMissing

MILLI = 1000
"""A whole GPU, in thousandths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuNode:
    """The capacity of a node for pods."""

    cpu_milli: int
    memory_mib: int
    gpus: int
    gpu: str = ""
    """Model of the GPUs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRequest:
    """What a pod requests: whole GPUs, or a part of one."""

    cpu_milli: int
    memory_mib: int = 0
    gpus: int = 0
    gpu_milli: int = 0
    """Thousandths of each GPU: 1000, or less for a part of one GPU."""
    gpu_models: tuple[str, ...] = ()
    """Allowed models; empty allows all."""

    @property
    def total_milli(self) -> int:
        """Thousandths of all GPUs."""
        return self.gpus * self.gpu_milli

    @property
    def is_shared(self) -> bool:
        """Whether the pod requests a part of one GPU."""
        return self.gpus == 1 and self.gpu_milli < MILLI


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a pod was placed."""

    node: int
    gpus: tuple[int, ...]


class Cluster:
    """Free resources of nodes, as arrays with one row for each node."""

    def __init__(self, nodes: Sequence[GpuNode]) -> None:
        """All nodes empty."""
        np = load_numpy()
        width = max((node.gpus for node in nodes), default=0)
        self.cpu = np.array([node.cpu_milli for node in nodes], dtype=np.int64)
        self.memory = np.array([node.memory_mib for node in nodes], dtype=np.int64)
        self.cpu_capacity = self.cpu.copy()
        self.memory_capacity = self.memory.copy()
        self.gpu_milli = np.array(
            [[MILLI] * node.gpus + [0] * (width - node.gpus) for node in nodes], dtype=np.int64
        )
        """Free thousandths by node and GPU; 0 where a node has no such GPU."""
        self.gpu_count = np.array([node.gpus for node in nodes], dtype=np.int64)
        self.models = np.array([node.gpu for node in nodes])
        self.changes: list[int] = []
        """Rows that changed, in order."""

    def allowed(self, models: Sequence[str]) -> Any:
        """Nodes whose GPU is one of the models."""
        np = load_numpy()
        return np.isin(self.models, models) if models else np.ones(len(self.cpu), dtype=bool)

    def fits(self, pod: PodRequest, rows: Any) -> Any:
        """Whether the pod fits, by row."""
        fit = (self.cpu[rows] >= pod.cpu_milli) & (self.memory[rows] >= pod.memory_mib)
        if pod.gpus:
            fit &= (self.gpu_milli[rows] >= pod.gpu_milli).sum(axis=1) >= pod.gpus
        return fit

    def best_fit_gpus(self, pod: PodRequest, node: int) -> tuple[int, ...]:
        """GPUs of a node with the least free capacity that fit the pod."""
        free = self.gpu_milli[node]
        fitting = [i for i in range(len(free)) if free[i] >= pod.gpu_milli]
        return tuple(sorted(fitting, key=lambda i: (free[i], i))[: pod.gpus])

    def place(self, pod: PodRequest, node: int, gpus: tuple[int, ...]) -> None:
        """Take the resources of a pod from a node."""
        self.cpu[node] -= pod.cpu_milli
        self.memory[node] -= pod.memory_mib
        for gpu in gpus:
            self.gpu_milli[node, gpu] -= pod.gpu_milli
        self.changes.append(node)

    def remove(self, pod: PodRequest, placed: Placed) -> None:
        """Return the resources of a pod to its node."""
        self.cpu[placed.node] += pod.cpu_milli
        self.memory[placed.node] += pod.memory_mib
        for gpu in placed.gpus:
            self.gpu_milli[placed.node, gpu] += pod.gpu_milli
        self.changes.append(placed.node)


Policy: TypeAlias = Callable[[Cluster, PodRequest, Any], tuple[Any, Any]]
"""Scores of rows for a pod that fits on them, the best highest; and the GPU of a part, -1 for the best fit."""
Choice: TypeAlias = Callable[[int], int]
"""Index of one of so many equal nodes."""


def take_first(_count: int) -> int:
    """The first of equal nodes."""
    return 0


class Placer:
    """Places pods on a cluster by a policy."""

    def __init__(self, cluster: Cluster, policy: Policy, choose: Choice = take_first) -> None:
        """`choose` decides between nodes with equal scores."""
        self.cluster, self._policy, self._choose = cluster, policy, choose
        self._known: dict[PodRequest, _Scores] = {}

    def place(self, pod: PodRequest) -> Placed | None:
        """Place a pod on the node with the best score; None if no node has the capacity."""
        scores = self._known.get(pod)
        if scores is None:
            scores = self._known[pod] = _Scores(self.cluster, pod)
        scores.update(self._policy)
        node = scores.best(self._choose)
        if node is None:
            return None
        gpu = int(scores.gpu[node])
        gpus = (gpu,) if gpu >= 0 and pod.is_shared else self.cluster.best_fit_gpus(pod, node)
        self.cluster.place(pod, node, gpus)
        return Placed(node, gpus)


class _Scores:
    """Scores of all nodes for one kind of pod, current as of a number of changes."""

    def __init__(self, cluster: Cluster, pod: PodRequest) -> None:
        self._np = np = load_numpy()
        self._cluster, self._pod = cluster, pod
        self._allowed = cluster.allowed(pod.gpu_models)
        self._seen = -1
        self.score = np.full(len(cluster.cpu), -np.inf)
        self.gpu = np.full(len(cluster.cpu), -1)

    def update(self, policy: Policy) -> None:
        """Compute the scores of changed nodes."""
        cluster, np = self._cluster, self._np
        if self._seen < 0:
            rows = np.arange(len(cluster.cpu))
        else:
            rows = np.unique(np.array(cluster.changes[self._seen :], dtype=np.int64))
        self._seen = len(cluster.changes)
        if not len(rows):
            return
        fit = cluster.fits(self._pod, rows) & self._allowed[rows]
        self.score[rows[~fit]] = -np.inf
        fitting = rows[fit]
        if len(fitting):
            self.score[fitting], self.gpu[fitting] = policy(cluster, self._pod, fitting)

    def best(self, choose: Choice) -> int | None:
        """A node with the best score."""
        best = self.score.max()
        if best == -self._np.inf:
            return None
        equal = self._np.flatnonzero(self.score == best)
        return int(equal[choose(len(equal)) if len(equal) > 1 else 0])


def load_numpy() -> Any:
    """The package numpy, which the extra `solve` installs."""
    try:
        import numpy as np
    except ImportError:
        raise EnvironmentMissing(
            "placement needs numpy, which is not installed: pip install 'gpuyard[solve]'"
        ) from None
    return np
