"""kube-scheduler: how it scores the nodes that a pod fits."""

from collections.abc import Mapping
from datetime import date

from gpuyard_core.catalogue.sources import Source
from gpuyard_core.names import GPU

DEFAULT_WEIGHTS: Mapping[str, int] = {"cpu": 1, "memory": 1}
"""Resources of the default scoring strategy, LeastAllocated, by weight."""
PACKING_WEIGHTS: Mapping[str, int] = {GPU: 10, "cpu": 1, "memory": 1}
"""Resources of MostAllocated in clusters that gpuyard creates on EKS: GPUs decide the packing, the others break ties."""
MAX_SCORE = 100
SCORING_SOURCE = Source(
    "k8s.io/kubernetes v1.36.3, pkg/scheduler/framework/plugins/noderesources: least_allocated.go, most_allocated.go and"
    " balanced_allocation.go, of equal weight (apis/config/v1/default_plugins.go)",
    date(2026, 11, 29),
    as_of=date(2026, 11, 29),
)
