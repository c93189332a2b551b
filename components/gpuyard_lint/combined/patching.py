"""Patches on plain values: a strategic merge, operations of RFC 6902, and one field set at a path."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpuyard_core.manifests.fields import UNKNOWN, at_path, text

_DIRECTIVE = "$patch"
_MOST_DIGITS = 9
_KEYS = {"volumeMounts": "mountPath", "volumeDevices": "devicePath"}
"""Lists of named objects whose merge key is not the name."""


def strategic_merge(value: Any, patch: Any, *, schema: bool = True, key: str = "") -> Any:
    """A strategic merge: mappings field by field, lists of named items by name, the rest replaced.

    Without a schema, as for custom kinds, every list is replaced.
    """
    if isinstance(value, Mapping) and isinstance(patch, Mapping):
        if patch.get(_DIRECTIVE) == "delete":
            return None
        if patch.get(_DIRECTIVE) == "replace":
            return {name: each for name, each in patch.items() if name != _DIRECTIVE}
        changed = {
            name: strategic_merge(value.get(name), each, schema=schema, key=str(name))
            for name, each in patch.items()
        }
        return {name: each for name, each in {**value, **changed}.items() if each is not None}
    if isinstance(patch, list):
        return _merged_list(value, patch, _KEYS.get(key, "name") if schema else "")
    return patch


def _merged_list(value: Any, patch: list[Any], by: str) -> list[Any]:
    replacements = [  # without a directive for the list
        each for each in patch if not (isinstance(each, Mapping) and set(each) == {_DIRECTIVE})
    ]
    merges = by and _are_told_apart(value, by) and _are_told_apart(patch, by)
    if len(replacements) < len(patch) or not merges:
        return replacements
    more = {each[by]: each for each in patch}
    same = [strategic_merge(each, more.pop(each[by], {})) for each in value]
    added = [each for each in more.values() if _DIRECTIVE not in each]
    return [*(each for each in same if each is not None), *added]


def _are_told_apart(value: Any, by: str) -> bool:
    return isinstance(value, list) and bool(value) and all(text_at_keys(each, by) for each in value)


def text_at_keys(value: Any, *keys: str) -> str:
    """The text at the key, "" for a value that is no text or is unknown."""
    value = at_path(value, keys)
    return value if isinstance(value, str) else ""


def apply_json_patch(value: Any, operation: Mapping[Any, Any]) -> Any:
    """The result of one operation; the source of `copy` and `move` is unknown."""
    path = text(operation, "path")  # as RFC 6901 writes it
    steps = [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]
    word = text(operation, "op")
    if word == "test":
        return value
    if word == "remove":
        return without_path(value, steps)
    return with_set(value, steps, operation.get("value", UNKNOWN), adding=word == "add")


def with_set(value: Any, steps: Sequence[str], new: Any, *, adding: bool = False) -> Any:
    """With another value at a path; unchanged if the path does not exist."""
    if not steps:
        return new
    step, *rest = steps
    if isinstance(value, list):
        return _list_with_set(value, step, rest, new, adding=adding)
    if not isinstance(value, Mapping) and value is not None:
        return value
    below = with_set((value or {}).get(step), rest, new, adding=adding)
    return {**(value or {}), step: below}


def _list_with_set(
    value: list[Any], step: str, rest: Sequence[str], new: Any, *, adding: bool
) -> list[Any]:
    if step == "-":
        return [*value, new]
    if (at := _index(step)) is not None:
        if adding and not rest:
            return [*value[:at], new, *value[at:]]
        return [
            with_set(e, rest, new, adding=adding) if i == at else e for i, e in enumerate(value)
        ]
    wanted = step.removeprefix("[name=").removesuffix("]")
    return [
        with_set(each, rest, new) if wanted in {"*", text_at_keys(each, "name")} else each
        for each in value
    ]


def _index(step: str) -> int | None:
    """The index of a list item; None for a name, and for more digits than any list needs."""
    return int(step) if step.isdecimal() and len(step) <= _MOST_DIGITS else None


def without_path(value: Any, steps: Sequence[str]) -> Any:
    """Without the value at a path; unchanged if the path does not exist."""
    step, *rest = steps or ("",)
    if isinstance(value, list) and (at := _index(step)) is not None:
        if not rest:
            return [each for index, each in enumerate(value) if index != at]
        return [without_path(e, rest) if i == at else e for i, e in enumerate(value)]
    if not isinstance(value, Mapping) or step not in value:
        return value
    if not rest:
        return {key: each for key, each in value.items() if key != step}
    return {**value, step: without_path(value[step], rest)}
