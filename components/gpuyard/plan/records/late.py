"""Values that exist only once the cluster exists.

A plan contains the name of such a value, never the value. The Pulumi resources replace it by an output,
and `gpuyard render --values` by the user's value. So plans stay pure, complete at preview, and equal for
equal specs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.spec.late_inputs import fill_markers, is_late_input, late_input_names


@dataclass(frozen=True, slots=True)
class UnresolvedOutput:
    """A value known later, by name: `Late("cluster.name")`."""

    name: str

    def as_document(self) -> dict[str, str]:
        """The value in JSON documents."""
        return {"late": self.name}


def resolve_outputs(
    value: Any, known: Callable[[str], Any], fill: Callable[..., Any] = fill_markers
) -> Any:
    """A copy of the tree in which `known(name)` replaces every late value.

    `fill(text, known)` replaces the markers of a text.
    """
    if isinstance(value, UnresolvedOutput):
        return known(value.name)
    if is_late_input(value):
        return fill(value, known)
    if isinstance(value, Mapping):
        return {k: resolve_outputs(v, known, fill) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [resolve_outputs(v, known, fill) for v in value]
    return value


def unresolved_output_names(value: Any) -> set[str]:
    """The names of all late values in a tree."""
    names: set[str] = set()
    resolve_outputs(value, names.add, lambda text, _: names.update(late_input_names(text)))
    return names
