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
from gpuyard.render.cloud.graph import (
    BLOCK,
    CloudCall,
    CloudResource,
    logical_name,
    names_in,
    resolve_values,
)
from gpuyard.resources.clusters.capacity_blocks import reject_duplicate_block
from gpuyard.resources.diagnosis.capacity_errors import (
    AWS_GROUP,
    GROUPS,
    capacity_hook,
    reject_failed_groups,
)


class CloudResources:
    """The resources of one graph as far as they are registered; what comes later rests on them.

    They are children of the component that registers them, and their names derive from its own; what all
    names of a part begin with (`own`) is not said twice. A part that another component registers rests on
    what is registered so far (`beside`), or on late values that it is `given`, by their names.
    """

    def __init__(
        self,
        name: str,
        own: str = "",
        inputs: Mapping[str, pulumi.Input[Any]] | None = None,
        *,
        created: Mapping[str, pulumi.CustomResource] | None = None,
        reported: Mapping[str, pulumi.Output[Any]] | None = None,
    ) -> None:
        self._name = name
        self._own = own
        self._given = inputs
        self._made: dict[str, pulumi.CustomResource] = dict(created or {})
        self._told: dict[str, pulumi.Output[Any]] = dict(reported or {})

    def for_component(self, name: str, own: str = "") -> CloudResources:
        """For another component of the same program: its resources rest on what is registered here."""
        return CloudResources(name, own, created=self._made, reported=self._told)

    def ask(self, parent: pulumi.Resource, calls: Iterable[CloudCall]) -> None:
        """Ask the cloud; nothing is changed by it."""
        for call in calls:
            answer = _answered(call, self.resolve(call.args), parent)
            self._told[call.name] = pulumi.Output.from_input(answer)

    def register(
        self,
        parent: pulumi.Resource,
        resources: Iterable[CloudResource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> list[pulumi.CustomResource]:
        """Register all of them below `parent`, in their order, each with `opts` beside its own options."""
        return [self._register(parent, each, opts) for each in resources]

    def resolve(self, value: Any) -> Any:
        """The same tree with outputs where it names what is registered; a text around some is one output."""
        if isinstance(value, Late):
            return self._output(value.name)
        if isinstance(value, Mapping):
            return {key: self.resolve(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.resolve(each) for each in value]
        if names := sorted(set(names_in(value))):
            outputs = {name: self._output(name) for name in names}
            return pulumi.Output.all(**outputs).apply(
                lambda got: resolve_values(value, got.__getitem__)
            )
        return resolve_values(value, str)  # it names nothing late

    def resource(self, name: str) -> pulumi.CustomResource:
        """What is registered for the resource that the graph calls so."""
        return self._made[name]

    def _output(self, name: str) -> pulumi.Output[Any]:
        whose, field, *inside = name.split(".")
        if self._given is not None and name in self._given:
            return pulumi.Output.from_input(self._given[name])
        if whose in self._told:
            return self._told[whose].apply(lambda answer: _part(name, answer, (field, *inside)))
        resource = self._made[whose]
        output: pulumi.Output[Any] = resource.id if field == "id" else getattr(resource, field)
        return output.apply(lambda value: _part(name, value, inside)) if inside else output

    def _register(
        self, parent: pulumi.Resource, each: CloudResource, more: pulumi.ResourceOptions | None
    ) -> pulumi.CustomResource:
        if each.kind == BLOCK:
            reject_duplicate_block(each)
        # A field that is given as nothing is an output that somebody reads.
        outputs = (*each.outputs, "status") if each.kind == AWS_GROUP else each.outputs
        props = {**dict.fromkeys(outputs), **self.resolve(each.inputs)}
        name = logical_name(self._name, self._own, each.name)
        opts = pulumi.ResourceOptions(
            parent=parent,
            version=_version(each.kind),
            depends_on=[self._made[name] for name in self._dependencies(each.after)],
            protect=each.protect or None,
            retain_on_delete=each.retain or None,
            ignore_changes=list(each.ignores),
            delete_before_replace=each.delete_first or None,
            additional_secret_outputs=list(each.secrets),
            hooks=capacity_hook(name, each.part) if each.kind in GROUPS else None,
        )
        merged_opts = pulumi.ResourceOptions.merge(opts, more)
        resource = pulumi.CustomResource(each.kind, name, props, merged_opts)
        if each.kind == AWS_GROUP:
            status: pulumi.Output[Any] = resource.status  # type: ignore[attr-defined]
            pulumi.Output.all(resource.urn, status).apply(
                lambda got: reject_failed_groups(each.part, *got)
            )
        self._made[each.name] = resource
        return resource

    def _dependencies(self, names: Iterable[str]) -> list[str]:
        """Those to wait for. Values that are given are known only when all that they rest on is there."""
        return [name for name in names if self._given is None or name in self._made]


async def _answered(call: CloudCall, args: Any, parent: pulumi.Resource) -> dict[str, Any]:
    """What is read of the answer, or what is wrong in one message: `invoke_output` ends with a traceback.

    The rest of an answer, tokens among it, goes no further: an answer has no mark of what is secret.
    """
    opts = pulumi.InvokeOptions(parent=parent, version=_version(call.kind))
    try:
        answer = await pulumi.runtime.invoke_async(call.kind, args, opts)
        return {field: answer[field] for field in call.outputs if field in answer}
    except Exception as error:  # noqa: BLE001  the SDK has no other class
        raise QueryFailed(call, str(error)) from None


class QueryFailed(pulumi.RunError):
    """A cloud does not say what was asked."""

    def __init__(self, call: CloudCall, message: str) -> None:
        what = f"{call.kind} is not answered"
        if call.kind.endswith(":getCluster"):
            what = (
                f"cluster.existing: no cluster {call.args['name']} is found, or you may not see it"
            )
        super().__init__(f"{what}: {message}")


def _part(name: str, value: Any, inside: Iterable[str]) -> Any:
    """What lies in an output, by the names of fields and the numbers of items that lead to it."""
    for step in inside:
        try:
            value = value[int(step)] if isinstance(value, list | tuple) else value[step]
        except (IndexError, KeyError):
            raise ResourceNotFound(name) from None
    return value


class ResourceNotFound(pulumi.RunError):
    """A cloud answers, and has nothing of the kind."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name}: the cloud finds nothing; are zones, network and subnets of the stack file those of"
            " this account and region?"
        )


def _version(kind: str) -> str:
    return PROVIDERS[kind.partition(":")[0]].version
