"""Manifests from files, and definitions without the texts of pod templates."""

import copy
from pathlib import Path
from typing import Any

from gpuyard_simulate.definitions import read_manifests, without_pod_descriptions
from kit.levels import require_level

KUEUE = Path(__file__).resolve().parents[2] / ".testbed" / "share" / "kueue" / "crds"


def definition(schema: dict[str, Any]) -> dict[str, Any]:
    versions = [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]
    return {"kind": "CustomResourceDefinition", "spec": {"group": "g", "versions": versions}}


def schema_of(made: dict[str, Any]) -> dict[str, Any]:
    (version,) = made["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]


def test_manifests_are_read_in_the_order_of_files_without_the_empty_ones(tmp_path: Path):
    (tmp_path / "b.yaml").write_text("n: 3\n")
    (tmp_path / "a.yaml").write_text("---\nn: 1\n---\n---\nn: 2\n")
    (tmp_path / "notes.txt").write_text("n: 4\n")
    assert [one["n"] for one in read_manifests(tmp_path)] == [1, 2, 3]


def test_only_texts_of_pod_templates_go():
    text = {"type": "string", "description": "text"}
    pods = {
        "description": "template of pods",
        "properties": {
            "description": {**text, "enum": ["description"], "default": "description"},
            "list": {"items": {**text, "maxLength": 3}, "type": "array"},
            "map": {"additionalProperties": text, "type": "object"},
            "open": {"additionalProperties": True, "x-kubernetes-validations": [{"rule": "r"}]},
        },
    }
    given = definition({"description": "kind", "properties": {"name": text, "template": pods}})
    before = copy.deepcopy(given)
    found = schema_of(without_pod_descriptions(given))
    assert given == before
    assert found["description"] == "kind"
    assert found["properties"]["name"] == text
    assert found["properties"]["template"] == {
        "properties": {
            "description": {"type": "string", "enum": ["description"], "default": "description"},
            "list": {"items": {"type": "string", "maxLength": 3}, "type": "array"},
            "map": {"additionalProperties": {"type": "string"}, "type": "object"},
            "open": {"additionalProperties": True, "x-kubernetes-validations": [{"rule": "r"}]},
        }
    }


def test_two_thirds_of_kueues_definitions_are_such_texts():
    found = read_manifests(KUEUE)
    require_level("cluster", found, "Kueue's definitions are not there; `make tools` brings them")
    assert (
        sum(len(repr(without_pod_descriptions(one))) for one in found)
        < sum(len(repr(one)) for one in found) / 2
    )
    for one in found:
        assert _without_texts(without_pod_descriptions(one)) == _without_texts(one), one[
            "metadata"
        ]["name"]


def _without_texts(value: Any, *, names: bool = False) -> Any:
    """Everything but descriptions; keys below `properties` are names of fields."""
    if isinstance(value, list):
        return [_without_texts(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _without_texts(item, names=key == "properties" and not names)
        for key, item in value.items()
        if names or key != "description"
    }
