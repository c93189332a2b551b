"""GPU sharing by GKE's own device plugin: strategies, partition sizes and node labels."""

from collections.abc import Mapping

from gpuyard_core.catalogue.gpus import GPUS
from gpuyard_core.catalogue.sharing import SharingMethod

STRATEGIES: Mapping[SharingMethod, str] = {
    SharingMethod.TIME_SLICING: "TIME_SHARING",
    SharingMethod.MIG_TIME_SLICING: "TIME_SHARING",
    SharingMethod.MPS: "MPS",
}
"""GKE's sharing strategy for each sharing mode (source: `sharing`)."""
STRATEGY_LABEL = "cloud.google.com/gke-gpu-sharing-strategy"
STRATEGY_WORDS: Mapping[str, str] = {"TIME_SHARING": "time-sharing", "MPS": "mps"}
"""The label value of each strategy."""
CLIENTS_LABEL = "cloud.google.com/gke-max-shared-clients-per-gpu"
PARTITION_LABEL = "cloud.google.com/gke-gpu-partition-size"
"""GKE sets these three itself and rejects other writers."""
PARTITIONS: Mapping[str, Mapping[str, int]] = {
    gpu.name: gpu.gke_partitions for gpu in GPUS.values() if gpu.gke_partitions
}
"""Partition sizes by the GPU's catalogue name, with the number of slices of that size on each GPU."""
