"""ComputeClasses of GKE: the order in which its autoscaler uses node pools, and when it removes a node."""

from datetime import date

from gpuyard_core.catalogue.sources import Source

_LOOKED_UP = date(2026, 11, 25)

CLASS_GROUP, CLASS_KIND = "cloud.google.com", "ComputeClass"
CLASS_API = f"{CLASS_GROUP}/v1"
CLASS_LABEL = "cloud.google.com/compute-class"
"""The label of a node pool and of a pod that selects the class; also a taint that only such pods tolerate."""
CLASS_SOURCE = Source(
    "GKE, about custom ComputeClasses (as of 2026-04-13): a manually created node pool has the label and the taint of"
    " its one class, a rule with `nodepools` has no other fields and no order among them, names begin neither with"
    " gke nor autopilot; Standard clusters from 1.30.3-gke.1451000 on",
    _LOOKED_UP,
    as_of=date(2026, 4, 13),
)
NO_FURTHER = "DoNotScaleUp"
"""The policy for a pod for which no rule has a node: it waits, and no other machine is bought."""
STAYS = "cluster-autoscaler.kubernetes.io/safe-to-evict"
"""Annotation of a pod: with `false` its node is neither drained nor replaced by one of a better rule."""
MOVES_SOURCE = Source(
    "GoogleCloudPlatform/cluster-autoscaler at 7d250507, pkg/defrag/plugins/highprioritymigration/high_priority_migration.go"
    " and pkg/defrag/processor: with optimizeRulePriority nodes of all rules except the first are candidates, one node pool at a"
    " time; a node is drained if its pods fit elsewhere, new nodes are created only by a better rule, and a node with"
    " a pod that blocks a scale-down stays",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
EMPTY_PERCENT = 1
"""A node with lower use may be removed. One of eight GPUs is above it; with 0 an empty node would stay."""
EMPTY_SOURCE = Source(
    "GoogleCloudPlatform/compute-class-api at 8067eaeb, api/cloud.google.com/v1/types.go: 0 to 100, for nodes with GPUs of"
    " the GPUs only; GoogleCloudPlatform/cluster-autoscaler at 7d250507, pkg/computeclass/autoscaling_options.go: in"
    " percent, and a node with at least this use stays",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
