"""The types of the spec in other languages have the fields of the spec."""

import reference
from gpuyard.resources.spec_types import SpecTypes
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import BlockPurchase, CapacityOptionSpec, HostShape, MachineShape
from gpuyard.spec.sections import Addon, MachineInventory, MachinePrice, TrainingRuntime
from gpuyard.spec.sharing import MigGroup, Sharing
from gpuyard.spec.teams import TeamNamespace
from kit.every import every

SHORTHANDS = {
    *(
        Addon,
        BlockPurchase,
        HostShape,
        MachinePrice,
        MachineShape,
        MigGroup,
        CapacityOptionSpec,
        Sharing,
        TeamNamespace,
        TrainingRuntime,
    ),
    *reference.models(MachineInventory),
}
"""Models that people may write in several forms, and what is in them: values of any kind elsewhere."""
MODELS = [model for model in reference.models(PlatformSpec) if model not in SHORTHANDS]
TYPES = SpecTypes("gpuyard").by_name


def name_of(model):
    return f"{model.__name__.removesuffix('Spec')}Spec"


@every("model", MODELS, ids=lambda each: each.__name__)
def test_every_field_is_there_and_required_only_where_it_has_no_default(model):
    found = TYPES[name_of(model)]
    fields = {
        found.properties_mapping[name]: not known.optional
        for name, known in found.properties.items()
    }
    assert fields == {name: field.is_required() for name, field in model.model_fields.items()}


def test_every_type_is_compared():
    assert set(TYPES) == {name_of(model) for model in MODELS}


def test_what_is_written_in_several_forms_is_left_to_the_spec():
    pool = TYPES["PoolSpec"].properties
    anything = {name for name, known in pool.items() if known.ref == "pulumi.json#/Any"}
    assert anything == {"machine", "nodes", "sharing", "diskGib", "inventory"}
