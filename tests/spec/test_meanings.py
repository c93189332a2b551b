"""The description of a field is the docstring below it; a field without one has no description."""

from gpuyard.spec.schema import field_meanings
from gpuyard_core.models.values import SpecModel


class Odd(SpecModel):
    """Has fields without a description."""

    bare: int
    told: int
    """It has one."""
    last: int = 3


def test_only_what_is_told_has_a_meaning():
    assert field_meanings(Odd) == {"told": "It has one."}
