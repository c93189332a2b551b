"""Resources of a Pulumi program in YAML: what it writes out, and its variables; all else is unknown."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard.catalogue.cluster.machine_gpus import names_gpu_machine
from gpuyard.lint.items import FilePlace, Item
from gpuyard.lint.pulumi import pulumi_resource
from gpuyard.manifests.fields import PartlyKnown
from gpuyard.rules.rule import UNKNOWN, Resource

PROJECT = "a Pulumi program: what it makes is in `pulumi preview --json >preview.json`"
_RUNTIME = "yaml"
_LANGUAGES = frozenset({"python", "nodejs", "go", "dotnet", "java"})
_REFERENCE = re.compile(r"(?<!\$)\$\{([^{}]*)\}")
_FUNCTION = "fn::"
_ABOUT_GPUS = re.compile(r"nvidia|gpu|dcgm|kueue|karpenter|guestAccelerator", re.IGNORECASE)


def is_program(value: Any) -> bool:
    """True for a project whose program stands in it."""
    return _runtime(value) == _RUNTIME and isinstance(value.get("resources"), Mapping)


def is_project(value: Any) -> bool:
    """True for a project whose program stands beside it, in a language that has to be run."""
    return _runtime(value) in _LANGUAGES and "name" in value


def _runtime(value: Any) -> str:
    runtime = value.get("runtime") if isinstance(value, Mapping) else None
    name = runtime.get("name") if isinstance(runtime, Mapping) else runtime
    return name if isinstance(name, str) else ""


def program_resources(value: Any, place: FilePlace) -> Iterator[Item]:
    """Every resource; of a program that says no word of GPUs the cloud is somebody else's matter."""
    given = value.get("variables")
    variables = given if isinstance(given, Mapping) else {}
    written = repr(value)
    about = _ABOUT_GPUS.search(written) is not None or names_gpu_machine(written.encode())
    for name, each in value["resources"].items():
        found = _resource(str(name), each, variables)
        if found is not None and (about or not found.kind.startswith(_CLOUDS)):
            at = (*place.prefix, "resources", name, "properties")
            yield Item(found, replace(place, prefix=at))


_CLOUDS = ("aws:", "gcp:")


def _resource(name: str, given: Any, variables: Mapping[Any, Any]) -> Resource | None:
    if not (isinstance(given, Mapping) and isinstance(given.get("type"), str)) or "get" in given:
        return None  # what it only reads, another program makes
    properties = _value(given.get("properties") or {}, variables)
    options = _value(given.get("options") or {}, variables)
    if not (isinstance(properties, Mapping) and isinstance(options, Mapping)):
        return None
    protect = options.get("protect")
    kept = None if protect is UNKNOWN else protect is True
    return pulumi_resource(given["type"], name, properties, protected=kept)


def _value(value: Any, variables: Mapping[Any, Any]) -> Any:
    """The value with what it refers to, where that is written out."""
    if isinstance(value, str):
        return _text(value, variables)
    if isinstance(value, list):
        return [_value(each, variables) for each in value]
    if not isinstance(value, Mapping):
        return value
    if any(str(key).startswith(_FUNCTION) for key in value):
        return UNKNOWN
    whole = {key: each for key, each in value.items() if not _REFERENCE.search(str(key))}
    found = {key: _value(each, variables) for key, each in whole.items()}
    return found if len(whole) == len(value) else PartlyKnown(found)


def _text(value: str, variables: Mapping[Any, Any]) -> Any:
    """A reference alone is what its variable is, where that refers to nothing; in a text it is unknown."""
    alone = _REFERENCE.fullmatch(value)
    if alone and alone[1] in variables:
        return _value(variables[alone[1]], {})
    return UNKNOWN if _REFERENCE.search(value) else value.replace("$${", "${")
