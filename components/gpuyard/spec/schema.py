"""The JSON Schema of stack files, for completion and validation in editors."""

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from types import ModuleType
from typing import Any

from pydantic import BaseModel

from gpuyard.spec.platform import PlatformSpec
from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_core.models.problems import models_in
from gpuyard_core.stack_files import CONFIG_KEY

SCHEMA_FILE = "stacks/gpuyard.schema.json"
MODELINE = "# yaml-language-server: $schema=gpuyard.schema.json"
"""The first line of a stack file in `stacks/`; editors with a YAML language server read it."""


def stack_schema() -> dict[str, Any]:
    """Schema of a `Pulumi.<stack>.yaml`; keys of Pulumi itself are not checked."""
    platform = PlatformSpec.model_json_schema(mode="validation", ref_template="#/$defs/{model}")
    definitions = platform.pop("$defs")
    definitions["PlatformSpec"] = platform
    for model in _models(PlatformSpec):
        for field, meaning in field_meanings(model).items():
            definitions[model.__name__]["properties"][field]["description"] = meaning
    for name, forms in _SHORT_FORMS.items():
        generated = definitions[name]
        definitions[name] = {"description": generated["description"], "anyOf": forms(generated)}
    # examples, not an enum: editors offer them, and every other name stays valid
    definitions["Pool"]["properties"]["machine"]["oneOf"][0]["examples"] = [
        name for name, machine in MACHINES.items() if machine.is_gpu_machine
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A Pulumi stack file with a GPU Yard platform",
        "type": "object",
        "properties": {
            "config": {
                "type": "object",
                "properties": {CONFIG_KEY: {"$ref": "#/$defs/PlatformSpec"}},
                "required": [CONFIG_KEY],
            }
        },
        "required": ["config"],
        "$defs": dict(sorted(definitions.items())),
    }


def _models(root: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """The model and, once each, every model that its fields refer to."""
    todo, seen = [root], {root}
    while todo:
        model = todo.pop()
        yield model
        inner = [m for field in model.model_fields.values() for m in models_in(field.annotation)]
        todo += [m for m in inner if m not in seen]
        seen.update(inner)


def _sharing(generated: dict[str, Any]) -> list[Any]:
    """A word, or a mapping whose `mig` is one layout or a list."""
    properties = dict(generated["properties"])
    group = {"$ref": "#/$defs/MigGroup"}
    described = {"description": properties["mig"]["description"]}
    properties["mig"] = {"anyOf": [group, {"type": "array", "items": group}], **described}
    return [{"enum": ["none", "dra"]}, _mapping(properties)]


def _mapping(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


def _mig_group(generated: dict[str, Any]) -> list[Any]:
    """Profiles next to `gpus`, or under `slices`."""
    gpus, slices = (generated["properties"][name] for name in ("gpus", "slices"))
    profiles = {
        "type": "object",
        "patternProperties": {
            r"^\d+g\.\d+gb([+-](me|gfx|me\.all))?$": slices["additionalProperties"]
        },
        "additionalProperties": False,
    }
    described = profiles | {"description": slices["description"]}
    short = profiles | {"properties": {"gpus": gpus}}
    return [short, _mapping({"gpus": gpus, "slices": described}, "slices")]


def _capacity_option(generated: dict[str, Any]) -> list[Any]:
    """A word, or {reserved: ID, nodes: N}; a block may be purchased."""
    buys = {"block": {"purchase": generated["properties"]["purchase"]}}
    nodes = generated["properties"]["nodes"]
    text, number = {"type": "string", "minLength": 1}, nodes["anyOf"][0]
    words = ("flex-start", "spot", "on-demand")
    return [
        {"enum": list(words)},
        *(
            _mapping({mode: text, "nodes": number, **buys.get(mode, {})}, mode, "nodes")
            for mode in ("reserved", "block")
        ),
        *(_mapping({mode: {"enum": [True, None]}, "nodes": nodes}, mode) for mode in words),
        generated,
    ]


def _namespace(generated: dict[str, Any]) -> list[Any]:
    """Its name, or a mapping."""
    name = generated["properties"]["name"]
    short = {key: value for key, value in name.items() if key in {"type", "pattern", "maxLength"}}
    return [short, generated]


_SHORT_FORMS: Mapping[str, Callable[[dict[str, Any]], list[Any]]] = {
    "Sharing": _sharing,
    "MigGroup": _mig_group,
    "CapacityOptionSpec": _capacity_option,
    "TeamNamespace": _namespace,
    "MachinePrice": lambda each: [{"type": "number", "exclusiveMinimum": 0}, each],
    "Addon": lambda each: [{"$ref": each["properties"]["name"]["$ref"]}, each],
    "TrainingRuntime": lambda each: [{"$ref": each["properties"]["framework"]["$ref"]}, each],
}
"""The forms of models with a short form."""


# pydantic can read them itself (`use_attribute_docstrings`), but then for every model at every start, which
# costs 0.1 s per `gpuyard check`. Only the JSON Schema and the reference page need them, so they are read
# only for those.


def field_meanings(model: type[BaseModel]) -> dict[str, str]:
    """The description of each documented field, including those of base classes."""
    meanings: dict[str, str] = {}
    for base in reversed(model.__mro__):
        module = inspect.getmodule(base)
        if module is not None and issubclass(base, BaseModel) and base is not BaseModel:
            meanings |= _in_module(module).get(base.__name__, {})
    return {name: meanings[name] for name in model.model_fields if name in meanings}


@lru_cache(maxsize=64)
def _in_module(module: ModuleType) -> dict[str, dict[str, str]]:
    """By class, the docstring that follows each annotated name."""
    return {
        body.name: {
            field.target.id: inspect.cleandoc(text.value.value)
            for field, text in pairwise(body.body)
            if isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        }
        for body in ast.parse(inspect.getsource(module)).body
        if isinstance(body, ast.ClassDef)
    }
