"""Warm windows: cron read as cron reads it, hours summed as a clock would count them."""

import random
from datetime import date, timedelta

import pytest

from gpuyard.plan.capacity.cron import Cron, kubernetes_cron, read_cron
from gpuyard.plan.capacity.keep_warm import (
    check_keep_warm,
    time_zones,
    warm_hours_per_week,
    warm_node_hours_per_week,
)
from gpuyard.spec.pools import Pool
from gpuyard_core.findings import Severity
from kit.fixes import check_fix
from kit.stacks import findings, parts, plan_of, platform, pool

WEEKDAYS = {"cron": "0 7 * * 1-5", "hours": 12.0, "nodes": 4}


def pool_with(*windows, nodes="0..8", **rest):
    return Pool.model_validate(pool(nodes=nodes, keep_warm=list(windows), **rest))


def window(cron, hours=1.0, nodes=1, **rest):
    return {"cron": cron, "hours": hours, "nodes": nodes, **rest}


def said(raw):
    return [f for f in findings(raw) if f.id.startswith("warm.")]


# ── cron ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "per_day", "weekdays"),
    [
        ("0 7 * * 1-5", 1, {1, 2, 3, 4, 5}),
        ("0 7 * * mon-FRI", 1, {1, 2, 3, 4, 5}),
        ("0 7 * * 0", 1, {0}),
        ("0 7 * * 7", 1, {0}),
        ("0,30 7-9 * * *", 6, set(range(7))),
        ("*/15 * * * sat,sun", 96, {0, 6}),
        ("10-50/20 5/6 * * *", 12, set(range(7))),
    ],
)
def test_the_fields_are_read(text, per_day, weekdays):
    found = read_cron(text)
    assert isinstance(found, Cron)
    assert len(found.minutes) == per_day
    assert found.weekdays == weekdays
    assert found.weekly


@pytest.mark.parametrize(
    ("text", "both"),
    [
        ("0 7 1 * 1", False),
        ("0 7 * * 1", True),
        ("0 7 1 * *", True),
        ("0 7 */2 * 1", False),
        ("0 7 */1 * 1", True),
        ("0 7 1,* * 1", True),
        ("0 7 1 * */2", False),
    ],
)
def test_days_of_both_kinds_are_met_as_kubernetes_meets_them(text, both):
    """A step above one restricts a field: then either kind of day is enough."""
    found = read_cron(text)
    assert isinstance(found, Cron)
    assert (found.any_day or found.any_weekday) is both


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0 7 * * 1-5", "0 7 * * 1,2,3,4,5"),
        ("0 7 * * mon-FRI", "0 7 * * 1,2,3,4,5"),
        ("0  7 1 JAN *", "0 7 1 jan *"),
        ("0 7 * * 7", "0 7 * * 0"),
        ("*/15 9-17 * * 5-7", "*/15 9-17 * * 0,5,6"),
        ("0 7 * * */2", "0 7 * * 0,2,4,6"),
        ("0 7 1 * */1", "0 7 1 * *"),
        ("at seven", "at seven"),
    ],
)
def test_kubernetes_is_told_the_same_time_in_words_that_it_reads(text, told):
    """It has no 7 for Sunday."""
    assert kubernetes_cron(text) == told
    assert read_cron(told) == read_cron(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0 7 * *", "4 fields instead of five"),
        ("", "0 fields"),
        ("60 7 * * *", "minute `60`: 0 to 59"),
        ("0 24 * * *", "hour `24`: 0 to 23"),
        ("0 7 0 * *", "day of month `0`: 1 to 31"),
        ("0 7 * 13 *", "month `13`: 1 to 12"),
        ("0 7 * * 8", "day of week `8`: 0 to 7"),
        ("0 7 * * lundi", "day of week `lundi`: 0 to 7"),
        ("0 7 * mon *", "month `mon`: 1 to 12"),
        ("0 9-7 * * *", "hour `9-7`: the range is reversed"),
        ("0 7- * * *", "hour `7-`: 0 to 23"),
        ("0 -7 * * *", "hour `-7`: 0 to 23"),
        ("*/0 7 * * *", "minute `*/0`: a step must be a number above 0"),
        ("*/x 7 * * *", "minute `*/x`: a step must be a number above 0"),
        ("0,,5 7 * * *", "minute `0,,5`: 0 to 59"),
        ("99999999999999999999 7 * * *", "minute `99999999999999999999`: 0 to 59"),
    ],
)
def test_what_cron_would_not_read_is_told_by_its_field(text, why):
    found = read_cron(text)
    assert isinstance(found, str)
    assert found.startswith(why)


@pytest.mark.parametrize(
    ("text", "day", "begins"),
    [
        ("0 7 1 * *", date(2027, 3, 1), True),
        ("0 7 1 * *", date(2027, 3, 2), False),
        ("0 7 * feb *", date(2027, 3, 1), False),
        ("0 7 1 * 5", date(2027, 3, 1), True),  # both restricted: either is enough
        ("0 7 1 * 5", date(2027, 3, 5), True),
        ("0 7 1 * 5", date(2027, 3, 6), False),
        ("0 7 */1 * 5", date(2027, 3, 5), True),  # a field with a star: both are needed
        ("0 7 */1 * 5", date(2027, 3, 6), False),
        ("0 7 */2 * 5", date(2027, 3, 12), True),  # a step restricts
        ("0 7 */2 * 5", date(2027, 3, 6), False),
        ("0 7 * * 0", date(2027, 3, 7), True),
    ],
)
def test_days_are_taken_as_cron_takes_them(text, day, begins):
    found = read_cron(text)
    assert isinstance(found, Cron)
    assert found.starts_on(day) is begins


@pytest.mark.parametrize("text", ["0 7 1 * *", "0 7 */2 * *", "0 7 * 1-6 *"])
def test_weeks_are_not_alike_when_a_date_is_named(text):
    found = read_cron(text)
    assert isinstance(found, Cron)
    assert not found.weekly


# ── sums ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("windows", "hours", "node_hours"),
    [
        ([], 0, 0),
        ([WEEKDAYS], 60, 240),
        ([window("0 0 * * *", 24.0, 2)], 168, 336),
        ([window("0 0 * * 1", 168.0, 3)], 168, 504),
        ([window("0 22 * * 0", 8.0, 1)], 8, 8),  # past the end of the week, into its beginning
        ([window("0 22 * * 0", 8.0, 1), window("0 0 * * 1", 8.0, 1)], 10, 10),
        ([window("0 7 * * 1", 4.0, 2), window("0 9 * * 1", 4.0, 5)], 6, 2 * 2 + 4 * 5),
        ([window("0 7 * * 1", 4.0, 5), window("0 8 * * 1", 1.0, 2)], 4, 20),
        ([window("0 * * * 1", 2.0, 1)], 25, 25),  # starts inside a run lengthen it
        ([window("0 7 * * 1", 0.5, 1), window("60 * * * *")], 0.5, 0.5),
    ],
)
def test_hours_and_node_hours_of_a_week(windows, hours, node_hours):
    found = pool_with(*windows)
    assert warm_hours_per_week(found) == pytest.approx(hours)
    assert warm_node_hours_per_week(found) == pytest.approx(node_hours)


def test_nodes_that_run_anyway_are_not_counted():
    assert warm_node_hours_per_week(pool_with(WEEKDAYS), above=1) == pytest.approx(180)
    assert warm_node_hours_per_week(pool_with(WEEKDAYS), above=9) == 0


@pytest.mark.parametrize(
    ("cron", "days_a_year"),
    [("0 7 1 * *", 12), ("0 7 * 2 *", 28.25), ("0 7 13 * 5", 12 + 52.18 - 1.72)],
)
def test_dates_are_averaged_over_the_years(cron, days_a_year):
    hours = warm_hours_per_week(pool_with(window(cron, 2.0)))
    assert hours == pytest.approx(days_a_year * 2 / 365.25 * 7, rel=1e-3)


def counted(windows):
    """The sums again, minute by minute of one week."""
    monday, wanted = date(2027, 1, 4), [0] * 7 * 24 * 60
    for one in windows:
        cron = read_cron(one["cron"])
        for number in range(7):
            if not cron.starts_on(monday + timedelta(days=number)):
                continue
            for start in cron.minutes:
                for minute in range(int(one["hours"] * 60)):
                    at = (number * 24 * 60 + start + minute) % len(wanted)
                    wanted[at] = max(wanted[at], one["nodes"])
    return sum(n > 0 for n in wanted) / 60, sum(wanted) / 60


def test_sums_are_what_a_clock_would_count():
    rng = random.Random(7)  # noqa: S311  no secret is made of it
    for _ in range(20):
        windows = [
            window(
                f"{rng.choice([0, 30])} {rng.randrange(24)} * * {rng.randrange(7)}-6",
                float(rng.choice([1, 3, 10, 30])),
                rng.randint(1, 8),
            )
            for _ in range(rng.randint(1, 3))
        ]
        found = pool_with(*windows)
        expected = counted(windows)
        assert warm_hours_per_week(found) == pytest.approx(expected[0]), windows
        assert warm_node_hours_per_week(found) == pytest.approx(expected[1]), windows


def test_a_planned_pool_has_its_windows():
    found = plan_of(platform([pool(nodes="0..8", keep_warm=[WEEKDAYS])])).pools[0]
    assert warm_hours_per_week(found) == pytest.approx(60)


# ── findings ───────────────────────────────────────────────────────────────────────────────────────

W0 = ("pools", 0, "keep_warm", 0)
FOUND = [
    (
        "warm.cron",
        pool(nodes="0..8", keep_warm=[window("7 o'clock")]),
        (*W0, "cron"),
        (
            "not a valid cron expression: 2 fields instead of five: minute, hour, day of month, "
            "month, day of week"
        ),
        "7 o'clock",
        "five fields, such as `0 7 * * 1-5`: at 7:00 from Monday to Friday",
        "write 0 7 * * 1-5",
    ),
    (
        "warm.cron",
        pool(nodes="0..8", keep_warm=[window("0 7 30 2 *")]),
        (*W0, "cron"),
        "it never starts: no year has such a day",
        "0 7 30 2 *",
        "five fields, such as `0 7 * * 1-5`: at 7:00 from Monday to Friday",
        "write 0 7 * * 1-5",
    ),
    (
        "warm.time_zone",
        pool(nodes="0..8", keep_warm=[{**WEEKDAYS, "time_zone": "Europe/Pariss"}]),
        (*W0, "time_zone"),
        "unknown time zone",
        "Europe/Pariss",
        "an IANA name, such as Europe/Paris or America/New_York",
        "write Europe/Paris",
    ),
    (
        "warm.time_zone",
        pool(nodes="0..8", keep_warm=[{**WEEKDAYS, "time_zone": "12345"}]),
        (*W0, "time_zone"),
        "unknown time zone",
        "12345",
        "an IANA name, such as Europe/Paris or America/New_York",
        "write UTC",
    ),
    (
        "warm.over_nodes",
        pool(nodes="0..3", keep_warm=[WEEKDAYS]),
        (*W0, "nodes"),
        "the window keeps 4 nodes, but the pool may have 3",
        "4",
        "1 to 3",
        "write 3",
    ),
]


@pytest.mark.parametrize("row", FOUND, ids=[f"{r[0]}-{i}" for i, r in enumerate(FOUND)])
def test_a_window_that_cannot_be_is_refused(row):
    kind, one, path, problem, given, allowed, fix = row
    raw = platform([one])
    (finding,) = said(raw)
    assert parts(finding) == (kind, path, problem, given, allowed)
    assert finding.severity is Severity.ERROR
    assert finding.fix.message == fix
    check_fix(raw, finding)


def test_a_pool_without_nodes_has_no_window():
    over, fixed = said(platform([pool(nodes=0, keep_warm=[WEEKDAYS])]))
    assert (over.id, over.allowed, over.fix.message) == (
        "warm.over_nodes",
        "no window",
        "remove the window",
    )
    assert fixed.id == "warm.fixed"


def test_a_window_on_nodes_that_run_anyway_is_pointless():
    (finding,) = said(platform([pool(nodes="4..8", keep_warm=[WEEKDAYS])]))
    assert (finding.id, finding.severity) == ("warm.no_effect", Severity.WARNING)
    assert finding.problem == "4 nodes always run: a window of 4 adds none"
    assert (finding.allowed, finding.fix.value) == ("5 to 8", 5)


def test_a_window_on_a_pool_that_does_not_scale_is_pointless():
    (finding,) = said(platform([pool(nodes=8, keep_warm=[WEEKDAYS])]))
    assert (finding.id, finding.severity, finding.path) == (
        "warm.fixed",
        Severity.WARNING,
        ("pools", 0, "keep_warm"),
    )
    assert finding.problem == (
        "the pool does not scale: its 8 nodes always run, with or without a window"
    )


def test_a_warning_leaves_the_pool_in_the_plan():
    assert plan_of(platform([pool(nodes=8, keep_warm=[WEEKDAYS])])).pools[0].name == "train"


@pytest.mark.parametrize("zone", ["UTC", "Europe/Paris", "America/Argentina/Buenos_Aires"])
def test_time_zones_that_exist_are_taken(zone):
    assert said(platform([pool(nodes="0..8", keep_warm=[{**WEEKDAYS, "time_zone": zone}])])) == []


def test_time_zones_are_looked_for_once():
    """To find them is to open hundreds of files."""
    assert time_zones() is time_zones()


@pytest.mark.parametrize(
    ("zone", "refused"), [("Mars/Olympus_Mons", False), ("Mars Olympus", True)]
)
def test_without_time_zone_data_only_the_form_is_judged(monkeypatch, zone, refused):
    monkeypatch.setattr("gpuyard.plan.capacity.keep_warm.time_zones", frozenset)
    found = check_keep_warm(pool_with({**WEEKDAYS, "time_zone": zone}), ("pools", 0), fixed=False)
    assert [f.id for f in found] == (["warm.time_zone"] if refused else [])
