"""The statement of a month: to the cent of the bill, with every gap."""

from datetime import datetime
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard_advisor.usage.hours import hourly_export
from gpuyard_advisor.usage.samples import read_samples
from gpuyard_advisor.usage.statement import (
    ALLOCATED,
    BILL,
    BILLED,
    COST,
    PRICE,
    USED,
    Gap,
    make_statement,
    month_of,
    split_cents,
)
from gpuyard_core.errors import UsageError
from kit.recorded import NOVEMBER, matrix, recorded

MONTH = month_of("2026-11")
TEAM = {"pool": "train", "team": "vision", "class_": "training"}
START = NOVEMBER // 3600


def costs(used=30.0, idle=10.0, rest=8.0):
    return [
        recorded(COST, used, part="used", **TEAM),
        recorded(COST, idle, part="allocated_idle", **TEAM),
        recorded(COST, rest, pool="train", team="", class_="", part="unallocated"),
    ]


def rows(bill=48.0):
    return [
        recorded(BILL, bill, pool="train"),
        *costs(),
        recorded(ALLOCATED, 4, slice="", **TEAM),
        recorded(USED, 3, slice="", **TEAM),
        recorded(BILLED, 8, pool="train"),
    ]


def statement(series, hours=720, invoice=None, budgets=(), step=3600, month=MONTH):
    text = matrix(series, hours, step=step)
    export = hourly_export(read_samples([text]), month.period)
    return make_statement(month, export, dict(budgets), invoice)


def test_a_month_has_gpu_hours_prices_and_parts_of_each_team():
    made = statement(rows(), budgets={"nlp": 10.0, "vision": None})
    nlp, vision = made.teams
    assert (nlp.team, nlp.total, nlp.usd_per_used, nlp.usd_per_allocated) == ("nlp", 0, None, None)
    assert (vision.allocated, vision.used, vision.idle) == (2880, 2160, 720)
    assert vision.cents == {"used": 2_160_000, "allocated_idle": 720_000}
    assert (vision.usd_per_allocated, vision.usd_per_used) == (10, pytest.approx(40 / 3))
    assert made.others == {"unallocated": 576_000}
    assert (made.cents, made.billed, made.covered, made.gaps) == (3_456_000, 5760, 720, ())
    assert [c.gpu_hours for c in made.charges] == [None, 720, 2160]


def test_a_cost_that_no_series_explains_is_the_remainder():
    made = statement(rows(bill=50.0))
    assert made.others == {"unallocated": 576_000, "remainder": 144_000}
    assert made.cents == 3_600_000


def test_a_pool_with_a_cost_and_no_bill_has_a_negative_remainder():
    other = recorded(COST, 1.0, pool="dev", team="", class_="", part="system")
    assert statement([*rows(), other]).others["remainder"] == -72_000


def test_an_absent_sample_counts_as_zero():
    """A team that holds GPUs for a part of an hour pays for that part."""
    half = [
        recorded(BILL, 12.0, pool="train"),
        recorded(COST, 12.0, part="unallocated", pool="train"),
        recorded(ALLOCATED, 4, slice="", **TEAM),
    ]
    text = matrix(half, 1, step=600)
    samples = [
        s
        for s in read_samples([text])
        if dict(s[0])["__name__"] != ALLOCATED or s[1] < NOVEMBER + 1800
    ]
    made = make_statement(MONTH, hourly_export(samples, MONTH.period), {})
    assert made.teams[0].allocated == 2


@pytest.mark.parametrize("step", [30, 300, 600, 1800, 3600])
def test_the_interval_of_evaluation_changes_no_sum(step):
    made = statement(rows(), hours=24, step=step)
    assert (made.cents, made.covered, made.billed) == (48_00 * 24, 24, 8 * 24)
    assert made.teams[0].allocated == 4 * 24


def test_samples_that_are_more_than_an_hour_apart_are_refused():
    with pytest.raises(UsageError, match="more than an hour apart"):
        statement(rows(), step=7200)


def test_a_fleet_without_nodes_costs_nothing_then():
    """All nodes exist for a part of the first hour, and for none of the others."""
    text = matrix([*rows(), recorded(PRICE, 48.0, pool="train", capacity="on-demand")], 3, step=600)
    samples = [
        s for s in read_samples([text]) if dict(s[0])["__name__"] == PRICE or s[1] < NOVEMBER + 1200
    ]
    made = make_statement(MONTH, hourly_export(samples, MONTH.period), {})
    assert (made.covered, made.cents, made.billed) == (3, 16_00, pytest.approx(8 / 3))
    assert made.gaps == (Gap(BILL, START + 3, START + 720),)


def test_an_invoice_is_split_by_the_recorded_costs():
    made = statement(rows(), invoice=1_728_000)
    assert (made.cents, made.teams[0].total, made.plan_usd) == (1_728_000, 1_440_000, 34_560)


def test_hours_without_a_sample_are_a_line_of_the_invoice_and_of_no_team():
    made = statement(rows(), hours=360, invoice=100_00)
    assert made.others["uncovered"] == 50_00
    assert made.cents == sum(c.cents for c in made.charges) == 100_00
    assert made.gaps == (Gap(BILL, START + 360, START + 720),)


def test_an_invoice_cannot_be_split_by_a_bill_of_zero():
    with pytest.raises(UsageError, match="the recorded bill is 0"):
        statement([recorded(BILL, 0.0, pool="train")], invoice=1)


def test_each_gap_has_its_series_start_and_end():
    def hole(hour):
        return None if hour in {5, 6, 9} else 48.0

    made = statement([recorded(BILL, hole, pool="train"), *rows()[1:]])
    assert [(g.start - START, g.hours) for g in made.gaps] == [(5, 2), (9, 1)]
    assert made.covered == 717
    assert made.cents == 48_00 * 717


def test_a_family_that_is_missing_where_a_team_pays_is_a_gap():
    without_costs = statement(rows()[:1])
    assert [g.series for g in without_costs.gaps] == [f'{COST}{{pool="train"}}']
    without_use = statement([*rows()[:5], *rows()[6:]])
    assert without_use.gaps == (Gap(f'{USED}{{pool="train"}}', START, START + 720),)


def test_two_replicas_of_a_series_are_refused():
    twice = [
        recorded(BILL, 48.0, pool="train", replica="a"),
        recorded(BILL, 48.0, pool="train", replica="b"),
    ]
    with pytest.raises(UsageError, match="several series of gpuyard:bill"):
        statement(twice)


def test_another_month_and_another_export_are_refused():
    with pytest.raises(UsageError, match=r"in 2026-12: [\d,]+ samples are of another month"):
        statement(rows(), hours=24, month=month_of("2026-12"))
    with pytest.raises(UsageError, match="the export has no series gpuyard:bill"):
        statement([recorded("up", 1.0)])


def test_a_month_in_which_the_clock_changes_has_all_its_hours():
    zone = ZoneInfo("America/Los_Angeles")
    month = month_of("2026-11", zone)
    text = matrix(rows(), 760)
    made = make_statement(month, hourly_export(read_samples([text]), month.period), {})
    assert (made.covered, made.cents) == (721, 48_00 * 721)
    assert datetime.fromtimestamp(month.start * 3600, zone).hour == 0


amounts = st.lists(st.fractions(-1000, 1_000_000, max_denominator=10**9), min_size=1)


@given(amounts)
def test_cents_sum_to_the_total_and_each_is_its_amount_to_the_cent(each):
    total = round(sum(each) * 100)
    cents = split_cents(each, total)
    assert sum(cents) == total
    assert all(abs(c - a * 100) <= 1 for c, a in zip(cents, each, strict=True))


prices = st.floats(0.001, 500)


@given(
    st.lists(st.tuples(prices, prices, prices, st.floats(-5, 5)), min_size=1, max_size=5),
    st.sets(st.integers(0, 47), max_size=40),
    st.none() | st.integers(1, 10**9),
)
def test_any_statement_sums_to_the_bill(pools, holes, invoice):
    series = []
    for number, (used, idle, rest, unexplained) in enumerate(pools):
        whose = {"team": f"t{number % 2}", "class_": "x", "pool": f"p{number}"}
        bill = used + idle + rest + unexplained
        none_in = {"pool": f"p{number}", "team": "", "class_": "", "part": "unallocated"}
        for name, value, labels in (
            (BILL, max(bill, 0.001), {"pool": f"p{number}"}),
            (COST, used, {"part": "used", **whose}),
            (COST, idle, {"part": "allocated_idle", **whose}),
            (COST, rest, none_in),
        ):
            series.append(recorded(name, lambda h, v=value: None if h in holes else v, **labels))
    made = statement(series, hours=48, invoice=invoice, budgets={"t0": None})
    bill = sum(Fraction(max(sum(p), 0.001)) for p in pools) * (48 - len(holes)) * 100
    assert abs(made.cents - (bill if invoice is None else invoice)) <= 1
    assert sum(c.cents for c in made.charges) == made.cents
    assert sum(t.total for t in made.teams) + sum(made.others.values()) == made.cents
    assert sum(g.hours for g in made.gaps if g.series == BILL) == 720 - made.covered
