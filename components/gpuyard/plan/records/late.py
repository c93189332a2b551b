"""Values that exist only once a cluster does.

A plan names such a value; it never holds it. Only the Pulumi floor substitutes it with an output, and
`gpuyard render --values` with what the user gives. So plans stay pure, complete at preview, and equal
for equal specs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Late:
    """A value known later, by name: `Late("cluster.name")`."""

    name: str


def bind(value: Any, known: Callable[[str], Any]) -> Any:
    """The same tree with every late value replaced by what `known` gives for its name."""
    if isinstance(value, Late):
        return known(value.name)
    if isinstance(value, Mapping):
        return {k: bind(v, known) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [bind(v, known) for v in value]
    return value


def late_names(value: Any) -> set[str]:
    """The names of all late values in a tree."""
    names: set[str] = set()
    bind(value, names.add)
    return names
