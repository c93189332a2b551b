"""Register the resources of a cloud graph, one of the SDK's class for each, in the graph's order.

A node group or node pool without available machines is created nevertheless, stays in a failed
state, and is in Pulumi's state. The next `up` finds no change and succeeds without nodes. So
gpuyard reports the group when it fails and at each `up` until it is replaced.
https://docs.aws.amazon.com/eks/latest/userguide/troubleshooting.html#managed-node-group-errors-faq
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, cast

import pulumi
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.settings import monitor_supports_feature

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import (
    BLOCK,
    CloudCall,
    CloudResource,
    late_value_names,
    logical_name,
    resolve_values,
)
from gpuyard.render.cloud.prerequisites import TAGGED
from gpuyard.resources.clusters.change_preview import last_known_state
from gpuyard.resources.errors import PlatformRejected
from gpuyard.resources.provider import is_stock_mock
from gpuyard.sdk_classes import output, register_resource, sdk_version
from gpuyard.spec.late_inputs import is_input_name, is_late_list
from gpuyard_core.findings import Fix, error
from gpuyard_core.names import OFFERING_TAG

AWS_GROUP = "aws:eks/nodeGroup:NodeGroup"
"""A GKE node pool has no such status: GKE retries by itself."""
GROUPS = (AWS_GROUP, "gcp:container/nodePool:NodePool")
_NONE_LEFT = re.compile(
    r"InsufficientInstanceCapacity|GCE_STOCKOUT|ZONE_RESOURCE_POOL_EXHAUSTED"
    r"|does not have enough resources available"
)
_TOO_MANY = re.compile(r"VcpuLimitExceeded|MaxSpotInstanceCountExceeded|(?i:quota_?exceeded)")
_ZONE = re.compile(r"\b(?:[a-z]{2}(?:-[a-z]+)+-\d[a-z]|[a-z]+-[a-z]+\d-[a-z])\b")
_FAILED = "CREATE_FAILED"


class CloudResources:
    """The registered resources of one graph, which later resources reference.

    They are children of the component that registers them; `own` is the common prefix of their
    names. A part that another component registers references the resources that are `created` and
    `reported` so far, or the late values in `inputs`, by their names. `late_inputs` has the outputs
    of the user's program, by the names of their late values.
    """

    def __init__(
        self,
        name: str,
        own: str = "",
        inputs: Mapping[str, pulumi.Input[Any]] | None = None,
        *,
        created: Mapping[str, pulumi.CustomResource] | None = None,
        reported: Mapping[str, pulumi.Output[Any]] | None = None,
        late_inputs: Mapping[str, pulumi.Input[Any]] | None = None,
    ) -> None:
        self._name = name
        self._own = own
        self._given = inputs
        self._late_inputs = {**(inputs or {}), **(late_inputs or {})}
        self._made: dict[str, pulumi.CustomResource] = dict(created or {})
        self._told: dict[str, pulumi.Output[Any]] = dict(reported or {})

    def for_component(self, name: str, own: str = "") -> CloudResources:
        """Return the resources for another component of the same program, with access to the ones registered here."""
        return CloudResources(
            name,
            own,
            created=self._made,
            reported=self._told,
            late_inputs=self._late_inputs,
        )

    def run_queries(self, parent: pulumi.Resource, calls: Iterable[CloudCall]) -> None:
        """Query the cloud; read-only."""
        for call in calls:
            args, ask = self.resolve(call.args), partial(_answered, call, parent)
            if [*late_value_names(call.args)]:  # known only after resources, or another query
                self._told[call.name] = after_creation(args).apply(ask)
            else:
                self._told[call.name] = pulumi.Output.from_input(ask(args))

    def register(
        self,
        parent: pulumi.Resource,
        resources: Iterable[CloudResource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> list[pulumi.CustomResource]:
        """Register all of them under `parent`, in order, each with `opts` in addition to its own options."""
        return [self._register(parent, each, opts) for each in resources]

    def resolve(self, value: Any) -> Any:
        """Replace references to registered resources by outputs; a text with references becomes one output."""
        if isinstance(value, UnresolvedOutput):
            return self._output(value.name)
        if isinstance(value, Mapping):
            return {key: self.resolve(each) for key, each in value.items()}
        if isinstance(value, list | tuple) and not any(map(is_late_list, value)):
            return [self.resolve(each) for each in value]
        if names := sorted(set(late_value_names(value))):
            outputs = {name: self._output(name) for name in names}
            return pulumi.Output.all(**outputs).apply(
                lambda got: resolve_values(value, got.__getitem__)
            )
        return resolve_values(value, str)  # no reference to a late value

    def resource(self, name: str) -> pulumi.CustomResource:
        """The Pulumi resource of the graph's resource with this name."""
        return self._made[name]

    def _output(self, name: str) -> pulumi.Output[Any]:
        if is_input_name(name):
            return late_input(name, self._late_inputs)
        whose, field, *inside = name.split(".")
        if self._given is not None and name in self._given:
            return pulumi.Output.from_input(self._given[name])
        if whose in self._told:
            return self._told[whose].apply(lambda answer: _part(name, answer, (field, *inside)))
        resource = self._made[whose]
        result = resource.id if field == "id" else output(resource, field)
        return result.apply(lambda value: _part(name, value, inside)) if inside else result

    def _register(
        self, parent: pulumi.Resource, each: CloudResource, more: pulumi.ResourceOptions | None
    ) -> pulumi.CustomResource:
        if each.kind == BLOCK:
            reject_purchased_offering(each)
        name = logical_name(self._name, self._own, each.name)
        opts = pulumi.ResourceOptions(
            parent=parent,
            # Values in `inputs` are known only when their resources exist.
            depends_on=[
                self._made[name] for name in each.after if self._given is None or name in self._made
            ],
            protect=each.protect or None,
            retain_on_delete=each.retain or None,
            ignore_changes=list(each.ignores),
            delete_before_replace=each.delete_first or None,
            additional_secret_outputs=list(each.secret_outputs),
            hooks=capacity_hook(name, each.part) if each.kind in GROUPS else None,
        )
        merged_opts = pulumi.ResourceOptions.merge(opts, more)
        resource = register_resource(each.kind, name, self.resolve(each.inputs), merged_opts)
        if each.kind == AWS_GROUP:
            pulumi.Output.all(resource.urn, output(resource, "status")).apply(
                lambda got: reject_failed_groups(each.part, *got)
            )
        self._made[each.name] = resource
        return resource


async def _answered(call: CloudCall, parent: pulumi.Resource, args: Any) -> dict[str, Any]:
    """The declared fields of a response, or one error message; `invoke_output` ends with a traceback.

    Other fields, such as tokens, are dropped: a response does not mark which values are secret.
    """
    opts = pulumi.InvokeOptions(parent=parent, version=sdk_version(call.kind.partition(":")[0]))
    try:
        answer = await pulumi.runtime.invoke_async(call.kind, args, opts)
        return {field: answer[field] for field in call.outputs if field in answer}
    except Exception as error:  # noqa: BLE001  the SDK has no other class
        what = f"the query {call.kind} got no response"
        if call.kind.endswith(":getCluster"):
            what = (
                f"cluster.existing: no cluster {args['name']} was found, or your credentials may "
                "not read it"
            )
        raise pulumi.RunError(f"{what}: {error}") from None


def _part(name: str, value: Any, inside: Iterable[str]) -> Any:
    """The value at a path of field names and list indexes inside an output.

    Pulumi's own mocks compute no outputs: a value that they lack is its name.
    """
    for step in inside:
        try:
            value = value[int(step)] if isinstance(value, list | tuple) else value[step]
        except (IndexError, KeyError, TypeError):
            if is_stock_mock():
                return name
            raise pulumi.RunError(
                f"{name}: the cloud returned no result; check that zones, network and subnets in "
                "the stack file exist in this account and region"
            ) from None
    return value


def late_input(name: str, inputs: Mapping[str, Any]) -> pulumi.Output[Any]:
    """The output of the user's program for a late value, or one item of an output that is a list."""
    if name in inputs:
        return pulumi.Output.from_input(inputs[name])
    whole, _, index = name.rpartition(".")
    return pulumi.Output.from_input(inputs[whole]).apply(lambda items: items[int(index)])


def after_creation(value: Any) -> pulumi.Output[Any]:
    """The value, unknown in a preview until the resources that it comes from exist.

    The name of a cluster is known before the cluster exists, and a query would not find it.
    """
    output = pulumi.Output.from_input(value)

    async def ids() -> list[pulumi.Output[str]]:
        sources = await output.resources()
        return [each.id for each in sources if isinstance(each, pulumi.CustomResource)]

    created: pulumi.Output[Any] = pulumi.Output.from_input(cast("Any", ids()))
    return pulumi.Output.all(output, created).apply(lambda got: got[0])


_RESERVATIONS = "ec2:capacity-reservation"


def reject_purchased_offering(block: CloudResource) -> None:
    """Raise PlatformRejected if the offer was purchased by a deployment that is missing from the state."""
    offer = str(block.inputs["capacityBlockOfferingId"])
    state = last_known_state()  # has this stack the offer?
    if any(
        each.kind == BLOCK and each.outputs.get("capacityBlockOfferingId") == offer
        for each in (state.resources if state else ())
    ):
        return
    filters = {
        "resourceTypeFilters": [_RESERVATIONS],
        "tagFilters": [{"key": OFFERING_TAG, "values": [offer]}],
    }
    opts = pulumi.InvokeOptions(version=sdk_version("aws"))
    try:
        answer = pulumi.runtime.invoke(TAGGED, filters, opts).value
    except Exception as problem:  # noqa: BLE001  the SDK has no other class
        raise _refused(
            offer,
            f"gpuyard cannot determine whether {offer} was already purchased, so it does not "
            f"purchase it: {problem}",
            "retry when the cloud API responds; `tag:GetResources` must be allowed",
        ) from None
    if result := answer.get("resourceTagMappingLists"):
        reservation = str(result[0]["resourceArn"]).rpartition("/")[2]
        raise _refused(
            offer,
            f"{offer} was already purchased as {reservation}, which is missing from this stack's "
            "state",
            "run `gpuyard recover STACK` if the deployment that purchased it was interrupted; "
            f"otherwise set `block: {reservation}` in place of the offer, without `purchase`",
        )


def _refused(offer: str, problem: str, fix: str) -> PlatformRejected:
    finding = error("live.block", ("pools",), problem, given=offer, fix=Fix(message=fix))
    return PlatformRejected("the purchase of a capacity block", [finding])


def capacity_hook(name: str, pool: str) -> pulumi.ResourceHookBinding | None:
    """The hook of one group; None if the engine (or a mock) supports none."""
    if not monitor_supports_feature(resource_pb2.RESOURCE_MONITOR_FEATURE_ERROR_HOOKS):
        return None

    def tell(args: pulumi.ErrorHookArgs) -> bool:
        if message := capacity_error_message(args, pool):
            pulumi.log.warn(message)
        return False

    return pulumi.ResourceHookBinding(on_error=[pulumi.ErrorHook(f"gpuyard:{name}:machines", tell)])


def capacity_error_message(args: pulumi.ErrorHookArgs, pool: str) -> str:
    """The message in addition to the cloud's error; "" if the error has another cause."""
    error = args.errors[0] if args.errors else ""
    if _TOO_MANY.search(error):
        return (
            f"pool {pool}: the request exceeds the account's quota; this group was not created.\n "
            " fix: request the quota that `gpuyard check --live` names, then run `pulumi up` "
            "again; created resources stay"
        )
    if not _NONE_LEFT.search(error):
        return ""
    zones = sorted(set(_ZONE.findall(error))) or (args.new_inputs or {}).get("nodeLocations") or []
    where = ", ".join(zones) or "the zones of the pool"
    return (
        f"pool {pool}: the cloud has no capacity in {where} now; created resources stay, "
        f"including this group without nodes.\n  fix: run {_replace(args.urn)} when capacity is "
        "available; or set other `zones` for the pool, or add an option under `capacity`"
    )


def _replace(urn: str) -> str:
    return f"`pulumi up --replace '{urn}'`"


def reject_failed_groups(pool: str, urn: str, status: object) -> None:
    """End the program if a group of a failed `up` remains: the engine considers it created."""
    if status == _FAILED:
        raise pulumi.RunError(
            f"pool {pool}: its group {urn.rpartition('::')[2]} exists, failed at its creation and "
            f"gets no nodes: {_replace(urn)} replaces it"
        )
