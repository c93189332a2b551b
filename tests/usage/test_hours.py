"""Hourly means of an export, and every defect of its samples."""

import resource
from math import inf, nan

from gpuyard_advisor.usage.hours import Defect, DefectReport, hourly_export

A = (("pool", "a"),)
B = (("pool", "b"),)


def defects(samples, period=None):
    return [
        (d.labels, d.defect, d.count, d.first, d.last)
        for d in hourly_export(samples, period).defects
    ]


def test_each_hour_is_the_mean_of_its_samples():
    export = hourly_export([(B, 0, 1), (A, 0, 2), (A, 1800, 4), (A, 3600, 7)])
    assert [(s.labels, dict(s.hours)) for s in export.series] == [
        (A, {0: 3, 1: 7}),
        (B, {0: 1}),
    ]
    assert (export.samples, export.defects) == (4, ())


def test_a_repeated_sample_counts_once_and_another_value_is_a_conflict():
    samples = [(A, 0, 2), (A, 0, 2), (A, 0, 9), (A, 60, nan), (A, 60, nan)]
    export = hourly_export(samples)
    assert dict(export.series[0].hours) == {0: 2}
    assert export.defects == (
        DefectReport(A, Defect.CONFLICT, 1, 0, 0),
        DefectReport(A, Defect.DUPLICATE, 2, 0, 60),
        DefectReport(A, Defect.NOT_A_NUMBER, 1, 60, 60),
    )


def test_older_samples_are_reported_and_not_used():
    samples = [(A, 7200, 1), (A, 0, 5), (A, 60, 5)]
    assert defects(samples) == [(A, Defect.OUT_OF_ORDER, 2, 0, 60)]


def test_stale_markers_and_infinity_leave_a_hole_that_is_reported():
    samples = [(A, 0, 1), (A, 3600, nan), (A, 7200, inf), (A, 3 * 3600, 1), (B, 0, nan)]
    assert defects(samples) == [
        (A, Defect.HOLE, 2, 3600, 7200),
        (A, Defect.NOT_A_NUMBER, 2, 3600, 7200),
        (B, Defect.NOT_A_NUMBER, 1, 0, 0),
    ]


def test_each_gap_is_reported_with_its_hours():
    samples = [(A, hour * 3600, 1) for hour in (0, 2, 3, 6)]
    assert defects(samples) == [
        (A, Defect.HOLE, 1, 3600, 3600),
        (A, Defect.HOLE, 2, 4 * 3600, 5 * 3600),
    ]


def test_samples_of_the_wrong_month_are_reported_and_not_used():
    samples = [(A, 0, 1), (A, 3600, 2), (A, 7200, 3)]
    assert defects(samples, (3600, 7200)) == [(A, Defect.OUTSIDE, 2, 0, 7200)]


def test_memory_grows_with_hours_and_not_with_samples():
    def many(count):
        return ((A, second / 100, 1.0) for second in range(count))

    hourly_export(many(1000))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert hourly_export(many(300_000)).samples == 300_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096
