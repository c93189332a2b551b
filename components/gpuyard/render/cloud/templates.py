"""Cloud resources in YAML: the constant inputs, with placeholders for what a plan decides.

A file has entries by key, with the fields of `CloudResource`; the key is the default name. In its texts `${zone}` is
a value of the caller, and `${vpc.id}` the output of an earlier resource. A field whose value is None is left out. The
fields of the mapping in `$more` take its place, and `$json` contains a tree that is sent as the text of a JSON
document, such as a policy.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import CloudResource, Joined, Json
from gpuyard_core.catalogue.tables import load_yaml

_PLACEHOLDER = re.compile(r"\$\{([^{}:]+)\}")
_TUPLES = frozenset({"outputs", "after", "ignores"})


def resource_of(file: Path, key: str, /, **values: Any) -> CloudResource:
    """The resource of an entry."""
    fields: dict[str, Any] = {"name": key, **filled(file, key, **values)}
    return CloudResource(**{**fields, **{k: tuple(fields[k]) for k in _TUPLES & fields.keys()}})


def filled(file: Path, key: str, /, **values: Any) -> Any:
    """The tree of an entry with its values."""
    return _filled(_entries(file)[key], values)


@cache
def _entries(file: Path) -> Mapping[str, Any]:
    entries: Mapping[str, Any] = load_yaml(file)
    return entries


def _filled(tree: Any, values: Mapping[str, Any]) -> Any:
    match tree:
        case str():
            return _text(tree, values)
        case {"$json": document}:
            return Json(_filled(document, values))
        case Mapping():
            fields: dict[str, Any] = {}
            for key, each in tree.items():
                value = _filled(each, values)
                if value is not None:
                    fields |= value if key == "$more" else {_text(key, values): value}
            return fields
        case list():
            return [_filled(each, values) for each in tree]
        case _:
            return tree


def _text(text: str, values: Mapping[str, Any]) -> Any:
    """The value of a text that is one placeholder; otherwise a text, joined around late values."""
    before, *rest = _PLACEHOLDER.split(text)
    parts: list[Any] = [before]
    for name, after in zip(rest[::2], rest[1::2], strict=True):
        value = UnresolvedOutput(name) if "." in name else values[name]
        if text == f"${{{name}}}":
            return value
        if isinstance(value, str | int):
            parts[-1] += f"{value}{after}"
        else:
            parts += [value, after]
    return before if not rest else parts[0] if len(parts) == 1 else Joined(*filter(None, parts))
