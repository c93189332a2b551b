"""The JSON Schema of stack files, for completion and validation in editors."""

import ast
import inspect
from collections.abc import Iterator
from functools import lru_cache
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
    definitions["Sharing"] = _sharing(definitions["Sharing"])
    definitions["MigGroup"] = _mig_group(definitions["MigGroup"])
    definitions["CapacityOptionSpec"] = _capacity_option_schema(definitions["CapacityOptionSpec"])
    definitions["TeamNamespace"] = _namespace(definitions["TeamNamespace"])
    definitions["MachinePrice"] = _machine_price(definitions["MachinePrice"])
    definitions["Addon"] = _named(definitions["Addon"], "name")
    definitions["TrainingRuntime"] = _named(definitions["TrainingRuntime"], "framework")
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


def _sharing(generated: dict[str, Any]) -> dict[str, Any]:
    """Sharing with its short forms: a word, or a mapping whose `mig` is one layout or a list."""
    properties = dict(generated["properties"])
    group = {"$ref": "#/$defs/MigGroup"}
    described = {"description": properties["mig"]["description"]}
    properties["mig"] = {"anyOf": [group, {"type": "array", "items": group}], **described}
    mapping = {"type": "object", "properties": properties, "additionalProperties": False}
    return {"description": generated["description"], "anyOf": [{"enum": ["none", "dra"]}, mapping]}


def _mig_group(generated: dict[str, Any]) -> dict[str, Any]:
    """A group with its short form: profiles next to `gpus`, or under `slices`."""
    gpus, slices = (generated["properties"][name] for name in ("gpus", "slices"))
    profiles = {
        "type": "object",
        "patternProperties": {
            r"^\d+g\.\d+gb([+-](me|gfx|me\.all))?$": slices["additionalProperties"]
        },
        "additionalProperties": False,
    }
    named = {
        "type": "object",
        "properties": {"gpus": gpus, "slices": profiles | {"description": slices["description"]}},
        "required": ["slices"],
        "additionalProperties": False,
    }
    short = profiles | {"properties": {"gpus": gpus}}
    return {"description": generated["description"], "anyOf": [short, named]}


def _capacity_option_schema(generated: dict[str, Any]) -> dict[str, Any]:
    """A capacity option with its short forms: a word, or {reserved: ID, nodes: N}; a block may be purchased."""
    buys = {"block": {"purchase": generated["properties"]["purchase"]}}
    nodes = generated["properties"]["nodes"]
    text, number = {"type": "string", "minLength": 1}, nodes["anyOf"][0]
    reservations = [
        {
            "type": "object",
            "properties": {mode: text, "nodes": number, **buys.get(mode, {})},
            "required": [mode, "nodes"],
            "additionalProperties": False,
        }
        for mode in ("reserved", "block")
    ]
    words = {"enum": ["flex-start", "spot", "on-demand"]}
    limited = [
        {
            "type": "object",
            "properties": {mode: {"enum": [True, None]}, "nodes": nodes},
            "required": [mode],
            "additionalProperties": False,
        }
        for mode in ("flex-start", "spot", "on-demand")
    ]
    return {
        "description": generated["description"],
        "anyOf": [words, *reservations, *limited, generated],
    }


def _namespace(generated: dict[str, Any]) -> dict[str, Any]:
    """A namespace with its short form: its name, or a mapping."""
    name = generated["properties"]["name"]
    short = {key: value for key, value in name.items() if key in {"type", "pattern", "maxLength"}}
    return {"description": generated["description"], "anyOf": [short, generated]}


def _named(generated: dict[str, Any], field: str) -> dict[str, Any]:
    """A model with its short form: the value of one field, or a mapping."""
    short = {"$ref": generated["properties"][field]["$ref"]}
    return {"description": generated["description"], "anyOf": [short, generated]}


def _machine_price(generated: dict[str, Any]) -> dict[str, Any]:
    """A price with its short form: an on-demand price, or one for each way to buy."""
    number = {"type": "number", "exclusiveMinimum": 0}
    return {"description": generated["description"], "anyOf": [number, generated]}


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
    tree = ast.parse(inspect.getsource(module))
    return {c.name: _in_class(c) for c in tree.body if isinstance(c, ast.ClassDef)}


def _in_class(body: ast.ClassDef) -> dict[str, str]:
    results: dict[str, str] = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match text:
                case ast.Expr(value=ast.Constant(value=str(words))):
                    results[field.target.id] = inspect.cleandoc(words)
                case _:
                    pass
    return results
