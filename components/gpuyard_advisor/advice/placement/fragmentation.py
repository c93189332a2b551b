"""The placement policy that strands the least GPU capacity: Fragmentation Gradient Descent, refined.

Free GPU capacity of a node is stranded for a kind of pod that the node does not fit. FGD (Weng et al., USENIX ATC
2023) chooses the node where the pod strands the least, averaged over typical pods. Scores here are not rounded,
only pods that request GPUs are typical, and a node counts as worse the less its free CPU and its free GPUs are in
proportion: a GPU without CPU is of no use.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpuyard_advisor.advice.placement.nodes import MILLI, Cluster, PodRequest, load_numpy

_IMBALANCE = 200
"""Thousandths of a GPU that a node with all CPUs and no GPUs free, or the reverse, is worse."""
_SPARE = 30
"""Thousandths of a GPU that a node with 128 CPUs and eight GPUs free is worse than a full one."""
_SPARE_CPU_MILLI, _SPARE_GPU_MILLI = 128 * MILLI, 8 * MILLI


@dataclass(frozen=True, slots=True)
class TypicalPod:
    """A kind of pod and its share of all pods that request GPUs."""

    request: PodRequest
    share: float


def typical_pods(pods: Iterable[PodRequest]) -> tuple[TypicalPod, ...]:
    """The kinds of pods that request GPUs, the most frequent first."""
    counts = Counter(replace(pod, memory_mib=0) for pod in pods if pod.gpus)
    total = counts.total()
    return tuple(TypicalPod(kind, count / total) for kind, count in counts.most_common())


class FragmentationPolicy:
    """Scores nodes by the GPU capacity that a pod would strand there."""

    def __init__(self, cluster: Cluster, typical: Sequence[TypicalPod]) -> None:
        """The policy of one cluster, of which it knows the stranded capacity by node."""
        self._np = np = load_numpy()
        requests = [each.request for each in typical]
        sizes = sorted({request.gpu_milli for request in requests})
        self._sizes = np.array(sizes)[:, None, None]
        self._size = np.array([sizes.index(request.gpu_milli) for request in requests], dtype=int)
        self._gpus = np.array([request.gpus for request in requests])[:, None]
        self._cpu = np.array([request.cpu_milli for request in requests])[:, None]
        self._share = np.array([each.share for each in typical])
        self._allowed = np.array([cluster.allowed(request.gpu_models) for request in requests])
        self._stranded = np.zeros(len(cluster.cpu))
        self._seen = 0
        self._refresh(cluster, np.arange(len(cluster.cpu)))

    def __call__(self, cluster: Cluster, pod: PodRequest, rows: Any) -> tuple[Any, Any]:
        """The negative of the capacity that the pod strands on each node, and the GPU for a part of one."""
        np = self._np
        changed = cluster.changes[self._seen :]
        if changed:
            self._seen = len(cluster.changes)
            self._refresh(cluster, np.unique(np.array(changed)))
        cpu, gpus = cluster.cpu[rows] - pod.cpu_milli, cluster.gpu_milli[rows]
        worse = self._worse(cluster, rows, cpu, gpus.sum(axis=1) - pod.total_milli)
        if not pod.is_shared:
            fitting = gpus >= pod.gpu_milli
            gpus[fitting & (fitting.cumsum(axis=1) <= pod.gpus)] -= pod.gpu_milli
            return self._stranded[rows] - self._strand(cpu, gpus, rows) - worse, -1
        row, gpu = np.nonzero(gpus >= pod.gpu_milli)
        after = gpus[row]
        after[np.arange(len(row)), gpu] -= pod.gpu_milli
        scores = np.full(gpus.shape, -np.inf)
        scores[row, gpu] = self._stranded[rows[row]] - self._strand(cpu[row], after, rows[row])
        best = scores.argmax(axis=1)
        return scores[np.arange(len(rows)), best] - worse, best

    def _refresh(self, cluster: Cluster, rows: Any) -> None:
        self._stranded[rows] = self._strand(cluster.cpu[rows], cluster.gpu_milli[rows], rows)

    def _strand(self, cpu: Any, gpus: Any, rows: Any) -> Any:
        """Thousandths of GPUs that typical pods cannot use, averaged over them."""
        large_enough = gpus[None] >= self._sizes
        count = large_enough.sum(axis=2)[self._size]
        usable = self._np.where(large_enough, gpus[None], 0).sum(axis=2)[self._size]
        fits = self._allowed[:, rows] & (count >= self._gpus) & (cpu[None] >= self._cpu)
        return gpus.sum(axis=1) - self._share @ self._np.where(fits, usable, 0)

    def _worse(self, cluster: Cluster, rows: Any, cpu: Any, gpu_milli: Any) -> Any:
        capacity = self._np.maximum(cluster.gpu_count[rows], 1) * MILLI
        imbalance = abs(cpu / cluster.cpu_capacity[rows] - gpu_milli / capacity)
        spare = cpu / _SPARE_CPU_MILLI + gpu_milli / _SPARE_GPU_MILLI
        return _IMBALANCE * imbalance + _SPARE * spare
