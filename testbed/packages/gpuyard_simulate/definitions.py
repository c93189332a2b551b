"""Manifests from files, and CRDs without the descriptions of pod templates.

An API server's work for a definition grows with its length, at each start and at each of Kueue's updates. Two
thirds of Kueue's are the descriptions of pod templates in its Workload, which `kubectl explain pod.spec` shows
too; validation does not use descriptions.
"""

from pathlib import Path
from typing import Any

import yaml

from gpuyard_core.manifests.definitions import DefinitionLoader
from gpuyard_simulate.api import ApiObject


def read_manifests(folder: Path, files: str = "*.yaml") -> list[ApiObject]:
    """Every object in these files of a folder, in the order of their names; none where it is no folder."""
    paths = sorted(folder.glob(files))
    return [item for path in paths for item in manifests_in(path.read_text(encoding="utf-8"))]


def manifests_in(text: str) -> list[ApiObject]:
    """Every object in a text."""
    return [item for item in yaml.load_all(text, DefinitionLoader) if item]


def without_pod_descriptions(definition: ApiObject) -> ApiObject:
    """The definition without descriptions in pod templates; validation is unchanged."""
    versions = [
        version | {"schema": _lean_schema(version["schema"])}
        for version in definition["spec"]["versions"]
    ]
    return definition | {"spec": definition["spec"] | {"versions": versions}}


def _lean_schema(result: ApiObject) -> ApiObject:
    return result | {"openAPIV3Schema": _without(result["openAPIV3Schema"], inside=False)}


def _without(schema: ApiObject, *, inside: bool) -> ApiObject:
    """A schema and its nested schemas, without descriptions in pod templates."""
    parts = {key: _part(key, value, inside=inside) for key, value in schema.items()}
    return {key: value for key, value in parts.items() if not (inside and key == "description")}


def _part(key: str, value: Any, *, inside: bool) -> Any:
    if key == "properties":
        return {
            name: _without(result, inside=inside or name == "template")
            for name, result in value.items()
        }
    if key in {"items", "additionalProperties"} and isinstance(value, dict):
        return _without(value, inside=inside)
    return value
