"""What changed of one resource, field by field, and what of it makes the resource anew: as its provider says.

The provider compares what it wrote down of the resource with what the program gives now. What the program
leaves out and the provider had filled in is no change.
"""

import ipaddress
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.catalogue.cloud_fields import DEFAULTS, CloudField, CloudKind, cloud_kind
from gpuyard.changes.conditions import CONDITIONS
from gpuyard.changes.unknown_values import UnknownMarker

_NOTHING: tuple[Any, ...] = ("", [], {}, False)


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One difference; None on a side means that it is not there."""

    path: str
    """With the places in lists: `taints[0].effect`."""
    old: Any
    new: Any
    forces_replacement: bool


def field_changes(
    kind: str, state: Mapping[str, Any], inputs: Mapping[str, Any], ignores: tuple[str, ...] = ()
) -> tuple[FieldChange, ...]:
    """All differences from what is there to what is given; somebody else owns the fields of `ignores`."""
    comparison = _Comparison(kind, cloud_kind(kind), state, inputs, frozenset(ignores))
    return tuple(comparison.block("", "", state, inputs))


@dataclass(frozen=True, slots=True)
class _Comparison:
    kind: str
    about: CloudKind
    state: Mapping[str, Any]
    given: Mapping[str, Any]
    ignores: frozenset[str]

    def block(
        self, path: str, where: str, old: Mapping[str, Any], new: Mapping[str, Any] | None
    ) -> Iterator[FieldChange]:
        """The fields of one block, with the defaults of those that are not given."""
        value, filled = new or {}, new is not None
        for name in self.about.nested_fields.get(path, ()):
            inner = f"{path}.{name}" if path else name
            spot = f"{where}.{name}" if where else name
            if inner not in self.ignores:
                yield from self._field(inner, spot, old.get(name), value.get(name), filled=filled)

    def _field(
        self, path: str, where: str, old: Any, new: Any, *, filled: bool
    ) -> Iterator[FieldChange]:
        field = self.about.fields[path]
        if new is None and filled and not field.depends_on_service:
            new = field.default
        is_kept = new is None and (
            _is_unchanged_when_omitted(field, old) or path == self.about.named
        )  # an engine's name stays
        if field.writeOnly or is_kept or _same(field, old, new):
            return
        if field.type == "object" and not isinstance(new, UnknownMarker):
            if old is None or new is None:
                yield self._change(path, where, old, new)
            yield from self.block(path, where, old or {}, new)
        elif field.type.startswith("{") and isinstance(new, Mapping) and isinstance(old, Mapping):
            for key in sorted({*old, *new}):
                if not _same(_PLAIN, old.get(key), new.get(key)):
                    yield self._change(path, f'{where}["{key}"]', old.get(key), new.get(key))
        elif field.type.startswith("[") and isinstance(new, list) and isinstance(old, list):
            yield from self._items(path, where, field, old, new)
        else:
            yield self._change(path, where, old, new)

    def _items(
        self, path: str, where: str, field: CloudField, old: list[Any], new: list[Any]
    ) -> Iterator[FieldChange]:
        if field.set:
            old, new = _left_over(old, new)
        blocks = field.type == "[object]"
        for place in range(max(len(old), len(new))):
            before = old[place] if place < len(old) else None
            after = new[place] if place < len(new) else None
            spot = f"{where}[{place}]"
            is_comparable = (
                not blocks or before is None or after is None or isinstance(after, UnknownMarker)
            )
            if is_comparable and not _same(_PLAIN, before, after):
                yield self._change(path, spot, before, after)
            if blocks and not isinstance(after, UnknownMarker):
                yield from self.block(path, spot, before or {}, after)

    def _change(self, path: str, where: str, old: Any, new: Any) -> FieldChange:
        replaces = self.about.fields[path].replace
        if replaces == "if":
            replaces = CONDITIONS[self.kind, path](self.state, self.given, old, new)
        return FieldChange(where, old, new, bool(replaces))


# ── the same ──────────────────────────────────────────────────────────────────────────────────────
_PLAIN = CloudField()


def _is_unchanged_when_omitted(field: CloudField, old: Any) -> bool:
    """Whether leaving the field out changes nothing."""
    return old is None or field.computed or old in _NOTHING or old == field.default


def _same(field: CloudField, old: Any, new: Any) -> bool:
    if isinstance(old, UnknownMarker):
        return new is not None
    if isinstance(new, UnknownMarker):
        return new is UnknownMarker.QUERIED and old is not None
    old, new = _without_engine_defaults(old), _without_engine_defaults(new)
    if field.type == "string" and isinstance(new, int | float) and not isinstance(new, bool):
        new = json.dumps(new)  # the number of a version is a text
    if old == new and isinstance(old, bool) == isinstance(new, bool):
        return True
    if field.same == "absent":
        return new is None
    if field.same.startswith("empty-or:"):
        return {old or "", new or ""} <= {"", field.same.partition(":")[2]}
    return bool(field.same) and None not in (old, new) and _are_identical(field.same, old, new)


def _without_engine_defaults(value: Any) -> Any:
    """A value without the engine's marks (`__defaults`), and without fields that say nothing."""
    if isinstance(value, Mapping):
        return {
            k: _without_engine_defaults(v)
            for k, v in value.items()
            if k != DEFAULTS and v is not None
        }
    return [_without_engine_defaults(each) for each in value] if isinstance(value, list) else value


def _are_identical(word: str, old: Any, new: Any) -> bool:
    try:
        return bool(_READS[word](old) == _READS[word](new))
    except (ValueError, TypeError):
        return False


_READS: Mapping[str, Callable[[Any], Any]] = {
    "json": json.loads,
    "case": lambda value: str(value).lower(),
    "last-part": lambda value: str(value).rpartition("/")[2],
    "scheme": lambda value: str(value).partition("://")[2] or value,
    "address": ipaddress.ip_network,
    "number": lambda value: str(value).lower().removesuffix("s"),
}


def _left_over(old: list[Any], new: list[Any]) -> tuple[list[Any], list[Any]]:
    """Two sets without what is in both; an answer of the cloud stands for one that is there."""
    left, right = (
        [_without_engine_defaults(each) for each in old],
        [_without_engine_defaults(each) for each in new],
    )
    old_only = [each for each in old if _without_engine_defaults(each) not in right]
    new_only = [each for each in new if _without_engine_defaults(each) not in left]
    unknown = [each for each in new_only if each is UnknownMarker.QUERIED][: len(old_only)]
    return old_only[len(unknown) :], [
        each for each in new_only if each is not UnknownMarker.QUERIED
    ]
