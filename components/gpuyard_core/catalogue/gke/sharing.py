"""GPU sharing by GKE's own device plugin: strategies, partition sizes and node labels."""

from collections.abc import Mapping

from gpuyard_core.catalogue.sharing import SharingMethod
from gpuyard_core.catalogue.sources import find_source

STRATEGIES: Mapping[SharingMethod, str] = {
    SharingMethod.TIME_SLICING: "TIME_SHARING",
    SharingMethod.MIG_TIME_SLICING: "TIME_SHARING",
    SharingMethod.MPS: "MPS",
}
"""GKE's sharing strategy for each sharing mode."""
MOST_CLIENTS = 48
"""Maximum containers that share one GPU or one slice."""
SHARING_SOURCE = find_source("sharing")
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
PARTITIONS_SOURCE = find_source("sharing.partitions")
