"""Every row has a day; the oldest of each kind is found, and old is one day past the limit."""

from datetime import date, timedelta

from gpuyard_core.catalogue.software.ages import LIMITS, ages, dated_sources_by_kind


def test_every_kind_has_a_limit_and_rows_that_are_not_newer_than_their_reading():
    assert dated_sources_by_kind().keys() == LIMITS.keys()
    for found in dated_sources_by_kind().values():
        assert found
        assert all(source.as_of <= source.checked_on for source in found.values())


def test_a_kind_is_old_on_the_day_after_its_limit():
    for each in ages(date(2026, 11, 28)):
        last = each.as_of + timedelta(days=each.limit)
        (on, after) = (
            next(age for age in ages(day) if age.kind == each.kind)
            for day in (last, last + timedelta(days=1))
        )
        assert (on.is_stale, after.is_stale) == (False, True)


def test_regional_prices_of_ec2_are_of_the_day_of_their_list():
    assert dated_sources_by_kind()["prices"]["regions.EC2_REGION_LIST"].as_of == date(2026, 1, 21)
