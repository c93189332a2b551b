"""kube-scheduler: how it scores the nodes that a pod fits."""

from collections.abc import Mapping

from gpuyard_core.names import GPU

DEFAULT_WEIGHTS: Mapping[str, int] = {"cpu": 1, "memory": 1}
"""Resources of the default scoring strategy, LeastAllocated, by weight."""
PACKING_WEIGHTS: Mapping[str, int] = {GPU: 10, "cpu": 1, "memory": 1}
"""Resources of MostAllocated in clusters that gpuyard creates on EKS: GPUs decide the packing, the others break ties."""
MAX_SCORE = 100
FEWEST_SAMPLED_NODES = 100
"""From this many nodes on, kube-scheduler examines a part of them for each pod (scheduling.scoring)."""
