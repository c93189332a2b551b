"""Hours in which nodes that are used may be replaced, said as the hours in which none may."""

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard.plan.capacity.cron import DAY_MINUTES, FIRST_DAY, WEEK_DAYS, Cron, read_cron
from gpuyard.plan.capacity.disruption_window import closed_hours
from gpuyard.spec.sections import DisruptionWindow
from kit.every import every
from kit.searches import examples
from kit.stacks import findings, platform, pool

WEEK = WEEK_DAYS * DAY_MINUTES


@every(
    ("cron", "hours", "closed"),
    [
        ("0 2 * * *", 4, [("0 6 * * *", 20 * 60)]),
        ("0 2 * * 6", 4, [("0 6 * * 6", 164 * 60)]),
        # weekdays at night: one stretch by day, and the weekend's
        ("30 22 * * 1-5", 6, [("30 4 * * 2,3,4,5", 18 * 60), ("30 4 * * 6", 66 * 60)]),
        ("0 2 * * 7", 0.25, [("15 2 * * 0", WEEK - 15)]),
        # what begins on Sunday goes on into Monday
        ("0 20 * * 0", 30, [("0 2 * * 2", WEEK - 30 * 60)]),
        ("0 20 * * 0,1", 30, [("0 2 * * 3", WEEK - 54 * 60)]),
        ("0 2 * * *", 24, []),
        ("0 2 * * 1", 168, []),
        ("nightly", 4, []),
        ("0 2 * * 6", 0.001, [("1 2 * * 6", WEEK - 1)]),
    ],
)
def test_all_hours_but_those_of_upkeep_are_closed(cron, hours, closed):
    assert closed_hours(DisruptionWindow(cron=cron, hours=hours)) == closed


def minutes_of(cron, length):
    """Minutes of a week that begins on Monday, in the simplest way there is."""
    found = read_cron(cron)
    assert isinstance(found, Cron)
    return {
        (number * DAY_MINUTES + minute + each) % WEEK
        for number in range(WEEK_DAYS)
        if found.starts_on(FIRST_DAY + timedelta(days=number))
        for minute in found.minutes
        for each in range(min(length, WEEK))
    }


CRONS = st.builds(
    "{} {} * * {}".format,
    st.sampled_from(["0", "30", "15,45"]),
    st.sampled_from(["0", "2", "22", "3,15", "8-10"]),
    st.sampled_from(["*", "0", "6", "1-5", "0,3", "5-7"]),
)


@given(CRONS, st.integers(1, 168 * 2))
@settings(max_examples=examples(60))
def test_every_minute_of_a_week_is_open_or_closed_and_never_both(cron, halves):
    open_ = minutes_of(cron, halves * 30)
    closed = [
        minute
        for schedule, length in closed_hours(DisruptionWindow(cron=cron, hours=halves / 2))
        for minute in minutes_of(schedule, length)
    ]
    assert set(closed) == set(range(WEEK)) - open_
    assert len(closed) == len(set(closed))


def test_of_a_pool_that_is_refused_nothing_is_said():
    words = {"nodes": "0..4", "machine": "p99.huge", "disruption_window": {"cron": "x", "hours": 1}}
    found = findings(platform([pool(**words)], cloud="aws"))
    assert not [each for each in found if each.id.startswith("upkeep.")]
