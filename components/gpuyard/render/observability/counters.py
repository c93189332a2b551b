"""The list of counters of the DCGM exporter, from the metric table."""

from gpuyard.catalogue.metrics import DCGM, Metric, metrics_of
from gpuyard.plan.records import PlatformPlan

COUNTERS_FILE = "dcgm-metrics.csv"
"""The key that the GPU Operator mounts (gpu-operator v26.7 controllers/object_controls.go)."""
LISTED = frozenset(
    {
        "DCGM_EXP_CLOCK_EVENTS_COUNT",
        "DCGM_EXP_XID_ERRORS_COUNT",
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
        "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",
        "DCGM_FI_DEV_FB_TOTAL",
        "DCGM_FI_DEV_GET_GPU_RECOVERY_ACTION",
        "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL",
        "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
        "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL",
        "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL",
        "DCGM_FI_DEV_POWER_VIOLATION",
        "DCGM_FI_DEV_THERMAL_VIOLATION",
        "DCGM_FI_PROF_NVLINK_RX_BYTES",
        "DCGM_FI_PROF_NVLINK_TX_BYTES",
        "DCGM_FI_PROF_SM_ACTIVE",
        "DCGM_FI_PROF_SM_OCCUPANCY",
    }
)
"""Counters besides those of the exporter's default list: rules and dashboards read them."""


def counter_list(_plan: PlatformPlan) -> tuple[Metric, ...]:
    """The counters of the exporter; a GPU without one of them has no series of it."""
    return tuple(
        each
        for name, each in metrics_of(DCGM).items()
        if each.served == "default" or name in LISTED
    )


def counters_text(plan: PlatformPlan) -> str:
    """The list as the exporter reads it: three columns, so a text has no comma."""
    lines = [f"{m.name}, {m.type.value}, {m.unit or m.name}" for m in counter_list(plan)]
    return "\n".join([*lines, "DCGM_FI_DRIVER_VERSION, label, Driver version", ""])
