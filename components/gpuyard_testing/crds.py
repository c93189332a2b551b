"""Find the schema of a custom resource in a folder of CRD files, and check objects against it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from gpuyard_core.manifests.definitions import DefinitionLoader
from gpuyard_testing.openapi import SchemaViolation, violations
from gpuyard_testing.values import is_object

_METADATA = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


class CrdFolder:
    """The CRDs of every YAML file under a folder, each read on first use."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            message = f"{self.folder} is not a folder of CRD files; give crds= an existing folder"
            raise NotADirectoryError(message)

    def definition(self, api_version: str, kind: str) -> Mapping[str, Any] | None:
        """Return the whole CRD that serves `api_version` and `kind`, or None if no file has it."""
        return _definitions(self.folder, kind).get(api_version)

    def violations(self, obj: Mapping[str, Any]) -> list[SchemaViolation] | None:
        """List what the CRD does not allow in this object; None if no CRD serves its kind."""
        api_version, kind = str(obj.get("apiVersion")), str(obj.get("kind"))
        crd = self.definition(api_version, kind)
        if crd is None:
            return None
        version = api_version.rpartition("/")[2]
        served = next(one for one in crd["spec"]["versions"] if one["name"] == version)
        schema = served["schema"]["openAPIV3Schema"]
        return [*violations(_with_object_fields(schema), obj), *_scope_violations(crd, obj)]


def _with_object_fields(schema: Mapping[str, Any]) -> dict[str, Any]:
    # The API server adds these to every CRD; a schema may omit them or declare only their type.
    properties = {**schema.get("properties", {}), "metadata": _METADATA}
    properties.setdefault("apiVersion", {"type": "string"})
    properties.setdefault("kind", {"type": "string"})
    return {**schema, "properties": properties}


def _scope_violations(crd: Mapping[str, Any], obj: Mapping[str, Any]) -> Iterator[SchemaViolation]:
    metadata = obj.get("metadata")
    namespace = metadata.get("namespace") if is_object(metadata) else None
    namespaced = crd["spec"]["scope"] == "Namespaced"
    if namespaced and namespace is None:
        yield "metadata.namespace", f"missing, and {obj['kind']} is namespaced; name the namespace"
    if not namespaced and namespace is not None:
        value = f"given {namespace!r}, but {obj['kind']} is cluster-wide; leave it out"
        yield "metadata.namespace", value


@lru_cache(maxsize=256)
def _definitions(folder: Path, kind: str) -> dict[str, Mapping[str, Any]]:
    """Every served version of one kind; only files that mention it are parsed, which is faster."""
    mention = re.compile(rf"^\s+kind: [\"']?{re.escape(kind)}[\"']?\s*$", re.MULTILINE)
    results: dict[str, Mapping[str, Any]] = {}
    for file in sorted([*folder.rglob("*.yaml"), *folder.rglob("*.yml")]):
        text = _text(file)
        if "CustomResourceDefinition" not in text or not mention.search(text):
            continue
        for document in _documents(file):
            spec = document.get("spec", {})
            if document.get("kind") != "CustomResourceDefinition" or spec["names"]["kind"] != kind:
                continue
            for version in spec["versions"]:
                if version.get("served", True) and "schema" in version:
                    results.setdefault(f"{spec['group']}/{version['name']}", document)
    return results


@lru_cache(maxsize=512)
def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


@lru_cache(maxsize=64)
def _documents(file: Path) -> list[Mapping[str, Any]]:
    read = [
        one
        for one in yaml.load_all(_text(file), Loader=DefinitionLoader)
        if isinstance(one, Mapping)
    ]
    # `kubectl get crd -o yaml` writes one document: a list.
    return [each for one in read for each in (one["items"] if one.get("kind") == "List" else [one])]
