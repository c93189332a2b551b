"""Signs of trouble: each is known once, has its source, and says the same as the validator does."""

import re

from gpuyard_agents.gate.decisions import _REMEDIES
from gpuyard_core.catalogue.known_issues import (
    IN_WORDS,
    KNOWN_ISSUES,
    Area,
    Remedy,
    find_known_issue,
    issues_for_check,
)
from gpuyard_validator.checks import CHECKS
from gpuyard_validator.checks.health import RECOVERY
from gpuyard_validator.results import Action
from kit.every import every

# NVIDIA's catalogue of 2025-10-29 by its immediate action, as the reference of the validation has it.
RESET = (46, 62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158)
NOTHING = (37, 38, 43, 44, 63, 66, 67, 92, 93, 121, 137, 141)
RESTART_APP = (8, 11, 13, 25, 31, 32, 39, 40, 41, 68, 69, 80, 94)
NVLINK = (74, *range(144, 151))
# What the EKS node agent takes for fatal (dcgm and kernel log, 2026-08-18).
FATAL_ON_EKS = (
    46,
    48,
    54,
    62,
    63,
    64,
    74,
    79,
    95,
    109,
    110,
    119,
    120,
    136,
    140,
    142,
    143,
    151,
    155,
    156,
    158,
)


def test_the_remedies_of_xids_are_those_of_nvidias_catalogue():
    for codes, remedy in (
        (RESET, Remedy.RESET),
        (NOTHING, Remedy.NOTHING),
        (RESTART_APP, Remedy.RESTART_APP),
        (NVLINK, Remedy.FOLLOW),
        ((79, 151), Remedy.REBOOT),
        ((45, 48, 154), Remedy.FOLLOW),
        ((54,), Remedy.LOOK),
    ):
        assert {code: KNOWN_ISSUES[f"xid.{code}"].remedy for code in codes} == dict.fromkeys(
            codes, remedy
        )


def test_what_another_takes_for_fatal_is_known_here():
    mild = (Remedy.NOTHING, Remedy.RESTART_APP)
    found = {code for code in FATAL_ON_EKS if KNOWN_ISSUES[f"xid.{code}"].remedy in mild}
    assert found == {63}, (
        "there the driver's record of remapped rows decides, and the source says so"
    )
    assert "differ" in KNOWN_ISSUES["xid.63"].source.title


def test_the_drivers_advice_is_what_the_validator_says_of_it():
    same = {
        Remedy.LOOK: Action.INVESTIGATE,
        Remedy.RESET: Action.RESET,
        Remedy.REBOOT: Action.REBOOT,
    }
    asked = {value: action for value, (_, action) in RECOVERY.items() if value}
    assert {value: same[KNOWN_ISSUES[f"recovery.{value}"].remedy] for value in asked} == asked
    assert sum(name.startswith("recovery.") for name in KNOWN_ISSUES) == len(asked)


def test_the_words_for_a_remedy_are_one_with_those_of_events():
    assert {Remedy(word) for word in _REMEDIES} == {Remedy.RESET, Remedy.REBOOT, Remedy.REPLACE}
    assert set(IN_WORDS) == set(Remedy)


@every("name", KNOWN_ISSUES)
def test_each_has_all_that_its_reader_needs(name):
    one = KNOWN_ISSUES[name]
    assert re.fullmatch(r"[a-z]+\.[a-z0-9_]+", name)
    assert one.meaning
    assert one.remediation
    assert set(one.checks) <= set(CHECKS)
    assert one.source.title


def test_they_come_in_the_order_in_which_one_looks():
    areas = [each.area for each in KNOWN_ISSUES.values()]
    assert list(dict.fromkeys(areas)) == list(Area)
    assert areas == sorted(areas, key=list(Area).index)


@every(
    "said, found",
    [
        ("xid.79", "xid.79"), ("79", "xid.79"), (" XID 79 ", "xid.79"), ("xid-79", "xid.79"),
        ("cuda 802", "cuda.802"), ("runtime.lost_devices", "runtime.lost_devices"), ("gpu.count", None),
        ("7900", None), ("", None),
    ],
)  # fmt: skip
def test_one_is_found_as_people_call_it(said, found):
    one = find_known_issue(said)
    assert (one.id if one else None) == found


def test_a_check_knows_its_signs():
    assert [each.id for each in issues_for_check("gpu.count")] == [
        "xid.79", "driver.unreachable", "driver.fewer_gpus", "cuda.100",
    ]  # fmt: skip
    assert issues_for_check("none") == []
    unseen = {name for name in CHECKS if not issues_for_check(name)}
    assert not {
        name for name in unseen if name.startswith(("ecc.s", "memory.", "fabric.state", "driver."))
    }
