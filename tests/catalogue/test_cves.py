"""Floors and known vulnerabilities, at their exact boundaries."""

from datetime import UTC, date, datetime

import pytest

from gpuyard_core.catalogue.cves import (
    ADVISORIES,
    _advisories,
    _Row,
    advisories,
    branch_of,
    bulletins,
    is_branch_maintained,
    known_vulnerabilities,
    minimum_fixed_version,
)
from kit.every import every

DAY = date(2026, 1, 1)
COMPONENTS = {
    "container-toolkit",
    "dcgm",
    "dcgm-exporter",
    "device-plugin",
    "driver",
    "gpu-operator",
    "kai-scheduler",
    "mig-manager",
}


def ids(component, version):
    return [row.cve for row in known_vulnerabilities(component, version)]


def test_the_table_covers_what_runs_on_a_node():
    assert {row.component for row in advisories()} == COMPONENTS
    assert {row.bulletin for row in advisories()} <= {row.bulletin for row in bulletins()}
    newest = max(row.published for row in advisories())
    assert newest == date(2026, 9, 30)
    assert newest <= ADVISORIES.checked_on <= datetime.now(UTC).date()


@every("row", advisories(), ids=lambda r: f"{r.cve}-{r.component}-{r.branch}")
def test_a_row_is_whole(row):
    assert row.cve.startswith("CVE-20")
    assert 0 < row.score <= 10
    assert (row.branch is None) == (row.component != "driver")
    assert row.branch is None or row.bound.startswith(f"{row.branch}.")
    assert row.branch is None or row.fixed_in.startswith(f"{row.branch}.")


@pytest.mark.parametrize(
    ("component", "branch", "version"),
    [
        ("container-toolkit", None, "1.19.1"),
        ("gpu-operator", None, "26.3.2"),
        ("device-plugin", None, "0.17.3"),
        ("mig-manager", None, "0.12.2"),
        ("dcgm", None, "4.5.3"),
        ("dcgm-exporter", None, "above 4.8.2"),
        ("kai-scheduler", None, "0.13.0"),
        ("driver", "535", "535.309.01"),
        ("driver", "570", "570.211.01"),
        ("driver", "580", "580.178.04"),
        ("driver", "590", "590.48.01"),
        ("driver", "595", "595.91.07"),
        ("driver", "610", "610.57.04"),
        ("driver", "615", "615.71.09"),
    ],
)
def test_the_floor_of_a_component(component, branch, version):
    assert str(minimum_fixed_version(component, branch)) == version


@every("row", advisories(), ids=lambda r: f"{r.cve}-{r.component}-{r.branch}")
def test_nothing_is_known_against_a_floor_and_something_just_below(row):
    lowest = minimum_fixed_version(row.component, row.branch)
    if not lowest.unaffected_above:
        assert ids(row.component, lowest.version) == []
        assert lowest.is_fixed(lowest.version)
    assert ids(row.component, f"{lowest.version}-rc.1")
    assert not lowest.is_fixed(f"{lowest.version}-rc.1")
    assert row in known_vulnerabilities(row.component, f"{row.fixed_in}-rc.1")


@pytest.mark.parametrize(
    ("component", "bad", "good"),
    [
        ("driver", "580.178.03", "580.178.04"),
        ("driver", "595.91.06", "595.91.07"),
        ("container-toolkit", "v1.19.0", "v1.19.1"),
        ("gpu-operator", "v26.3.1", "v26.3.2"),
        ("dcgm", "4.5.2-1", "4.5.3-1"),
        ("dcgm-exporter", "4.5.3-4.8.2-ubuntu22.04", "4.6.0-4.8.3-distroless"),
        ("device-plugin", "v0.17.2", "v0.17.3"),
    ],
)
def test_one_step_makes_the_difference(component, bad, good):
    assert ids(component, bad)
    assert ids(component, good) == []


def test_a_floor_in_doubt_is_above_its_version():
    lowest = minimum_fixed_version("dcgm-exporter")
    assert not lowest.is_fixed("4.5.3-4.8.2")
    assert lowest.is_fixed("4.6.0-4.8.3")
    assert "4.8.2 is taken as affected" in known_vulnerabilities("dcgm-exporter", "4.8.2")[0].doubt


def test_of_two_sources_the_stricter_holds():
    fixed_by_the_bulletin = {r.cve: r for r in known_vulnerabilities("container-toolkit", "1.17.1")}
    assert {"CVE-2024-0135", "CVE-2024-0136", "CVE-2024-0137"} <= set(fixed_by_the_bulletin)
    assert "the later one is taken" in fixed_by_the_bulletin["CVE-2024-0135"].doubt
    assert "CVE-2024-0135" not in ids("container-toolkit", "1.17.3")


def test_a_condition_is_told_and_not_counted_on():
    row = known_vulnerabilities("device-plugin", "0.17.2")[0]
    assert row.condition == "only when device-list-strategy is cdi-annotations and/or cdi-cri"


@pytest.mark.parametrize(
    ("component", "version", "first"),
    [
        ("gpu-operator", "v25.3.4", "CVE-2026-24260"),
        ("gpu-operator", "v24.9.2", "CVE-2025-23266"),
        ("container-toolkit", "1.17.4", "CVE-2025-23266"),
        ("container-toolkit", "1.16.1", "CVE-2024-0132"),
        ("driver", "580.82.07", "CVE-2026-24187"),
    ],
)
def test_versions_that_older_guides_pin_are_vulnerable(component, version, first):
    found = known_vulnerabilities(component, version)
    assert found[0].cve == first
    assert [row.score for row in found] == sorted((r.score for r in found), reverse=True)


def test_a_branch_counts_for_itself():
    assert ids("driver", "535.309.01") == []
    assert branch_of("driver", "535.309.01") == "535"
    assert branch_of("dcgm", "4.6.0") is None


def test_what_no_bulletin_lists_has_no_floor_and_is_not_called_safe():
    assert minimum_fixed_version("kueue") is None
    assert minimum_fixed_version("driver", "620") is None
    assert is_branch_maintained("620") is None
    assert ids("kueue", "0.1") == []


@pytest.mark.parametrize(
    ("branch", "state"),
    [("535", False), ("595", True), ("580", True), ("570", False), ("590", False)],
)
def test_a_branch_that_the_newest_bulletin_leaves_out_has_ended(branch, state):
    assert is_branch_maintained(branch) is state


def test_a_score_that_a_bulletin_leaves_out_is_unknown():
    row = next(_advisories(_Row("1", DAY, "CVE-2026-1", None, "dcgm", ("*<=1.0:1.1",)), None))
    assert (row.score, row.condition, row.doubt) == (None, None, None)


def test_a_broken_table_is_an_error():
    with pytest.raises(ValueError, match="'580=1' in the table of advisories is not a range"):
        list(_advisories(_Row("1", DAY, "CVE-2026-1", 1.0, "driver", ("580=1",)), None))
