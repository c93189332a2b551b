"""Derived values of records that are shown with their fields, in JSON and by `gpuyard get`.

A property is for code that reads a plan; only a marked property is also part of the plan's document. So a
helper property such as `plan.simulated` adds no key to it.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

HIDDEN: Mapping[str, bool] = {"hidden": True}
"""The metadata of a field that is not part of documents."""
_MARK = "shown_with_the_fields"
_Figure = TypeVar("_Figure", bound=Callable[..., object])


def displayed(figure: _Figure) -> _Figure:
    """Mark the value of a property as shown; the decorator goes below `@property`."""
    setattr(figure, _MARK, True)
    return figure


def displayed_figures(record: type) -> list[str]:
    """The names of the derived values that a type of record shows, in the order of their definition."""
    return [
        name
        for name, member in vars(record).items()
        if isinstance(member, property) and hasattr(member.fget, _MARK)
    ]
