"""Resources of a Pulumi YAML program: literals and variables; all else is unknown."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard_core.catalogue.cluster.machine_gpus import contains_gpu_machine_name
from gpuyard_core.manifests.fields import PartlyKnown
from gpuyard_lint.items import FileLocation, Item
from gpuyard_lint.pulumi import pulumi_resource
from gpuyard_lint.rules.rule import UNKNOWN, Resource

PROJECT = "a Pulumi program: lint its resources with `pulumi preview --json >preview.json`"
_RUNTIME = "yaml"
_LANGUAGES = frozenset({"python", "nodejs", "go", "dotnet", "java"})
_REFERENCE = re.compile(r"(?<!\$)\$\{([^{}]*)\}")
_FUNCTION = "fn::"
_ABOUT_GPUS = re.compile(r"nvidia|gpu|dcgm|kueue|karpenter|guestAccelerator", re.IGNORECASE)


def is_pulumi_yaml_program(value: Any) -> bool:
    """True for a project file that contains the program."""
    return _runtime(value) == _RUNTIME and isinstance(value.get("resources"), Mapping)


def is_project(value: Any) -> bool:
    """True for a project whose program is in another language and must be run."""
    return _runtime(value) in _LANGUAGES and "name" in value


def _runtime(value: Any) -> str:
    runtime = value.get("runtime") if isinstance(value, Mapping) else None
    name = runtime.get("name") if isinstance(runtime, Mapping) else runtime
    return name if isinstance(name, str) else ""


def program_resources(value: Any, place: FileLocation) -> Iterator[Item]:
    """Every resource; a program that does not mention GPUs gives none of the cloud."""
    declared = value.get("variables")
    variables = declared if isinstance(declared, Mapping) else {}
    written = repr(value)
    about = _ABOUT_GPUS.search(written) is not None or contains_gpu_machine_name(written.encode())
    for name, each in value["resources"].items():
        result = _resource(str(name), each, variables)
        if result is not None and (about or not result.kind.startswith(_CLOUDS)):
            at = (*place.prefix, "resources", name, "properties")
            yield Item(result, replace(place, prefix=at))


_CLOUDS = ("aws:", "gcp:")


def _resource(name: str, value: Any, variables: Mapping[Any, Any]) -> Resource | None:
    if not (isinstance(value, Mapping) and isinstance(value.get("type"), str)) or "get" in value:
        return None  # another program creates what it only reads
    properties = _value(value.get("properties") or {}, variables)
    options = _value(value.get("options") or {}, variables)
    if not (isinstance(properties, Mapping) and isinstance(options, Mapping)):
        return None
    protect = options.get("protect")
    is_protected = None if protect is UNKNOWN else protect is True
    return pulumi_resource(value["type"], name, properties, protected=is_protected)


def _value(value: Any, variables: Mapping[Any, Any]) -> Any:
    """The value with its references resolved, if they are literals."""
    if isinstance(value, str):
        return _text(value, variables)
    if isinstance(value, list):
        return [_value(each, variables) for each in value]
    if not isinstance(value, Mapping):
        return value
    if any(str(key).startswith(_FUNCTION) for key in value):
        return UNKNOWN
    literal_fields = {key: each for key, each in value.items() if not _REFERENCE.search(str(key))}
    results = {key: _value(each, variables) for key, each in literal_fields.items()}
    return results if len(literal_fields) == len(value) else PartlyKnown(results)


def _text(value: str, variables: Mapping[Any, Any]) -> Any:
    """A lone reference has the variable's value, if that has no references; inside text it is unknown."""
    alone = _REFERENCE.fullmatch(value)
    if alone and alone[1] in variables:
        return _value(variables[alone[1]], {})
    return UNKNOWN if _REFERENCE.search(value) else value.replace("$${", "${")
