"""ComputeClasses of GKE: in which order its autoscaler takes node pools, and when it gives a node back."""

from datetime import date

from gpuyard.catalogue.sources import Source

_LOOKED_UP = date(2026, 11, 25)

CLASS_GROUP, CLASS_KIND = "cloud.google.com", "ComputeClass"
CLASS_API = f"{CLASS_GROUP}/v1"
CLASS_LABEL = "cloud.google.com/compute-class"
"""Of a node pool and of a pod that selects the class; as a taint too, which only such pods bear."""
CLASS_SOURCE = Source(
    "GKE, about custom ComputeClasses (as of 2026-04-13): a node pool of one's own carries the label and the taint of"
    " its one class, a rule with `nodepools` has nothing beside them and no order in itself, names begin neither with"
    " gke nor autopilot; Standard clusters from 1.30.3-gke.1451000 on",
    _LOOKED_UP,
    as_of=date(2026, 4, 13),
)
NO_FURTHER = "DoNotScaleUp"
"""What becomes of a pod for which no rule has a node: it waits, and nothing else is bought."""
STAYS = "cluster-autoscaler.kubernetes.io/safe-to-evict"
"""Annotation of a pod: with `false` its node is neither emptied nor left for a better rule."""
MOVES_SOURCE = Source(
    "GoogleCloudPlatform/cluster-autoscaler at 7d250507, pkg/defrag/plugins/highprioritymigration/high_priority_migration.go"
    " and pkg/defrag/processor: with optimizeRulePriority nodes of any rule but the first are candidates, a node pool at a"
    " time; one is drained when its pods fit elsewhere, new nodes are made in a better rule alone, and a node with a"
    " pod that blocks a scale-down stays",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
EMPTY_PERCENT = 1
"""A node of which less is used may go. One of eight GPUs is more, and with 0 an empty node would stay."""
EMPTY_SOURCE = Source(
    "GoogleCloudPlatform/compute-class-api at 8067eaeb, api/cloud.google.com/v1/types.go: 0 to 100, for nodes with GPUs of"
    " the GPUs alone; GoogleCloudPlatform/cluster-autoscaler at 7d250507, pkg/computeclass/autoscaling_options.go: a hundredth"
    " each, and a node is spared whose use is not below it",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
