"""Versions that a stack file picks: names, forms, life cycles, Kubernetes, and what the plan then says."""

import pytest

from gpuyard.plan.draft import Draft
from gpuyard.plan.software.pins import check_software, default_pins, effective_pins
from gpuyard.plan.software.support import check_pins
from gpuyard_core.catalogue.software.compatibility import AUTOSCALERS, minors_of
from gpuyard_core.catalogue.software.pins import KUBERNETES_MINORS, NEWEST_TRIED, PINS
from gpuyard_core.findings import Severity
from kit.every import every
from kit.fixes import check_fix
from kit.stacks import findings, ids, plan_of, platform, spec_of
from proofs import applied


def picks(minor="1.36", **software):
    return platform(
        kubernetes=minor, software={k.replace("_", "-"): v for k, v in software.items()}
    )


TRIED = KUBERNETES_MINORS[: KUBERNETES_MINORS.index(NEWEST_TRIED) + 1]


@pytest.mark.parametrize("minor", TRIED)
def test_what_is_pinned_goes_with_every_minor_up_to_the_newest_tried(minor):
    for name, pin in default_pins(minor).items():
        if (name, minor) == ("dra-driver", "1.33"):  # `sharing: dra` has a floor of its own
            continue
        minors = minors_of(name, pin.version)
        assert minors is None or minors.includes(minor), name
    assert check_pins(default_pins(minor).values()) == []
    assert default_pins(minor)["cluster-autoscaler"].version.startswith(f"{minor}.")


def test_there_is_an_autoscaler_for_every_minor_and_an_unknown_minor_keeps_the_pinned_one():
    assert tuple(AUTOSCALERS) == TRIED
    assert default_pins("1.20") == dict(PINS)


def test_the_plan_has_every_version_and_what_the_file_picks_instead():
    plain = plan_of(platform())
    assert dict(plain.software) == {name: pin.version for name, pin in PINS.items()}
    found = plan_of(picks(minor="1.35", kueue="v0.19.1"))
    assert found.software["kueue"] == "v0.19.1"
    assert found.software["cluster-autoscaler"] == "1.35.2"
    assert found.software["gpu-operator"] == PINS["gpu-operator"].version


def test_a_picked_version_says_that_it_comes_from_the_stack_file():
    pin = effective_pins(spec_of(picks(kueue="0.19.1")))["kueue"]
    assert (pin.source.title, pin.source.verified) == ("the stack file", False)
    assert pin.source.checked_on == PINS["kueue"].source.checked_on


def test_what_cannot_be_read_changes_no_version():
    spec = spec_of(picks(kueue="newest", slurm="1.0"))
    assert effective_pins(spec) == default_pins("1.36")
    assert [f.id for f in check_software(Draft(spec))] == ["software.version", "software.unknown"]


TABLE = [
    # component, version, minor, ids
    ("gpu-operator", "26.7.1", "1.33", []),
    ("gpu-operator", "26.3.3", "1.36", ["software.deprecated", "software.untried"]),
    ("gpu-operator", "27.1.0", "1.36", ["software.untried"]),
    ("kueue", "0.18.6", "1.33", ["software.untried"]),
    ("kueue", "0.20.0", "1.34", ["software.untried"]),
    ("kueue", "0.20.0", "1.33", ["software.kubernetes", "software.untried"]),
    ("karpenter", "1.1.0", "1.36", ["software.untried"]),
    ("karpenter", "1.2.0", "1.33", ["software.kubernetes", "software.untried"]),
    ("karpenter", "1.5.0", "1.33", ["software.untried"]),
    ("karpenter", "1.5.9", "1.34", ["software.kubernetes", "software.untried"]),
    ("karpenter-aws", "1.6.0", "1.34", ["software.untried"]),
    ("karpenter-aws", "1.8.0", "1.35", ["software.kubernetes", "software.untried"]),
    ("karpenter-aws", "1.13.0", "1.36", ["software.untried"]),
    ("cluster-autoscaler", "1.35.2", "1.35", []),
    ("cluster-autoscaler", "1.35.0", "1.35", ["software.untried"]),
    ("cluster-autoscaler", "1.34.5", "1.35", ["software.kubernetes", "software.untried"]),
    ("cluster-autoscaler", "1", "1.36", ["software.kubernetes", "software.untried"]),
    ("dra-driver", "0.4.1", "1.33", ["software.kubernetes", "software.untried"]),
    ("dra-driver", "0.4.1", "1.34", ["software.untried"]),
    ("volcano", "1.14.0", "1.33", ["software.untried"]),
    ("cluster-autoscaler", "1.36.1", "1.20", ["kubernetes.unsupported"]),
]


@every(("name", "version", "minor", "expected"), TABLE)
def test_what_goes_with_which_kubernetes(name, version, minor, expected):
    raw = platform(kubernetes=minor, software={name: version})
    found = [f for f in findings(raw) if f.id != "section.deferred"]
    assert [f.id for f in found] == expected
    for finding in found:
        if finding.path[0] == "software":
            check_fix(raw, finding)


@pytest.mark.parametrize(
    ("component", "version", "shown"),
    [
        ("gpu-operator", "26.3.0", "Kubernetes 1.32 to 1.36"),
        ("kueue", "0.19.2", "Kubernetes 1.29 or later"),
        ("karpenter", "1.9.0", "Kubernetes up to 1.35"),
        ("cluster-autoscaler", "1.36.1", "Kubernetes 1.36"),
    ],
)
def test_minors_are_said_in_words(component, version, shown):
    assert str(minors_of(component, version)) == shown


@pytest.mark.parametrize(("component", "version"), [("gpu-operator", "25.3"), ("jobset", "0.12.0")])
def test_what_nobody_says_is_unknown(component, version):
    assert minors_of(component, version) is None


def test_a_picked_version_is_held_against_the_bulletins_and_the_pinned_one_proposed():
    raw = picks(container_toolkit="1.17.3")
    (finding,) = [f for f in findings(raw) if f.severity is Severity.ERROR]
    assert (finding.id, finding.path) == ("software.vulnerable", ("software", "container-toolkit"))
    assert finding.fix.message == 'write "1.20.1", the pinned version'
    check_fix(raw, finding)
    assert ids(applied(raw, finding.fix)) == ["section.deferred"]


def test_a_pinned_version_that_became_vulnerable_keeps_its_own_fix(monkeypatch):
    from gpuyard.plan.software import pins as software

    bad = PINS["gpu-operator"].__class__("gpu-operator", "26.3.1", PINS["gpu-operator"].source)
    monkeypatch.setattr(software, "PINS", {**PINS, "gpu-operator": bad})
    found = list(check_software(Draft(spec_of(picks(kueue="0.19.2")))))
    assert [f.fix.message for f in found] == ["use gpu-operator 26.3.2 or later"]


@pytest.mark.parametrize(
    ("software", "fix", "after"),
    [
        ({"kueu": "0.19.2"}, "write kueue", {"kueue": "0.19.2"}),
        ({"kueu": "0.19.2", "driver": "595.91.07"}, "write kueue", None),
        ({"kueu": "0.19.1", "kueue": "0.19.2"}, "remove it", {"kueue": "0.19.2"}),
        ({"slurm": "24.11"}, "remove it", {}),
    ],
)
def test_a_component_nobody_knows_is_renamed_unless_the_name_is_taken(software, fix, after):
    raw = platform(software=software)
    (finding,) = [f for f in findings(raw) if f.id == "software.unknown"]
    assert finding.fix.message == fix
    check_fix(raw, finding)
    if after is not None:
        assert applied(raw, finding.fix)["software"] == after


def test_a_component_picked_for_a_minor_that_no_version_names_is_sent_to_the_newest_tried():
    raw = picks(minor="1.37", karpenter="1.14.1")
    (found,) = [f for f in findings(raw) if f.id == "software.kubernetes"]
    assert found.fix.message == 'write kubernetes: "1.36"'
