"""Support windows: every date has a source, windows are in order, and unknown stays unknown."""

import itertools
from datetime import UTC, date, datetime, timedelta

import pytest

from gpuyard_core.catalogue.software.pins import KUBERNETES_MINORS
from gpuyard_core.catalogue.software.support import (
    WINDOWS,
    OperatorStatus,
    driver_end,
    operator_status,
    support_status,
)
from gpuyard_core.catalogue.sources import find_source

RELEASED = {
    "1.33": date(2025, 4, 23),
    "1.34": date(2025, 8, 27),
    "1.35": date(2025, 12, 17),
    "1.36": date(2026, 4, 22),
    "1.37": date(2026, 8, 26),
}
"""Release dates of minors by the Kubernetes project (kubernetes.io; 1.33 and 1.34 also in the EKS calendar)."""
ROWS = [
    pytest.param(cloud, window, id=f"{cloud}-{minor}")
    for cloud, windows in WINDOWS.items()
    for minor, window in windows.items()
]


@pytest.mark.parametrize(("cloud", "window"), ROWS)
def test_a_window_follows_the_release_and_has_a_source(cloud, window):
    assert window.source.checked_on <= datetime.now(UTC).date()
    # Kubernetes supports a minor for about 14 months; a cloud starts a little later.
    months = (window.standard_end - RELEASED[window.minor]).days / 30.4
    assert 13.5 < months < 16
    if window.extended_end is not None:
        assert window.has_extended
        assert window.standard_end.replace(year=window.standard_end.year + 1) == window.extended_end


@pytest.mark.parametrize("cloud", WINDOWS)
def test_windows_end_in_the_order_of_their_minors(cloud):
    ends = [window.standard_end for window in WINDOWS[cloud].values()]
    assert ends == sorted(set(ends))


def test_a_planned_minor_without_a_window_is_known_as_such():
    missing = {(c, m) for c, ws in WINDOWS.items() for m in KUBERNETES_MINORS if m not in ws}
    assert missing == {("aws", "1.37"), ("gcp", "1.37")}


def test_releases_are_in_order_and_have_an_end():
    assert all(a < b for a, b in itertools.pairwise(RELEASED.values()))
    assert set(WINDOWS["none"]) == set(RELEASED)


def test_what_was_not_seen_on_the_owners_page_is_marked():
    verified = {c: [m for m, w in ws.items() if w.source.verified] for c, ws in WINDOWS.items()}
    assert verified == {"aws": ["1.33", "1.34"], "gcp": [], "none": list(RELEASED)}


@pytest.mark.parametrize(
    ("cloud", "minor", "standard", "extended"),
    [
        ("none", "1.36", 219, None),
        ("none", "1.34", -25, None),
        ("aws", "1.34", 11, 376),
        ("aws", "1.33", -115, 250),
        ("gcp", "1.35", 141, None),
    ],
)
def test_days_left_are_counted_from_the_day_given(cloud, minor, standard, extended):
    seen = support_status(cloud, minor, date(2026, 11, 21))
    assert (seen.days_left, seen.extended_days_left) == (standard, extended)
    later = support_status(cloud, minor, date(2026, 11, 22))
    assert later.days_left == standard - 1


def test_on_the_day_of_the_end_nothing_is_left():
    end = WINDOWS["aws"]["1.34"].standard_end
    assert support_status("aws", "1.34", end).days_left == 0
    assert support_status("aws", "1.34", end - timedelta(days=1)).days_left == 1


@pytest.mark.parametrize(
    ("cloud", "minor"), [("aws", "1.37"), ("gcp", "1.37"), ("simulated", "1.36"), ("azure", "1.36")]
)
def test_an_unknown_window_is_none(cloud, minor):
    assert support_status(cloud, minor, date(2026, 11, 21)) is None


@pytest.mark.parametrize(
    ("version", "status"),
    [
        ("26.7.0", OperatorStatus.SUPPORTED),
        ("v26.7.3", OperatorStatus.SUPPORTED),
        ("26.3.2", OperatorStatus.DEPRECATED),
        ("25.10.1", OperatorStatus.ENDED),
        ("26", OperatorStatus.ENDED),
        ("26.10.0", None),
    ],
)
def test_the_state_of_an_operator_line(version, status):
    assert operator_status(version) is status


def test_every_source_says_where_and_when():
    for id_ in ("kubernetes-pages", "eks-guide", "operator-page"):
        source = find_source(f"support.{id_}")
        assert source.verified
        assert source.title


@pytest.mark.parametrize(
    ("branch", "today", "end"),
    [
        ("590", date(2026, 12, 21), None),
        ("590", date(2026, 12, 22), date(2026, 12, 22)),
        ("590", None, None),
        ("595", date(2027, 3, 24), date(2027, 3, 24)),
        ("615", date(2030, 1, 1), None),
    ],
)
def test_the_end_of_a_driver_branch_is_seen_from_today(branch, today, end):
    assert driver_end(branch, today) == end
