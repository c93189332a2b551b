"""ComputeClasses of GKE: the order in which its autoscaler uses node pools, and when it removes a node."""

CLASS_GROUP, CLASS_KIND = "cloud.google.com", "ComputeClass"
CLASS_API = f"{CLASS_GROUP}/v1"
CLASS_LABEL = "cloud.google.com/compute-class"
"""The label of a node pool and of a pod that selects the class; also a taint that only such pods tolerate
(classes.class)."""
NO_FURTHER = "DoNotScaleUp"
"""The policy for a pod for which no rule has a node: it waits, and no other machine is bought."""
STAYS = "cluster-autoscaler.kubernetes.io/safe-to-evict"
"""Annotation of a pod: with `false` its node is neither drained nor replaced by one of a better rule
(classes.moves)."""
EMPTY_PERCENT = 1
"""A node with lower use may be removed. One of eight GPUs is above it; with 0 an empty node would stay
(classes.empty)."""
