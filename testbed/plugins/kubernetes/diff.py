"""Diff between the last known object and the current inputs.

Follows Diff, pruneMap and patchConverter in provider/pkg/provider of the official provider: the
live object is reduced to the shape of the old inputs, so fields that the cluster fills in are not a
change, but drift in fields of the inputs is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from pulumi.runtime.proto import provider_pb2 as wire

from testbed.plugins.kubernetes import force_new
from testbed.plugins.kubernetes.values import Object, Unknown, clone, has_unknown

Steps = tuple[str | int, ...]
_Kind = wire.PropertyDiff
_REPLACING = {
    _Kind.ADD: _Kind.ADD_REPLACE,
    _Kind.UPDATE: _Kind.UPDATE_REPLACE,
    _Kind.DELETE: _Kind.DELETE_REPLACE,
}


class _Missing:
    """The field is absent, which differs from null."""


MISSING = _Missing()


def prune(source: Any, shape: Any) -> Any:
    """Reduce the live object to the fields of the inputs."""
    if type(source) is not type(shape):
        return source
    if isinstance(source, dict):
        return {key: prune(value, shape[key]) for key, value in source.items() if key in shape}
    if isinstance(source, list):
        if not source or not shape:
            return []
        if type(source[0]) is not type(shape[0]):
            return clone(source)
        return [prune(value, expected) for value, expected in zip(source, shape, strict=False)]
    return source


def merge_patch(old: Object, new: Object) -> Object:
    """The JSON merge patch (RFC 7386) from old to new; an unknown counts as null, like in the official provider."""
    patch: Object = {key: None for key in old if key not in new}
    for key, value in new.items():
        if isinstance(value, Unknown):
            patch[key] = None
        elif key not in old:
            patch[key] = value
        elif isinstance(value, dict) and isinstance(old[key], dict):
            if nested := merge_patch(old[key], value):
                patch[key] = nested
        elif not _same(value, old[key]) or has_unknown(value):
            patch[key] = value
    return patch


def _same(remaining: Any, right: Any) -> bool:
    if isinstance(remaining, bool) != isinstance(right, bool):
        return False
    return bool(remaining == right)


@dataclass
class Comparison:
    """The detailed diff between an object and its new inputs."""

    force_new: tuple[str, ...]
    found: dict[str, wire.PropertyDiff] = field(default_factory=dict)

    def compare(self, old: Object, new: Object, old_inputs: Object) -> Comparison:
        """Fill in `found`."""
        if patch := merge_patch(old, new):
            self._mapping((), patch, old, new, old_inputs, in_list=False)
        return self

    def ignore(self, patterns: list[str]) -> None:
        """Drop the paths of `ignoreChanges` and everything below them."""
        for pattern in patterns:
            expected = _parse(pattern)
            for written in [key for key in self.found if _contains(expected, _parse(key))]:
                del self.found[written]

    @property
    def replaces(self) -> list[str]:
        kinds = set(_REPLACING.values())
        return [key for key, result in self.found.items() if result.kind in kinds]

    def _value(
        self, steps: Steps, patch: Any, old: Any, new: Any, old_input: Any, *, in_list: bool
    ) -> None:
        if new is MISSING and (patch is not None or old_input is MISSING):
            return
        kind, input_diff = _Kind.UPDATE, False
        if patch is None:
            if isinstance(new, Unknown):
                kind = _Kind.ADD if old is MISSING else _Kind.UPDATE
            else:
                kind, input_diff = _Kind.DELETE, True
        elif old is MISSING:
            kind = _Kind.ADD
        elif isinstance(patch, dict) and isinstance(old, dict):
            self._mapping(steps, patch, old, _dict(new), _dict(old_input), in_list=in_list)
            return
        elif isinstance(patch, list) and isinstance(old, list):
            self._list(steps, patch, old, _list(new), _list(old_input))
            return
        elif _same(patch, old):
            return
        if force_new.replaces(steps, patch, self.force_new):
            kind = _REPLACING[kind]
        self.found[_written(steps)] = wire.PropertyDiff(kind=kind, inputDiff=input_diff)

    def _mapping(
        self,
        steps: Steps,
        patch: Object,
        old: Object,
        new: Object,
        old_input: Object,
        *,
        in_list: bool,
    ) -> None:
        for key, value in patch.items():
            nested = (old.get(key, MISSING), new.get(key, MISSING), old_input.get(key, MISSING))
            self._value((*steps, key), value, *nested, in_list=in_list)
        # A merge patch replaces lists as a whole, so a field removed inside an element is only
        # visible here.
        for key in (key for key in old if in_list and key not in patch):
            self._value(
                (*steps, key),
                None,
                old[key],
                new.get(key, MISSING),
                old_input.get(key, MISSING),
                in_list=True,
            )

    def _list(
        self, steps: Steps, patch: list[Any], old: list[Any], new: list[Any], old_input: list[Any]
    ) -> None:
        for index in range(max(len(patch), len(old))):
            value = _at(patch, index, None)
            before = _at(old, index, MISSING)
            if isinstance(value, Unknown):
                value = None
            self._value(
                (*steps, index),
                value,
                before,
                _at(new, index, None),
                _at(old_input, index, None),
                in_list=True,
            )


def _at(items: list[Any], index: int, default: Any) -> Any:
    return items[index] if index < len(items) else default


def _dict(value: Any) -> Object:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _written(steps: Steps) -> str:
    """A property path as the engine reads it."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif re.search(r'[."\[\]]', step):
            quoted = step.replace('"', '\\"')
            text += f'["{quoted}"]'
        else:
            text += f".{step}" if text else step
    return text


def _parse(written: str) -> Steps:
    """Read a property path: `a.b[0]["c.d"]`, with `*` for any step."""
    steps: list[str | int] = []
    for quoted, index, plain in re.findall(
        r'\["((?:[^"\\]|\\.)*)"\]|\[(\d+|\*)\]|([^.\[\]]+)', written
    ):
        if quoted:
            steps.append(quoted.replace('\\"', '"'))
        elif index:
            steps.append(index if index == "*" else int(index))
        else:
            steps.append(plain)
    return tuple(steps)


def _contains(outer: Steps, inner: Steps) -> bool:
    return len(inner) >= len(outer) and all(
        want in ("*", got) for want, got in zip(outer, inner, strict=False)
    )
