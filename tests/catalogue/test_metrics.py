"""The metric table is what the exporters' own lists have, and names of guides lead to it."""

import csv
import re

import pytest

from gpuyard_core.catalogue.metrics import (
    DCGM,
    Measured,
    dcgm_default,
    exporters,
    kueue_names,
    kueue_type,
    metric_of_series,
    metrics,
    metrics_of,
    suggested_metric,
)
from kit.levels import upstream

LISTS = ["default-counters.csv", "dcp-metrics-included.csv"]


def rows(name, comment=""):
    """Names and types in a list of counters; with a comment sign, of the lines that are commented out."""
    text = upstream("data", name).read_text(encoding="utf-8")
    row = re.compile(rf"{comment}\s*((?:DCGM|dcgm)_\w+)\s*,\s*(gauge|counter|label)\s*,")
    found = [row.match(line) for line in text.splitlines()]
    return {each[1]: each[2] for each in found if each and each[2] != "label"}


@pytest.mark.parametrize("name", LISTS)
def test_the_default_is_the_exporter_s_and_the_operator_s(name):
    assert rows(name) == {name: each.type for name, each in dcgm_default().items()}


@pytest.mark.parametrize("name", LISTS)
def test_counters_that_a_list_has_commented_out_need_a_list_of_one_s_own(name):
    table = metrics_of(DCGM)
    for counter in rows(name, "#").keys() - dcgm_default():
        assert table[counter].type == rows(name, "#")[counter]
        assert table[counter].served == "list"


def test_the_table_has_each_metric_of_kube_state_metrics_with_its_type_and_labels():
    text = upstream("data", "kube-state-metrics.csv").read_text(encoding="utf-8")
    listed = {row["metric"]: row for row in csv.DictReader(text.splitlines())}
    table = metrics_of("kube-state-metrics")
    assert set(table) == set(listed)
    for name, row in listed.items():
        labels = [
            re.sub("^(annotation|label|nodeselector|metadata)_[A-Z_]+$", r"\1_*", x)
            for x in row["labels"].split()
        ]
        assert (table[name].type, [each.name for each in table[name].labels]) == (
            row["type"],
            labels,
        )


def test_each_exporter_has_a_source_and_each_metric_an_exporter():
    assert set(exporters()) == {each.exporter for each in metrics().values()}


def test_types_units_and_modes_are_consistent():
    for name, each in metrics().items():
        if each.exporter == DCGM:
            assert Measured.UNRELATED not in {each.mig, each.shared}, name
            assert each.field.isdigit() != name.startswith("DCGM_EXP_"), name
            assert each.served in {"default", "list"}, name
        else:
            assert {each.mig, each.shared} == {Measured.UNRELATED}, name
        if name.endswith("_seconds"):
            assert each.unit == "seconds", name
        assert len({label.name for label in each.labels}) == len(each.labels), name


def test_names_of_fields_are_those_of_dcgm_with_their_new_names():
    table = metrics_of(DCGM)
    assert (table["DCGM_FI_DEV_GPU_UTIL"].field, table["DCGM_FI_DEV_GPU_UTIL"].renamed) == (
        "203",
        "DCGM_FI_DEV_GPU_UTIL_RATIO",
    )


@pytest.mark.parametrize(
    ("series", "metric"),
    [
        ("kueue_admission_wait_time_seconds_bucket", "kueue_admission_wait_time_seconds"),
        (
            "cluster_autoscaler_function_duration_quantile_seconds_sum",
            "cluster_autoscaler_function_duration_quantile_seconds",
        ),
        ("cluster_autoscaler_function_duration_quantile_seconds_bucket", None),
        ("kueue_pending_workloads", "kueue_pending_workloads"),
        ("kueue_pending_workloads_sum", None),
    ],
)
def test_a_series_belongs_to_a_metric(series, metric):
    found = metric_of_series(series)
    assert (found and found.name) == metric


def test_every_name_of_the_exporter_s_first_version_leads_to_one_that_is_served():
    assert {suggested_metric(name) for name in rows("1.x-compatibility-metrics.csv")} <= set(
        dcgm_default()
    )


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
    assert [name for name in kueue_names() if name.startswith("kueue_")] == []
    assert {n for n, each in dcgm_default().items() if each.mig is Measured.NOTHING} == {
        f"DCGM_FI_DEV_{name}_UTIL" for name in ("GPU", "MEM_COPY", "ENC", "DEC")
    }


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
        ("karpenter_nodeclaims_created_total", None),
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
