"""The typed mappings for other languages say what the spec says."""

from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

import generate_types
import reference
from gpuyard.resources import arguments
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import BlockPurchase, CapacityOptionSpec, HostShape, MachineShape
from gpuyard.spec.sections import MachineInventory, MachinePrice
from gpuyard.spec.sharing import MigGroup, Sharing
from gpuyard.spec.teams import TeamNamespace
from kit.every import every

SHORTHANDS = {
    *(
        BlockPurchase,
        HostShape,
        MachinePrice,
        MachineShape,
        MigGroup,
        CapacityOptionSpec,
        Sharing,
        TeamNamespace,
    ),
    *reference.models(MachineInventory),
}
"""Models that people may write in several forms, and what is in them: values of any kind elsewhere."""
MODELS = [model for model in reference.models(PlatformSpec) if model not in SHORTHANDS]


def mapping_of(model):
    return getattr(arguments, f"{model.__name__.removesuffix('Spec')}Spec")


def test_the_module_is_what_the_spec_generates(golden):
    golden(generate_types.ARGUMENTS, generate_types.arguments())


@every("model", MODELS, ids=lambda each: each.__name__)
def test_every_field_is_there_and_required_only_where_it_has_no_default(model):
    mapping = mapping_of(model)
    assert set(mapping.__annotations__) == set(model.model_fields)
    required = {name for name, field in model.model_fields.items() if field.is_required()}
    assert mapping.__required_keys__ == required


def test_every_model_with_a_mapping_is_compared():
    mappings = {name for name, value in vars(arguments).items() if is_typeddict(value)}
    assert mappings == {mapping_of(model).__name__ for model in MODELS}


def unions(kind: Any) -> bool:
    """True where a type is more than one thing, which the component host refuses."""
    if get_origin(kind) in {list, dict}:
        return any(unions(inner) for inner in get_args(kind))
    return kind is not Any and not isinstance(kind, type) and not is_typeddict(kind)


@every("model", MODELS, ids=lambda each: each.__name__)
def test_no_type_is_one_that_the_component_host_refuses(model):
    hints = get_type_hints(mapping_of(model))
    assert [name for name, kind in hints.items() if unions(kind)] == []


def test_what_is_written_in_several_forms_is_left_to_the_spec():
    hints = get_type_hints(arguments.PoolSpec)
    assert {name for name, kind in hints.items() if kind is Any} == {
        "machine",
        "nodes",
        "sharing",
        "disk_gib",
        "inventory",
    }
