"""What a field means is the text below it; a field without one has no meaning, not its neighbour's."""

from gpuyard.spec.base import SpecModel
from gpuyard.spec.meanings import field_meanings


class Odd(SpecModel):
    """Has a field without a meaning."""

    bare: int
    told: int
    """It has one."""
    last: int = 3


def test_only_what_is_told_has_a_meaning():
    assert field_meanings(Odd) == {"told": "It has one."}
