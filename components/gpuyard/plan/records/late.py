"""Values that exist only once the cluster exists.

A plan contains the name of such a value, never the value. The Pulumi resources replace it by an output,
and `gpuyard render --values` by the user's value. So plans stay pure, complete at preview, and equal for
equal specs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class UnresolvedOutput:
    """A value known later, by name: `Late("cluster.name")`."""

    name: str


def resolve_outputs(value: Any, known: Callable[[str], Any]) -> Any:
    """A copy of the tree in which `known(name)` replaces every late value."""
    if isinstance(value, UnresolvedOutput):
        return known(value.name)
    if isinstance(value, Mapping):
        return {k: resolve_outputs(v, known) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [resolve_outputs(v, known) for v in value]
    return value


def unresolved_output_names(value: Any) -> set[str]:
    """The names of all late values in a tree."""
    names: set[str] = set()
    resolve_outputs(value, names.add)
    return names
