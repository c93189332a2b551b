"""Typical mistakes: one finding each, with the intended fix."""

import pytest

from gpuyard.spec.read import read_platform
from kit.stacks import platform, pool


def test_a_field_under_another_name_is_not_missing_as_well():
    raw = platform()
    raw["pool"] = raw.pop("pools")
    (finding,) = read_platform(raw).findings
    assert (finding.id, finding.path) == ("spec.unknown_field", ("pool",))
    raw |= {"colour": "red", "kubernete": raw.pop("kubernetes")}
    del raw["cloud"]
    assert [(f.id, f.path) for f in read_platform(raw).findings] == [
        ("spec.missing", ("cloud",)),
        ("spec.unknown_field", ("pool",)),
        ("spec.unknown_field", ("colour",)),
        ("spec.unknown_field", ("kubernete",)),
    ]


@pytest.mark.parametrize(
    ("rung", "says", "value"),
    [
        ({"spot": 4}, "write {spot: true, nodes: 4}", {"spot": True, "nodes": 4}),
        ({"on-demand": 2}, "write {on-demand: true, nodes: 2}", {"on-demand": True, "nodes": 2}),
        ({"reserved": 4}, "write {reserved: RESERVATION-ID, nodes: 4}", None),
        ({"block": 4}, "write {block: RESERVATION-ID, nodes: 4}", None),
    ],
)
def test_a_number_of_nodes_is_no_reservation(rung, says, value):
    (finding,) = read_platform(platform([pool(capacity=[rung])])).findings
    assert (finding.id, finding.path) == ("spec.rung_form", ("pools", 0, "capacity", 0))
    assert (finding.fix.message, finding.fix.value) == (says, value)


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("gpus", "write `gpus_per_node`"),
        ("p", "remove it, or correct its name"),
        ("nodes_", "write `nodes`"),
    ],
)
def test_a_field_is_known_by_its_beginning(key, says):
    raw = platform(shapes=[{"name": "a", key: 1}])
    finding = next(f for f in read_platform(raw).findings if f.id == "spec.unknown_field")
    assert finding.fix.message == says
