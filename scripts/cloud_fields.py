"""The table of fields that providers compare and replace by, generated from facts of the providers.

components/gpuyard_core/catalogue/tables/cloud_fields.json has each kind of gpuyard's graphs, each field, and
the fields of each block that a graph sets. `make golden` writes it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from testbed.plugins.cloud import facts

ROOT = Path(__file__).resolve().parent.parent
RENDER = ROOT / "components" / "gpuyard" / "render"
TABLE = ROOT / "components" / "gpuyard_core" / "catalogue" / "tables" / "cloud_fields.json"
CLOUDS = ("aws", "gcp")
KIND = re.compile(r'"((?:aws|gcp):[^"\s]+)"')
WORD = re.compile(r'"(\w+)"')
TIES = frozenset({"conflicts", "exactlyOneOf", "requiredWith", "deprecated"})
"""A field with one of these gets its default from the service, not from the provider."""


def table() -> dict[str, Any]:
    """Facts by kind and field."""
    created: dict[str, Any] = {"sdk": {cloud: facts.sdk(cloud) for cloud in CLOUDS}, "kinds": {}}
    for cloud in CLOUDS:
        text = "".join(sources(cloud))
        words = set(WORD.findall(text))
        for kind in sorted(facts.kinds(cloud)):
            if any(re.fullmatch(written, kind) for written in _written(text)):
                created["kinds"][kind] = _kind(kind, words)
    return created


def _written(text: str) -> set[str]:
    """The kinds in a text, as patterns: some are concatenated."""
    return {re.sub(r"\{[^}]*\}", r"\\w+", each) for each in KIND.findall(text)}


def sources(cloud: str) -> Iterator[str]:
    """The modules and tables that build graphs of a cloud, and shared ones; each word of a table in quotes."""
    for folder in (cloud, "cloud"):
        for path in sorted((RENDER / folder).rglob("*.py")):
            yield path.read_text(encoding="utf-8")
        for path in sorted((RENDER / folder).rglob("resources.yaml")):
            entries = yaml.safe_load(path.read_text(encoding="utf-8"))
            yield " ".join(f'"{word}"' for each in entries.values() for word in _words(each))


def _words(tree: Any) -> Iterator[str]:
    """The fields of a resource, and its texts."""
    if isinstance(tree, Mapping):
        yield from tree
    elif not isinstance(tree, list):
        yield str(tree)
    for each in (
        tree.values() if isinstance(tree, Mapping) else tree if isinstance(tree, list) else ()
    ):
        yield from _words(each)


def _kind(kind: str, words: set[str]) -> dict[str, Any]:
    about = facts.resource(kind)
    if about is None:
        raise ValueError(f"{kind}: a graph uses it, but it is in no table of facts")
    rule = about.get("autoname") or {}
    return {
        "named": rule.get("property", ""),
        "deletes_first": bool(about.get("deleteBeforeReplace")),
        "fields": {
            path: _field(each)
            for path, each in about["inputs"].items()
            if "." not in path or path.partition(".")[0] in words
        },
    }


def _field(about: Mapping[str, Any]) -> dict[str, Any]:
    """The facts for a comparison; defaults (false, text) are left out."""
    created: dict[str, Any] = {} if about["type"] == "string" else {"type": about["type"]}
    created |= {flag: about[flag] for flag in ("replace", "same") if about.get(flag)}
    created |= {flag: True for flag in ("computed", "set", "writeOnly") if about.get(flag)}
    if about.get("default") is not None:
        created["default"] = about["default"]
        if TIES & set(about):
            created["depends_on_service"] = True
    return created


def text() -> str:
    """The text of the table: one field per line, for readable diffs."""
    return _block(table(), 4) + "\n"


def _block(value: Any, levels: int) -> str:
    if levels == 0 or not isinstance(value, Mapping) or not value:
        return json.dumps(value)
    lines = (f"{json.dumps(key)}: {_block(each, levels - 1)}" for key, each in value.items())
    return "{\n" + ",\n".join(lines) + "\n}"
