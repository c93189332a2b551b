"""Metrics are what the exporter's own list has, and names of guides lead to them."""

import pytest

from gpuyard.catalogue.metrics import (
    DCGM_DEFAULT,
    KUEUE,
    METRIC_ALIASES,
    NOT_UNDER_MIG,
    kueue_type,
    suggested_metric,
)
from kit.levels import upstream


def rows(name):
    text = upstream("data", name).read_text(encoding="utf-8")
    found = [line.split(",") for line in text.splitlines() if line.strip() and line[0] != "#"]
    return {row[0].strip(): row[1].strip() for row in found}


@pytest.mark.parametrize("name", ["default-counters.csv", "dcp-metrics-included.csv"])
def test_the_default_is_the_exporter_s_and_the_operator_s(name):
    assert {k: t for k, t in rows(name).items() if t != "label"} == DCGM_DEFAULT


def test_every_name_of_the_exporter_s_first_version_leads_to_one_that_is_served():
    old = rows("1.x-compatibility-metrics.csv")
    assert {name: suggested_metric(name) for name in old if suggested_metric(name) is None} == {}
    assert all(suggested_metric(name) in DCGM_DEFAULT for name in old)


@pytest.mark.parametrize(
    ("guide", "field"),
    [
        ("dcgm_gpu_utilization", "DCGM_FI_DEV_GPU_UTIL"),
        ("dcgm_fb_used", "DCGM_FI_DEV_FB_USED"),
        ("dcgm_fb_free", "DCGM_FI_DEV_FB_FREE"),
        ("dcgm_dram_active", "DCGM_FI_PROF_DRAM_ACTIVE"),
        ("dcgm_gpu_temp", "DCGM_FI_DEV_GPU_TEMP"),
        ("dcgm_power_usage", "DCGM_FI_DEV_POWER_USAGE"),
        ("dcgm_nvlink_bandwidth_total", "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL"),
        ("DCGM_GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL"),
        ("dcgm_tokens", None),
    ],
)
def test_a_name_of_a_guide_leads_to_a_field(guide, field):
    assert suggested_metric(guide) == field


def test_names_are_meant_for_what_is_served():
    assert set(METRIC_ALIASES.values()) <= set(DCGM_DEFAULT)
    assert set(DCGM_DEFAULT) >= NOT_UNDER_MIG
    assert [name for name in KUEUE if name.startswith("kueue_")] == []


@pytest.mark.parametrize(
    ("metric", "kind"),
    [
        ("kueue_pending_workloads", "gauge"),
        ("kueue_evicted_workloads_total", "counter"),
        ("kueue_admission_wait_time_seconds", "histogram"),
        ("kueue_admission_wait_time_seconds_bucket", "counter"),
        ("kueue_local_queue_ready_wait_time_seconds_sum", "counter"),
        ("kueue_pending_workloads_count", None),
        ("kueue_gpu_hours", None),
        ("kueue_pending_scheduling_hashes", "gauge"),
        ("kueue_preemption_target_recomputations_total", "counter"),
        ("kueue_execution_time_seconds", "histogram"),
        ("kueue_local_queue_workload_recovery_wait_time_seconds_bucket", "counter"),
        ("multikueue_workloads_dispatched_total", "counter"),
        ("multikueue_workloads_admitted_total", "counter"),
        ("multikueue_workloads_evicted_total", "counter"),
        ("multikueue_cluster_status", "gauge"),
        ("kueue_multikueue_workloads_dispatched_total", None),
        ("kueue_multikueue_cluster_status", None),
    ],
)
def test_kueue_s_metrics_have_their_types(metric, kind):
    assert kueue_type(metric) == kind
