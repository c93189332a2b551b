"""Derived figures of records that are shown with their fields, in JSON and by `gpuyard get`.

A property is for the code that reads a plan; only one that is marked is also promised to whoever reads the
plan's document. So a question that is easier asked of a record (`plan.simulated`) adds no key to it.
"""

from collections.abc import Callable
from typing import TypeVar

_MARK = "shown_with_the_fields"
_Figure = TypeVar("_Figure", bound=Callable[..., object])


def displayed(figure: _Figure) -> _Figure:
    """Mark what a property returns as shown; stands below `@property`."""
    setattr(figure, _MARK, True)
    return figure


def displayed_figures(record: type) -> list[str]:
    """The names of the derived figures that a kind of record shows, in the order in which it has them."""
    return [
        name
        for name, member in vars(record).items()
        if isinstance(member, property) and hasattr(member.fget, _MARK)
    ]
