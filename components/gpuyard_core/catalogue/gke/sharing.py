"""GPU sharing by GKE's own device plugin: strategies, partition sizes and node labels."""

from collections.abc import Mapping
from datetime import date

from gpuyard_core.catalogue.sharing import SharingMethod
from gpuyard_core.catalogue.sources import Source

_LOOKED_UP = date(2026, 11, 25)

STRATEGIES: Mapping[SharingMethod, str] = {
    SharingMethod.TIME_SLICING: "TIME_SHARING",
    SharingMethod.MIG_TIME_SLICING: "TIME_SHARING",
    SharingMethod.MPS: "MPS",
}
"""GKE's sharing strategy for each sharing mode."""
MOST_CLIENTS = 48
"""Maximum containers that share one GPU or one slice."""
SHARING_SOURCE = Source(
    "GKE, about GPU sharing strategies: one setting for every GPU of a node pool, the labels of its nodes, and a"
    " container that requests more than one is rejected; at most 48 by the schema of its ComputeClass."
    " GoogleCloudPlatform/container-engine-accelerators, pkg/gpu/nvidia/gpusharing: several are allocated only on a"
    " node with one GPU",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
STRATEGY_LABEL = "cloud.google.com/gke-gpu-sharing-strategy"
STRATEGY_WORDS: Mapping[str, str] = {"TIME_SHARING": "time-sharing", "MPS": "mps"}
"""The label value of each strategy."""
CLIENTS_LABEL = "cloud.google.com/gke-max-shared-clients-per-gpu"
PARTITION_LABEL = "cloud.google.com/gke-gpu-partition-size"
"""GKE sets these three itself and rejects other writers."""

PARTITIONS: Mapping[str, Mapping[str, int]] = {
    "A100-40": {"1g.5gb": 7, "2g.10gb": 3, "3g.20gb": 2, "4g.20gb": 1, "7g.40gb": 1},
    "A100-80": {"1g.10gb": 7, "2g.20gb": 3, "3g.40gb": 2, "4g.40gb": 1, "7g.80gb": 1},
    "H100": {
        "1g.10gb": 7,
        "1g.20gb": 4,
        "2g.20gb": 3,
        "3g.40gb": 2,
        "4g.40gb": 1,
        "7g.80gb": 1,
    },
    "H200": {
        "1g.18gb": 7,
        "1g.35gb": 4,
        "2g.35gb": 3,
        "3g.71gb": 2,
        "4g.71gb": 1,
        "7g.141gb": 1,
    },
    "B200": {
        "1g.23gb": 7,
        "1g.45gb": 4,
        "2g.45gb": 3,
        "3g.90gb": 2,
        "4g.90gb": 1,
        "7g.180gb": 1,
    },
    "GB200": {
        "1g.23gb": 7,
        "1g.47gb": 4,
        "2g.47gb": 3,
        "3g.93gb": 2,
        "4g.93gb": 1,
        "7g.186gb": 1,
    },
    "RTX6000": {"1g.24gb": 4, "2g.48gb": 2, "4g.96gb": 1},
}
"""Partition sizes by the GPU's catalogue name, with the number of slices of that size on each GPU."""
PARTITIONS_SOURCE = Source(
    "GoogleCloudPlatform/container-engine-accelerators at 09e2ab1a, partition_gpu/partition_gpu.go: as many slices of one"
    " size as fit, on every GPU of a node. 1g.20gb is listed for H100 only, and sizes with graphics without a number",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
