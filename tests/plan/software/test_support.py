"""Nothing vulnerable is planned, and support that ends is said in time, at the exact day."""

import itertools
from datetime import date, timedelta

import pytest

from gpuyard.plan import plan, plan_or_raise
from gpuyard.plan.draft import Draft
from gpuyard.plan.software import support as versions
from gpuyard.plan.software.support import WARN_DAYS, check_kubernetes, check_pins
from gpuyard_core.catalogue.cves import FixedVersion
from gpuyard_core.catalogue.software import support as dates
from gpuyard_core.catalogue.software.pins import GPU_OPERATOR, PINS, Pin
from gpuyard_core.catalogue.software.support import WINDOWS, Window
from gpuyard_core.catalogue.sources import find_source
from gpuyard_core.errors import PlanRejected
from gpuyard_core.findings import Severity
from kit.every import every
from kit.stacks import findings, platform, pool, spec_of

REFUSE, WARN, NOTE = Severity.ERROR, Severity.WARNING, Severity.INFO
MACHINES = {"aws": "p5.48xlarge", "gcp": "a2-highgpu-8g", "none": "p5.48xlarge"}


def pin(name, version, component=""):
    return Pin(name, version, GPU_OPERATOR.source, component)


def raw(cloud, minor):
    return platform([pool(machine=MACHINES[cloud])], cloud=cloud, kubernetes=minor)


def on(cloud, minor, day):
    """The finding about support of a whole plan on a day, None without one."""
    found = [f for f in plan(spec_of(raw(cloud, minor)), day)[1] if f.id == "kubernetes.support"]
    assert len(found) < 2
    return found[0] if found else None


def before(cloud, minor, days, *, extended=False):
    window = WINDOWS[cloud][minor]
    return (window.extended_end if extended else window.standard_end) - timedelta(days=days)


def test_our_own_pins_have_no_known_vulnerability():
    assert check_pins() == check_pins(PINS.values()) == []


def test_a_vulnerable_pin_is_refused_with_the_lowest_that_is_not():
    (found,) = check_pins([pin("gpu-operator", "26.3.1")])
    assert (found.id, found.severity) == ("software.vulnerable", REFUSE)
    assert found.path == ("software", "gpu-operator")
    assert found.problem == (
        "has a published vulnerability: CVE-2026-24260, score 8.5 (NVIDIA bulletin 5850)"
    )
    assert (found.given, found.allowed) == ("gpu-operator 26.3.1", "26.3.2 or later")
    assert found.fix.message == "use gpu-operator 26.3.2 or later"


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        (pin("gpu-operator", "26.3.1"), pin("gpu-operator", "26.3.2")),
        (
            pin("toolkit", "v1.19.0", "container-toolkit"),
            pin("toolkit", "1.19.1", "container-toolkit"),
        ),
        (pin("driver", "580.178.03"), pin("driver", "580.178.04")),
        (pin("dcgm-exporter", "4.6.0-4.8.2"), pin("dcgm-exporter", "4.6.0-4.8.3")),
        (pin("gfd", "0.17.2", "device-plugin"), pin("gfd", "0.17.3", "device-plugin")),
    ],
)
def test_the_floor_itself_passes_and_one_step_below_does_not(bad, good):
    assert [f.id for f in check_pins([bad, good])] == ["software.vulnerable"]


def test_several_vulnerabilities_are_counted_and_the_worst_is_named():
    (found,) = check_pins([pin("driver", "580.126.09")])
    assert found.problem.startswith("has a published vulnerability: CVE-2026-24187, score 8.8 ")
    assert found.problem.endswith(", and 88 more")


def test_a_floor_in_doubt_says_above():
    (found,) = check_pins([pin("dcgm-exporter", "4.8.2")])
    assert (
        found.allowed
        == "above 4.8.2"
        == str(FixedVersion("dcgm-exporter", "4.8.2", unaffected_above=True))
    )


def test_a_score_that_nobody_gave_is_left_out(monkeypatch):
    from dataclasses import replace

    from gpuyard_core.catalogue import cves

    versions._check_pin.cache_clear()
    rows = tuple(replace(row, score=None) for row in cves.advisories())
    monkeypatch.setattr(cves, "advisories", lambda: rows)
    (found,) = check_pins([pin("mig-manager", "0.12.1")])
    assert found.problem.startswith("has a published vulnerability: CVE-2025-23266 (NVIDIA")
    versions._check_pin.cache_clear()


def test_a_driver_branch_without_fixes_is_warned_of():
    (found,) = check_pins([pin("driver", "570.211.01")])
    assert (found.id, found.severity) == ("software.branch_ended", WARN)
    assert "branch 570" in found.problem


@pytest.mark.parametrize("version", ["580.178.04", "620.10.01"])
def test_a_branch_that_gets_fixes_or_is_newer_is_not(version):
    assert check_pins([pin("driver", version)]) == []


def test_a_plan_has_the_findings_of_its_pins(monkeypatch):
    from gpuyard.plan import platform as whole

    monkeypatch.setattr(whole, "CHECKS", (lambda _: check_pins([pin("gpu-operator", "26.3.1")]),))
    found, said = plan(spec_of(platform()))
    assert found is None
    assert [f.id for f in said] == ["software.vulnerable"]


@pytest.mark.parametrize("minor", ["1.33", "1.34", "1.35", "1.36"])
@pytest.mark.parametrize("cloud", MACHINES)
def test_without_a_day_nothing_is_said_about_support(cloud, minor):
    assert findings(raw(cloud, minor)) == []


@pytest.mark.parametrize(("cloud", "minor"), [*itertools.product(MACHINES, ["1.33", "1.36"])])
def test_the_sixtieth_day_warns_and_the_day_before_does_not(cloud, minor):
    assert on(cloud, minor, before(cloud, minor, WARN_DAYS + 1)) is None
    found = on(cloud, minor, before(cloud, minor, WARN_DAYS))
    assert found.severity is WARN
    assert found.problem.endswith("in 60 days")
    assert f"ends on {WINDOWS[cloud][minor].standard_end}" in found.problem


def test_on_a_cluster_of_your_own_the_last_day_warns_and_so_does_the_day_of_the_end():
    last = on("none", "1.35", date(2027, 2, 27))
    assert (last.severity, last.path, last.given) == (WARN, ("kubernetes",), "1.35")
    assert last.problem == (
        "standard support by the Kubernetes project ends on 2027-02-28, in 1 day"
    )
    ended = on("none", "1.35", date(2027, 2, 28))
    assert (ended.severity, ended.fix.message) == (WARN, 'write "1.36"')
    assert ended.problem == "standard support by the Kubernetes project ended on 2027-02-28"


def test_a_plan_after_the_end_is_none_and_before_it_is_not():
    spec = spec_of(raw("aws", "1.34"))
    last, end = (before("aws", "1.34", days, extended=True) for days in (1, 0))
    assert plan(spec, last)[0] is not None
    assert plan(spec, end)[0] is None
    assert plan_or_raise(spec, last).kubernetes == "1.34"
    with pytest.raises(PlanRejected, match=f"extended support on {end}"):
        plan_or_raise(spec, end)
    own = spec_of(raw("none", "1.35"))
    assert plan_or_raise(own, date(2027, 2, 28)).kubernetes == "1.35"


def test_extended_support_warns_that_it_costs_and_its_end_refuses():
    first = on("aws", "1.34", date(2026, 12, 2))
    assert first.severity is WARN
    assert first.problem == (
        "standard support by EKS ended on 2026-12-02;"
        " extended support, for an extra charge, ends on 2027-12-02, in 365 days"
    )
    assert on("aws", "1.34", before("aws", "1.34", 1, extended=True)).severity is WARN
    ended = on("aws", "1.34", before("aws", "1.34", 0, extended=True))
    assert ended.severity is REFUSE
    assert ended.problem.endswith("ended on 2026-12-02, and extended support on 2027-12-02")


def test_a_date_that_its_owner_has_not_confirmed_refuses_nothing_and_says_so():
    ended = on("aws", "1.35", before("aws", "1.35", 0, extended=True))
    assert ended.severity is WARN
    assert "2027-03-27 (not confirmed by EKS)" in ended.problem


def test_extended_support_without_a_date_is_unknown():
    found = on("gcp", "1.33", date(2026, 11, 21))
    assert found.severity is WARN
    assert found.problem == (
        "standard support by GKE ended on 2026-08-03 (not confirmed by GKE); the end of extended "
        "support is unknown"
    )


SOON = [
    (cloud, minor, day)
    for cloud, minor in itertools.product(MACHINES, ["1.33", "1.34", "1.35"])
    for day in (date(2026, 11, 21), date(2026, 12, 2), date(2027, 2, 28))
    if (found := on(cloud, minor, day)) is not None and found.severity is not NOTE
]
"""Where there is something to mend."""


def test_some_cloud_has_a_minor_to_leave_on_each_of_the_days():
    assert len({day for _, _, day in SOON}) == 3
    assert {cloud for cloud, _, _ in SOON} == set(MACHINES)


@every(("cloud", "minor", "day"), SOON)
def test_the_fix_takes_the_finding_away_and_adds_none(cloud, minor, day):
    found = on(cloud, minor, day)
    assert (found.fix.at, found.fix.message) == (("kubernetes",), f'write "{found.fix.value}"')
    assert on(cloud, found.fix.value, day) is None


def test_the_nearest_minor_is_taken():
    assert on("none", "1.33", date(2026, 11, 21)).fix.value == "1.35"
    assert on("aws", "1.33", date(2026, 9, 1)).fix.value == "1.34"


def test_when_nothing_is_free_of_findings_a_refusal_gives_way_to_a_warning():
    day = date(2027, 10, 27)
    assert on("none", "1.37", day).severity is WARN
    assert on("none", "1.37", day).fix is None
    assert on("none", "1.36", day).fix.value == "1.37"


def test_when_everything_has_ended_the_way_out_is_a_newer_release():
    found = on("none", "1.37", date(2027, 10, 28))
    assert found.severity is WARN
    assert (found.fix.at, found.fix.message) == (
        None,
        "upgrade gpuyard to a release that supports a newer Kubernetes",
    )


@pytest.mark.parametrize("day", [date(2020, 1, 1), date(2026, 11, 21), date(2030, 1, 1)])
def test_an_unknown_window_is_noted_and_nothing_is_made_up(day):
    found = on("gcp", "1.37", day)
    assert (found.severity, found.fix) == (NOTE, None)
    assert found.problem == "the end of GKE support for Kubernetes 1.37 is unknown"


def test_an_unknown_window_is_no_better_than_a_warning(monkeypatch):
    soon = Window(
        "1.35",
        date(2026, 12, 1),
        None,
        has_extended=False,
        source=find_source("support.kubernetes-pages"),
    )
    monkeypatch.setattr(dates, "WINDOWS", {"none": {"1.35": soon}})
    (found,) = check_kubernetes(Draft(spec_of(raw("none", "1.35")), date(2026, 11, 21)))
    assert (found.severity, found.fix) == (WARN, None)


def test_a_simulated_cluster_needs_no_support():
    day = date(2030, 1, 1)
    spec = spec_of(platform(cloud="simulated", kubernetes="1.33"))
    assert list(check_kubernetes(Draft(spec, day))) == []
    assert plan(spec, day)[0] is not None


def test_a_minor_that_is_refused_already_is_not_judged_twice():
    said = plan(spec_of(platform(kubernetes="1.32")), date(2026, 10, 15))[1]
    assert [f.id for f in said] == ["kubernetes.unsupported"]


def test_the_same_day_gives_the_same_findings():
    spec, day = spec_of(raw("aws", "1.33")), date(2026, 11, 21)
    assert plan(spec, day)[1] == plan(spec, day)[1]
