"""Metrics of a GPU platform: defaults of DCGM Exporter, Kueue's metrics, and their names in guides."""

from collections.abc import Mapping
from datetime import date

from gpuyard.catalogue.sources import Source

DCGM_COUNTERS = Source(
    "NVIDIA/dcgm-exporter etc/default-counters.csv and etc/1.x-compatibility-metrics.csv (4.6.0-4.8.3)",
    date(2026, 11, 21),
    as_of=date(2026, 11, 21),
)
KUEUE_METRICS = Source(
    "kubernetes-sigs/kueue v0.19.2 pkg/metrics/metrics.go",
    date(2026, 11, 28),
    as_of=date(2026, 8, 20),
)
KUEUE_0_20_METRICS = Source(
    "kubernetes-sigs/kueue 144402a (v0.20.0) pkg/metrics/metrics.go and CHANGELOG/CHANGELOG-0.20.md",
    date(2026, 11, 28),
    as_of=date(2026, 11, 28),
)
DEV, PROF = "DCGM_FI_DEV_", "DCGM_FI_PROF_"
DCGM_DEFAULT: Mapping[str, str] = {
    **{
        f"{DEV}{name}": "gauge"
        for name in (
            *("SM_CLOCK", "MEM_CLOCK", "MEMORY_TEMP", "GPU_TEMP", "POWER_USAGE", "GPU_UTIL"),
            *("MEM_COPY_UTIL", "ENC_UTIL", "DEC_UTIL", "XID_ERRORS", "FB_FREE", "FB_USED"),
            *("FB_RESERVED", "VGPU_LICENSE_STATUS", "ROW_REMAP_FAILURE"),
        )
    },
    **{
        f"{DEV}{name}": "counter"
        for name in (
            *("TOTAL_ENERGY_CONSUMPTION", "PCIE_REPLAY_COUNTER", "NVLINK_BANDWIDTH_TOTAL"),
            *("UNCORRECTABLE_REMAPPED_ROWS", "CORRECTABLE_REMAPPED_ROWS"),
        )
    },
    **{
        f"{PROF}{name}": "gauge"
        for name in (
            *("GR_ENGINE_ACTIVE", "PIPE_TENSOR_ACTIVE", "DRAM_ACTIVE"),
            *("PCIE_TX_BYTES", "PCIE_RX_BYTES"),
        )
    },
}
"""Default metrics of the exporter with their types."""
ACTIVITY: Mapping[str, float] = {f"{PROF}GR_ENGINE_ACTIVE": 100.0, f"{DEV}GPU_UTIL": 1.0}
"""Metrics of GPU use, with the factor to percent. The first one also covers slices, but only on GPUs with
profiling; the second one covers whole GPUs."""
POD_LABELS = ("exported_namespace", "exported_pod")
"""Labels of the pod that uses the GPU, as named by Prometheus without honorLabels, the default of the
operator's chart (gpu-operator v26.7.0 values.yaml, dcgmExporter.serviceMonitor)."""
DEVICE_LABELS = ("UUID", "GPU_I_ID", "vgpu")
"""Labels that together identify one GPU, slice or share (the exporter's pull request 432 for the last)."""
PROMETHEUS_OPERATED = "http://prometheus-operated.monitoring.svc:9090"
"""The service that prometheus-operator creates for every Prometheus, in the namespace of Kueue's chart and
most guides (kube-prometheus-stack and Kueue 0.19.2 values.yaml)."""
NOT_UNDER_MIG = frozenset(f"{DEV}{name}_UTIL" for name in ("GPU", "MEM_COPY", "ENC", "DEC"))
"""Metrics that do not exist for a GPU in MIG mode (NVIDIA/dcgm-exporter issues 216 and 430)."""
METRIC_ALIASES: Mapping[str, str] = {
    "dcgm_gpu_utilization": f"{DEV}GPU_UTIL",
    "dcgm_mem_copy_utilization": f"{DEV}MEM_COPY_UTIL",
    "dcgm_enc_utilization": f"{DEV}ENC_UTIL",
    "dcgm_dec_utilization": f"{DEV}DEC_UTIL",
    "dcgm_memory_clock": f"{DEV}MEM_CLOCK",
    "dcgm_dram_active": f"{PROF}DRAM_ACTIVE",
    "dcgm_fi_prof_pcie_tx_bytes": f"{PROF}PCIE_TX_BYTES",
    "dcgm_fi_prof_pcie_rx_bytes": f"{PROF}PCIE_RX_BYTES",
}
"""Names in guides and in the exporter's first version that differ from the field's name in lower case."""
KUEUE: Mapping[str, str] = {
    **dict.fromkeys(
        (
            *("pending_workloads", "admitted_active_workloads", "reserving_active_workloads"),
            *("unadmitted_workloads", "finished_workloads", "cluster_queue_status"),
            *("cluster_queue_weighted_share", "cluster_queue_info", "cluster_queue_nominal_quota"),
            *("cluster_queue_borrowing_limit", "cluster_queue_lending_limit"),
            *("cluster_queue_resource_reservation", "cluster_queue_resource_usage"),
            *("cluster_queue_resource_pending", "cohort_info", "cohort_subtree_quota"),
            *("cohort_subtree_admitted_active_workloads", "cohort_subtree_resource_reservations"),
            *("cohort_weighted_share", "admission_cycle_preemption_skips", "build_info"),
            *("local_queue_pending_workloads", "local_queue_admitted_active_workloads"),
            *("local_queue_reserving_active_workloads", "local_queue_unadmitted_workloads"),
            *("local_queue_finished_workloads", "local_queue_status"),
            *("local_queue_resource_reservation", "local_queue_resource_usage"),
            "local_queue_admission_fair_sharing_usage",
            "pending_scheduling_hashes",  # since 0.20
        ),
        "gauge",
    ),
    **dict.fromkeys(
        (
            *("admission_attempts_total", "admitted_workloads_total", "evicted_workloads_total"),
            *("evicted_workloads_once_total", "finished_workloads_total"),
            *("preempted_workloads_total", "quota_reserved_workloads_total"),
            *("replaced_workload_slices_total", "cohort_subtree_admitted_workloads_total"),
            *("local_queue_admitted_workloads_total", "local_queue_evicted_workloads_total"),
            *("local_queue_finished_workloads_total", "local_queue_quota_reserved_workloads_total"),
            "preemption_target_recomputations_total",  # since 0.20
        ),
        "counter",
    ),
    **dict.fromkeys(
        (
            *("admission_attempt_duration_seconds", "pod_scheduling_gate_removal_seconds"),
            *("pods_ready_to_evicted_time_seconds", "workload_creation_latency_seconds"),
            "workload_eviction_latency_seconds",
            # since 0.20
            *("execution_time_seconds", "local_queue_execution_time_seconds"),
            *(f"{each}workload_recovery_wait_time_seconds" for each in ("", "local_queue_")),
            *(
                f"{whose}{waited}_wait_time_seconds"
                for whose in ("", "local_queue_")
                for waited in (
                    *("admission", "admission_checks", "quota_reserved", "ready"),
                    "admitted_until_ready",
                )
            ),
        ),
        "histogram",
    ),
}
"""Kueue's metrics without their prefix, with the type of each."""
KUEUE_PREFIX = "kueue_"
MULTIKUEUE: Mapping[str, str] = {
    "multikueue_workloads_admitted_total": "counter",
    "multikueue_workloads_dispatched_total": "counter",
    # since 0.20
    "multikueue_cluster_status": "gauge",
    "multikueue_workloads_evicted_total": "counter",
}
"""MultiKueue's metrics, with the type of each: their prefix is not Kueue's. The first two exist since 0.19."""
_OF_HISTOGRAMS = ("_bucket", "_sum", "_count")


def kueue_type(metric: str) -> str | None:
    """The type of a Kueue metric; series of a histogram are counters; None if Kueue has no such metric."""
    name = metric.removeprefix(KUEUE_PREFIX)
    for suffix in _OF_HISTOGRAMS:
        if name.endswith(suffix) and KUEUE.get(name.removesuffix(suffix)) == "histogram":
            return "counter"
    return KUEUE.get(name) or MULTIKUEUE.get(metric)


def suggested_metric(metric: str) -> str | None:
    """The exporter's field for a name in a guide: `dcgm_gpu_temp` is DCGM_FI_DEV_GPU_TEMP."""
    low = metric.lower()
    if low in METRIC_ALIASES:
        return METRIC_ALIASES[low]
    bare = low.removeprefix("dcgm_").removeprefix("fi_").removeprefix("dev_").removeprefix("prof_")
    for prefix in (DEV, PROF):
        if (name := f"{prefix}{bare.upper()}") in DCGM_DEFAULT:
            return name
    return None
