"""Register what a graph of a cloud says: one resource for each of its own, in its order.

The SDKs' classes would do it, and cost a user half a gigabyte and up to a second; the engine itself needs the
type, the fields and the plugin's version (docs/decisions/0024-clouds-as-graphs.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pulumi

from gpuyard.catalogue.software.providers import PROVIDERS
from gpuyard.plan.records.late import Late
from gpuyard.render.cloud.graph import CloudCall, CloudResource, names_in, settle


class CloudResources:
    """The resources of one graph as far as they are registered; what comes later rests on them.

    They are children of the component that registers them, and their names derive from `name`, so that
    a graph can be shared among components: a cluster's has the network, a pool's has its groups of nodes.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._made: dict[str, pulumi.CustomResource] = {}
        self._told: dict[str, pulumi.Output[Any]] = {}

    def ask(self, parent: pulumi.Resource, calls: Iterable[CloudCall]) -> None:
        """Ask the cloud; nothing is changed by it."""
        for call in calls:
            opts = pulumi.InvokeOutputOptions(parent=parent, version=_version(call.kind))
            args = self.bound(call.args)
            self._told[call.name] = pulumi.runtime.invoke_output(call.kind, args, opts)

    def register(self, parent: pulumi.Resource, resources: Iterable[CloudResource]) -> None:
        """Register all of them below `parent`, in their order."""
        for each in resources:
            self._register(parent, each)

    def bound(self, value: Any) -> Any:
        """The same tree with outputs where it names what is registered; a text around some is one output."""
        if isinstance(value, Late):
            return self._output(value.name)
        if isinstance(value, Mapping):
            return {key: self.bound(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.bound(each) for each in value]
        if names := sorted(set(names_in(value))):
            outputs = {name: self._output(name) for name in names}
            return pulumi.Output.all(**outputs).apply(lambda got: settle(value, got.__getitem__))
        return settle(value, str)  # it names nothing late

    def resource(self, name: str) -> pulumi.CustomResource:
        """What is registered for the resource that the graph calls so."""
        return self._made[name]

    def _output(self, name: str) -> pulumi.Output[Any]:
        whose, field, *inside = name.split(".")
        if whose in self._told:
            return self._told[whose].apply(lambda answer: _part(answer, (field, *inside)))
        made = self._made[whose]
        output: pulumi.Output[Any] = made.id if field == "id" else getattr(made, field)
        return output.apply(lambda value: _part(value, inside)) if inside else output

    def _register(self, parent: pulumi.Resource, each: CloudResource) -> None:
        # A field that is given as nothing is an output that somebody reads.
        props = {**dict.fromkeys(each.outputs), **self.bound(each.inputs)}
        opts = pulumi.ResourceOptions(
            parent=parent,
            version=_version(each.kind),
            depends_on=[self._made[name] for name in each.after],
            protect=each.protect or None,
            retain_on_delete=each.retain or None,
            ignore_changes=list(each.ignores),
            delete_before_replace=each.delete_first or None,
            additional_secret_outputs=list(each.secrets),
        )
        name = f"{self._name}-{each.name}"
        self._made[each.name] = pulumi.CustomResource(each.kind, name, props, opts)


def _part(value: Any, inside: Iterable[str]) -> Any:
    """What lies in an output, by the names of fields and the numbers of items that lead to it."""
    for step in inside:
        value = value[int(step)] if isinstance(value, list | tuple) else value[step]
    return value


def _version(kind: str) -> str:
    return PROVIDERS[kind.partition(":")[0]].version
