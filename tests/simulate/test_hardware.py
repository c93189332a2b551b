"""Whether a GPU can be cut so, and how a node keeps its layout."""

import pytest

from gpuyard_core.catalogue.gpus import GPUS, MIG_PRODUCTS
from gpuyard_simulate.agents.hardware import LAYOUT, MACHINE_LABEL, fits, hardware_of, layout_text


def node(machine: str, layout: str | None = None) -> dict[str, object]:
    notes = {} if layout is None else {LAYOUT: layout}
    return {"metadata": {"name": "n", "labels": {MACHINE_LABEL: machine}, "annotations": notes}}


@pytest.mark.parametrize(
    ("gpu", "slices", "possible"),
    [
        ("A100-40", {}, True),
        ("A100-40", {"1g.5gb": 7}, True),
        ("A100-40", {"1g.5gb": 8}, False),
        ("A100-40", {"1g.10gb": 4, "1g.5gb": 3}, False),  # seven slices, but nine units of memory
        ("A100-40", {"3g.20gb": 1, "4g.20gb": 1}, True),  # the 3g must not take the first place
        ("A100-40", {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}, True),
        ("A100-40", {"2g.10gb": 3, "1g.5gb": 1}, True),
        ("A100-40", {"3g.20gb": 1, "1g.5gb": 4}, True),
        ("A100-40", {"3g.20gb": 2, "1g.5gb": 1}, False),
        ("A100-40", {"4g.20gb": 1, "1g.10gb": 2}, True),
        ("A100-40", {"1g.10gb": 3, "1g.5gb": 2}, True),
        ("A100-40", {"1g.5gb+me": 2}, False),
        ("A100-40", {"1g.10gb": 1, "1g.20gb": 1}, False),  # a profile of the 80 GB part
        ("A100-80", {"1g.10gb": 7}, True),
        ("A30", {"1g.6gb": 4}, True),
        ("A30", {"1g.6gb+me": 1, "2g.12gb+me": 1}, False),
        ("RTX6000", {"1g.24gb": 2, "2g.48gb": 1}, True),
        ("RTX6000", {"1g.24gb": 3, "2g.48gb": 1}, False),
    ],
)
def test_the_driver_cuts_what_has_a_place(gpu: str, slices: dict[str, int], possible: bool):
    assert fits(MIG_PRODUCTS[gpu], slices) is possible


def test_every_layout_of_an_eight_unit_gpu_is_decided_as_counted_by_hand():
    """37 feasible multisets of the five base profiles, counted apart from this code."""
    from itertools import product

    base = ("1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb")
    counts = product(range(8), range(4), range(3), range(2), range(2))
    possible = [c for c in counts if fits(MIG_PRODUCTS["A100-40"], dict(zip(base, c, strict=True)))]
    assert len(possible) - 1 == 37, "the empty layout aside"


def test_a_new_machine_has_mig_off():
    found = hardware_of(node("p4d.24xlarge"))
    assert found is not None
    assert found.layout == (None,) * 8
    assert found.machine.gpu is GPUS["A100-40"]


def test_a_layout_is_read_as_it_was_written():
    layout = ({"1g.5gb": 7}, None, {}, None, None, None, None, None)
    found = hardware_of(node("p4d.24xlarge", layout_text(layout)))
    assert found is not None
    assert found.layout == layout
    assert found.whole == 6
    assert found.slices() == {"1g.5gb": 7}


@pytest.mark.parametrize(
    "text", ["", "nonsense", "[]", "3", '["x", null, null, null, null, null, null, null]']
)
def test_a_layout_nobody_can_read_is_that_of_a_new_machine(text: str):
    found = hardware_of(node("p4d.24xlarge", text))
    assert found is not None
    assert found.layout == (None,) * 8


def test_a_machine_nobody_knows_is_left_alone():
    assert hardware_of(node("toaster")) is None
    assert hardware_of({"metadata": {"name": "n"}}) is None
