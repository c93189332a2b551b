"""The action of a deployment on each resource of a graph: none, update, or replacement.

A replaced resource has new outputs, which may replace its dependents too.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gpuyard.changes.deployed_state import DeployedResource
from gpuyard.changes.fields import (
    FieldChange,
    UnknownMarker,
    at_path,
    field_changes,
    has_unknown,
    replace_unknowns,
)
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import CloudCall, CloudGraph, CloudResource, late_value_names
from gpuyard.spec.late_inputs import INPUT
from gpuyard_core.catalogue.cloud_fields import cloud_kind

_PICKS = frozenset(
    {"aws:index/getAvailabilityZones:getAvailabilityZones", "aws:ec2/getSubnets:getSubnets"}
)
"""Queries whose result changes with the stack file or the cloud."""
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"


class ResourceAction(StrEnum):
    """The action on a resource."""

    SAME = "same"
    UPDATE = "update"
    REPLACE = "replace"
    CREATE = "create"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceChange:
    """The change of one resource of the graph, or of one that left the graph."""

    action: ResourceAction
    kind: str
    name: str
    part: str = ""
    fields: tuple[FieldChange, ...] = ()
    reason: tuple[str, ...] = ()
    """Resources whose replacement also replaces this one."""
    has_queried_inputs: bool = False
    """Some inputs are queried from the cloud and assumed to be unchanged."""
    may_be_replaced: bool = False
    """A different query result would replace it."""
    protect: bool = False
    existing: DeployedResource | None = None

    @property
    def replacing_fields(self) -> tuple[FieldChange, ...]:
        """The changed fields that replace it."""
        return tuple(each for each in self.fields if each.forces_replacement)


def graph_changes(
    graph: CloudGraph, existing: Mapping[str, DeployedResource]
) -> tuple[ResourceChange, ...]:
    """Changes in the order of the graph, removals last."""
    walk = _Walk(existing, {call.name: call for call in graph.calls})
    for each in graph.resources:
        walk.visit(each)
    known = {each.name: each.kind for each in graph.resources}
    removed = (name for name, each in existing.items() if known.get(name) != each.kind)
    return (
        *walk.found.values(),
        *(
            ResourceChange(
                action=ResourceAction.DELETE,
                kind=existing[name].kind,
                name=name,
                protect=existing[name].protect,
                existing=existing[name],
            )
            for name in sorted(removed)
        ),
    )


def group_by_root_replacement(
    changes: Iterable[ResourceChange],
) -> dict[str, tuple[ResourceChange, ...]]:
    """For each replacement with its own reason: itself and all replacements that follow from it."""
    replaced = {each.name: each for each in changes if each.action is ResourceAction.REPLACE}
    results: dict[str, list[ResourceChange]] = {}
    for each in replaced.values():
        for root in sorted(set(_roots(each, replaced))):
            results.setdefault(root, []).append(each)
    return {root: tuple(what) for root, what in results.items()}


def _roots(each: ResourceChange, replaced: Mapping[str, ResourceChange]) -> Iterator[str]:
    if not each.reason:
        yield each.name
    for name in each.reason:
        yield from _roots(replaced[name], replaced)


@dataclass(slots=True)
class _Walk:
    there: Mapping[str, DeployedResource]
    calls: Mapping[str, CloudCall]
    found: dict[str, ResourceChange] = field(default_factory=dict[str, ResourceChange])
    after: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Known outputs of each resource before the deployment."""
    deleted_first: set[str] = field(default_factory=set[str])
    """Resources that are deleted before they are created again."""

    def visit(self, each: CloudResource) -> None:
        """Compare one resource, after those on which it depends."""
        inputs = replace_unknowns(
            {key: value for key, value in each.inputs.items() if value is not None}, self._known
        )
        existing = self.there.get(each.name)
        if existing is None or existing.kind != each.kind:
            self._say(each, ResourceAction.CREATE, inputs)
            return
        outputs = {**existing.outputs, "id": existing.id}
        inputs |= {
            key: UnknownMarker.COMPUTED
            for key in inputs
            if self._is_excluded(each.inputs[key], outputs.get(key))
        }
        fields = field_changes(each.kind, outputs, inputs, each.ignores)
        if not any(one.forces_replacement for one in fields) and (
            unknown := self._taken_along(each, inputs)
        ):
            # Deleted with its dependency, before that is created again, even with the same name.
            along = field_changes(each.kind, outputs, {**inputs, **unknown}, each.ignores)
            fields = tuple(one for one in along if one.forces_replacement) or fields
        verdict = ResourceAction.SAME
        if fields:
            replaced = any(one.forces_replacement for one in fields)
            verdict = ResourceAction.REPLACE if replaced else ResourceAction.UPDATE
        self._say(each, verdict, inputs, existing, fields)

    def _is_excluded(self, given: Any, old: Any) -> bool:
        """Whether the query now excludes the deployed result, which therefore changes."""
        call = (
            self.calls.get(given.name.partition(".")[0])
            if isinstance(given, UnresolvedOutput)
            else None
        )
        return call is not None and old in call.args.get("excludeNames", ())

    def _taken_along(self, each: CloudResource, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs from resources that are deleted before creation: unknown to the engine."""
        return {
            key: UnknownMarker.COMPUTED
            for key in inputs
            if self.deleted_first.intersection(_holders(each.inputs[key]))
        }

    def _say(
        self,
        each: CloudResource,
        verdict: ResourceAction,
        inputs: Mapping[str, Any],
        existing: DeployedResource | None = None,
        fields: tuple[FieldChange, ...] = (),
    ) -> None:
        if verdict is ResourceAction.REPLACE:
            about = cloud_kind(each.kind)
            # Explicit names are unique, so the old resource must be deleted first.
            is_named = inputs.get(about.named) is not None
            if each.delete_first or about.delete_before_replace or is_named:
                self.deleted_first.add(each.name)
        self.after[each.name] = _outputs(each.kind, verdict, inputs, existing, fields)
        self.found[each.name] = ResourceChange(
            action=verdict,
            kind=each.kind,
            name=each.name,
            part=each.part,
            fields=fields,
            reason=tuple(sorted(self._causes(each, fields))),
            has_queried_inputs=has_unknown(inputs, UnknownMarker.QUERIED),
            may_be_replaced=any(self._hangs(each, key) for key in inputs),
            protect=bool(existing and existing.protect),
            existing=existing,
        )

    def _known(self, name: str) -> Any:
        holder, *steps = name.split(".")
        if holder == INPUT or holder in self.calls:
            return UnknownMarker.QUERIED
        result = at_path(self.after[holder], steps)
        return UnknownMarker.COMPUTED if result is None else result

    def _causes(self, each: CloudResource, fields: tuple[FieldChange, ...]) -> set[str]:
        """The replaced dependencies whose new outputs replace this resource."""
        return {
            name
            for change in fields
            if change.forces_replacement and has_unknown(change.new, UnknownMarker.COMPUTED)
            for name in _holders(each.inputs.get(re.split(r"[.[]", change.path)[0]))
            if name in self.found and self.found[name].action is ResourceAction.REPLACE
        }

    def _hangs(self, each: CloudResource, key: str) -> bool:
        """Whether a different query result would replace the resource."""
        names = self.calls.keys() & set(_holders(each.inputs[key]))
        picks = any(self.calls[name].kind in _PICKS for name in names)
        return picks and bool(cloud_kind(each.kind).fields[key].replace)


def _holders(value: Any) -> Iterator[str]:
    """The resources and calls whose outputs a value contains."""
    return (name.partition(".")[0] for name in late_value_names(value))


def _outputs(
    kind: str,
    verdict: ResourceAction,
    inputs: Mapping[str, Any],
    existing: DeployedResource | None,
    fields: tuple[FieldChange, ...],
) -> Mapping[str, Any]:
    """Outputs of a resource that its dependents can know."""
    if existing is None or verdict is ResourceAction.REPLACE:
        return inputs
    old = {**existing.outputs, "id": existing.id}
    if verdict is ResourceAction.SAME:
        return old
    outputs = _over(old, inputs)
    if kind == TEMPLATE and any(each.path.partition("[")[0] not in _NO_VERSION for each in fields):
        outputs |= dict.fromkeys(("latestVersion", "defaultVersion"), UnknownMarker.COMPUTED)
    return outputs


_NO_VERSION = frozenset({"description", "defaultVersion", "tags"})
"""Every other change of a launch template creates a new version."""


def _over(old: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Merge inputs into the old values, block by block: what the provider filled in stays."""
    merged = dict(old)
    for key, value in inputs.items():
        before = merged.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            merged[key] = _over(before, value)
        else:
            merged[key] = value
    return merged
