"""Inputs in a component's state: plain values under the names that all languages use."""

from typing import Any

from gpuyard.spec.pools import CapacityOptionSpec, HostShape, MachineShape
from gpuyard.spec.sections import Addon, TrainingRuntime
from gpuyard.spec.sharing import Sharing
from gpuyard.spec.teams import TeamNamespace
from gpuyard_core.models.values import SpecModel

_AS_WRITTEN = (
    Addon,
    HostShape,
    MachineShape,
    CapacityOptionSpec,
    Sharing,
    TeamNamespace,
    TrainingRuntime,
)
"""Models with several notations in a stack file; they have no type in other languages."""


def camel_case(name: str) -> str:
    """Convert `gpus_per_node` to `gpusPerNode`, the form of names in Pulumi's state and schema."""
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def spec_without_defaults(model: SpecModel) -> dict[str, Any]:
    """A part of the spec without its defaults, so that a changed default does not change the state."""
    return _fields(model, model.model_dump(mode="json", exclude_defaults=True))


def _fields(model: SpecModel, dumped: dict[str, Any]) -> dict[str, Any]:
    return {camel_case(k): _named(getattr(model, k), v) for k, v in dumped.items()}


def _named(value: Any, dumped: Any) -> Any:
    if isinstance(value, SpecModel) and not isinstance(value, _AS_WRITTEN):
        return _fields(value, dumped)
    if isinstance(value, tuple) and isinstance(dumped, list):
        return [_named(one, inner) for one, inner in zip(value, dumped, strict=True)]
    return dumped
