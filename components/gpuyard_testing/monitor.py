"""A mock of the engine's resource monitor: it records everything and checks it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf import empty_pb2, struct_pb2
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from pulumi.runtime.mocks import MockCallArgs, MockMonitor, MockResourceArgs, Mocks
from pulumi.runtime.proto import callback_pb2, engine_pb2, provider_pb2, resource_pb2

from gpuyard.render.cloud.prerequisites import ONLY_JUDGED
from gpuyard_testing import wire
from gpuyard_testing.checks import ResourceChecks
from gpuyard_testing.graph import Graph, Log, Registered, StackViolation
from gpuyard_testing.transforms import apply_transforms
from gpuyard_testing.values import UNKNOWN, is_object

STACK_TYPE = "pulumi:pulumi:Stack"

OutputsOf = Callable[[Registered], Mapping[str, Any] | None]
"""Returns the outputs of a resource in addition to its inputs; None for no others."""
CallAnswer = Mapping[str, Any] | Callable[[dict[str, Any]], Mapping[str, Any]]
"""The result of a provider function, or a function from its arguments to the result."""


# Options of a registration that the record keeps under the same name when they are set.
_OPTIONS = (
    "protect",
    "ignoreChanges",
    "replaceOnChanges",
    "additionalSecretOutputs",
    "customTimeouts",
    "importId",
    "version",
    "pluginDownloadURL",
    "retainOnDelete",
    "deletedWith",
    "hideDiffs",
    "packageRef",
    "hooks",
    "envVarMappings",
)


def recorded_options(request: Any) -> dict[str, Any]:
    """Return every option that a registration sets, under its wire name."""
    results = {name: value for name in _OPTIONS if (value := _plain(request, name)) is not None}
    if request.aliases or request.aliasURNs:
        results["aliases"] = [_alias(one) for one in request.aliases] + list(request.aliasURNs)
    if request.deleteBeforeReplaceDefined:
        results["deleteBeforeReplace"] = request.deleteBeforeReplace
    if request.replace_with:
        results["replaceWith"] = list(request.replace_with)
    if request.transforms:
        results["transforms"] = len(request.transforms)
    return results


def _alias(alias: Message) -> Any:
    """An alias as its URN, or as its given parts (`type`, `name`, `parentUrn`, …)."""
    spec = MessageToDict(alias)
    return spec.get("urn") or {key: value for key, value in spec["spec"].items() if value}


def _plain(request: Any, name: str) -> Any:
    """The value of one option as plain Python; None where it was not set."""
    value = getattr(request, name)
    if request.DESCRIPTOR.fields_by_name[name].has_presence:
        if not request.HasField(name):
            return None
        return (MessageToDict(value) or None) if isinstance(value, Message) else value
    if isinstance(value, str):
        return value or None
    return (dict(value) if is_object(value) else list(value)) or None


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What the mock engine returns: project and stack, and results of providers."""

    project: str
    stack: str
    unknown_outputs: bool
    outputs: OutputsOf
    calls: Mapping[str, CallAnswer]


class _NoMocks(Mocks):
    """The base class requires mocks; every method that would call them is overridden."""

    def call(self, args: MockCallArgs) -> Any:
        raise NotImplementedError(args.token)

    def new_resource(self, args: MockResourceArgs) -> Any:
        raise NotImplementedError(args.typ)


class StrictMonitor(MockMonitor):
    """The mock engine of one run of one program; `graph` is the record."""

    def __init__(self, answers: Answers, checks: ResourceChecks) -> None:
        super().__init__(_NoMocks())
        self.graph = Graph()
        self._answers = answers
        self._checks = checks
        self._by_urn: dict[str, Registered] = {}
        self._twins: set[str] = set()
        self._objects: dict[str, struct_pb2.Struct] = {}
        self._own_transforms: dict[str, list[callback_pb2.Callback]] = {}
        self._stack_callbacks: list[callback_pb2.Callback] = []
        self._stack_urn = ""
        self._hooks: set[str] = set()

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        """Build a URN as the engine does: the types of all parents but the stack, joined by `$`."""
        # https://github.com/pulumi/pulumi/blob/master/sdk/go/common/resource/urn/urn.go (New)
        chain = ""
        if parent and parent != self._stack_urn:
            chain = f"{parent.split('::')[2]}$"
        return f"urn:pulumi:{self._answers.stack}::{self._answers.project}::{chain}{type_}::{name}"

    # A coroutine if transforms must run first, which the base class does not support; the
    # runner's executor awaits it.
    def RegisterResource(  # noqa: N802
        self, request: resource_pb2.RegisterResourceRequest
    ) -> (
        resource_pb2.RegisterResourceResponse
        | Coroutine[Any, Any, resource_pb2.RegisterResourceResponse]
    ):
        """Record a resource and return what the engine would."""
        urn = self.make_urn(request.parent, request.type, request.name)
        if request.type == STACK_TYPE:
            self._stack_urn = urn
            return resource_pb2.RegisterResourceResponse(urn=urn)
        callbacks = self._transforms_for(request, urn)
        return (
            self._register_transformed(request, urn, callbacks)
            if callbacks
            else self._register(request, urn)
        )

    def _transforms_for(self, request: Any, urn: str) -> list[callback_pb2.Callback]:
        own: list[callback_pb2.Callback] = list(request.transforms)
        self._own_transforms[urn] = own
        results = list(own)
        parent = self._by_urn.get(request.parent)
        while parent is not None:
            results += self._own_transforms.get(parent.urn, [])
            parent = self._by_urn.get(parent.parent or "")
        return results + self._stack_callbacks

    async def _register_transformed(
        self,
        request: resource_pb2.RegisterResourceRequest,
        urn: str,
        callbacks: list[callback_pb2.Callback],
    ) -> resource_pb2.RegisterResourceResponse:
        await apply_transforms(request, callbacks)
        return self._register(request, urn)

    def _register(
        self, request: resource_pb2.RegisterResourceRequest, urn: str
    ) -> resource_pb2.RegisterResourceResponse:
        decoded = wire.decode(request.object)
        resource = Registered(
            type=request.type,
            name=request.name,
            urn=urn,
            parent=self._parent(request.parent),
            custom=request.custom,
            remote=request.remote,
            inputs=decoded.values,
            secrets=frozenset(decoded.secrets),
            dependencies=tuple(sorted(request.dependencies)),
            property_dependencies={
                key: tuple(sorted(urns))
                for key in sorted(request.propertyDependencies)
                if (urns := request.propertyDependencies[key].urns)
            },
            provider=request.provider or None,
            providers=dict(request.providers),
            options=recorded_options(request),
        )
        properties = self._answer(resource, request.object)
        return resource_pb2.RegisterResourceResponse(
            urn=urn, id=resource.id or "", object=properties
        )

    def ReadResource(  # noqa: N802 the protocol's name
        self, request: resource_pb2.ReadResourceRequest
    ) -> resource_pb2.ReadResourceResponse:
        """Record a read; its outputs are the given properties and those that the test defines."""
        decoded = wire.decode(request.properties)
        resource = Registered(
            type=request.type,
            name=request.name,
            urn=self.make_urn(request.parent, request.type, request.name),
            parent=self._parent(request.parent),
            custom=True,
            read=True,
            id=request.id,
            inputs=decoded.values,
            secrets=frozenset(decoded.secrets),
            dependencies=tuple(sorted(request.dependencies)),
            provider=request.provider or None,
        )
        properties = self._answer(resource, request.properties)
        return resource_pb2.ReadResourceResponse(urn=resource.urn, properties=properties)

    def _parent(self, urn: str) -> str | None:
        return None if urn in {"", self._stack_urn} else urn

    def _answer(self, resource: Registered, value: struct_pb2.Struct) -> struct_pb2.Struct:
        """Record the resource, check it, and compute the outputs a provider would return."""
        graph = self.graph
        self._checks.on_registration(resource, self._by_urn, graph)
        graph.resources.append(resource)
        if resource.urn in self._by_urn:
            self._twins.add(resource.urn)
        self._by_urn[resource.urn] = resource
        properties = struct_pb2.Struct()
        properties.CopyFrom(value)
        if not resource.custom:
            resource.outputs = dict(resource.inputs)
            return properties
        if self._answers.unknown_outputs:
            wire.encode(dict.fromkeys(self._answers.outputs(resource) or {}, UNKNOWN), properties)
            wire.hide(properties)
            resource.id = None if not resource.read else resource.id
        else:
            _autoname(resource, properties, self._checks.fields_of(resource))
            wire.encode(self._answers.outputs(resource) or {}, properties)
        resource.outputs = wire.decode(properties).values
        return properties

    def RegisterResourceOutputs(  # noqa: N802 the protocol's name
        self, request: resource_pb2.RegisterResourceOutputsRequest
    ) -> empty_pb2.Empty:
        """Record what a component, or the stack, registered as its outputs."""
        decoded = wire.decode(request.outputs)
        resource = self._by_urn.get(request.urn)
        if request.urn == self._stack_urn:
            self.graph.stack_outputs = decoded.values
            self.graph.secret_stack_outputs = frozenset(decoded.secrets)
        elif (
            request.urn in self._twins
        ):  # its URN is a duplicate, already reported: which resource the outputs belong to is ambiguous
            for twin in (one for one in self.graph if one.urn == request.urn):
                twin.registered_outputs = decoded.values
        elif resource is not None:
            if resource.registered_outputs is not None:
                text = "registered its outputs twice; call register_outputs once"
                self.graph.violations.append(StackViolation("outputs", resource.label, text))
            resource.registered_outputs = decoded.values
        return empty_pb2.Empty()

    def RegisterResourceHook(  # noqa: N802 the protocol's name
        self, request: resource_pb2.RegisterResourceHookRequest
    ) -> empty_pb2.Empty:
        """The engine identifies a hook by its name, and rejects a second one of the same name."""
        if request.name in self._hooks:
            text = "is registered twice; create the hook once, and bind it to its resources"
            self.graph.violations.append(StackViolation("hook", request.name, text))
        self._hooks.add(request.name)
        return empty_pb2.Empty()

    def Invoke(  # noqa: N802 the protocol's name
        self, request: resource_pb2.ResourceInvokeRequest
    ) -> resource_pb2.ResourceInvokeResponse:
        """Return the result of a provider function that the test defines; an undefined one is an error."""
        args = wire.decode(request.args).values
        if request.tok == "pulumi:pulumi:getResource":
            registered = self._by_urn.get(args["urn"])
            result: Mapping[str, Any] = (
                {}
                if registered is None
                else {"urn": registered.urn, "id": registered.id, "state": registered.outputs}
            )
        elif request.tok in self._answers.calls:
            answer = self._answers.calls[request.tok]
            result = answer(args) if callable(answer) else answer
        elif request.tok == "pulumi:pulumi:readStackResourceOutputs":
            result = {"outputs": {}}  # nothing is deployed yet
        elif request.tok in ONLY_JUDGED:
            result = {}  # no response, which gpuyard tolerates
        else:
            known = ", ".join(sorted(self._answers.calls))
            message = (
                f"the program calls {request.tok} with {args!r}, but the test defines no result; "
                f"add calls={{{request.tok!r}: {{...}}}} (defined: {known or 'none'})"
            )
            raise LookupError(message)
        properties = struct_pb2.Struct()
        wire.encode(result, properties)
        # `return` is a Python keyword and cannot be a keyword argument.
        answered: dict[str, Any] = {"return": properties}
        return resource_pb2.ResourceInvokeResponse(**answered)

    def ExistsResource(  # noqa: N802 the protocol's name
        self, request: resource_pb2.ExistsResourceRequest
    ) -> resource_pb2.ExistsResourceResponse:
        """Whether this run read or registered a resource of that type and id."""
        exists = any(one.id == request.id and one.type == request.type for one in self.graph)
        return resource_pb2.ExistsResourceResponse(exists=exists)

    def RegisterStackTransform(self, request: callback_pb2.Callback) -> empty_pb2.Empty:  # noqa: N802
        """Run this transform on every resource registered from now on."""
        self._stack_callbacks.append(request)
        return empty_pb2.Empty()

    def finish(self) -> Graph:
        """Run the checks of the whole graph, and return the record."""
        self._checks.on_finish(self.graph)
        return self.graph


class RecordingEngine:
    """The engine's log: messages go into the graph, except debug ones (four a resource)."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def Log(self, request: engine_pb2.LogRequest) -> None:  # noqa: N802 the protocol's name
        """Record one message."""
        if request.severity != engine_pb2.DEBUG:
            severity = engine_pb2.LogSeverity.Name(request.severity).lower()
            self._graph.logs.append(Log(severity, request.message, request.urn or None))

    def RequirePulumiVersion(self, request: Any) -> provider_pb2.CheckResponse:  # noqa: N802
        """Accept every version range: there is no CLI here to compare with."""
        del request
        return provider_pb2.CheckResponse()


def _autoname(resource: Registered, properties: struct_pb2.Struct, fields: frozenset[str]) -> None:
    """Set the physical name and id that a provider would generate, the same in every run."""
    # https://www.pulumi.com/docs/iac/concepts/resources/names/#autonaming (random there)
    made_up = f"{resource.name}-{hashlib.sha256(resource.urn.encode()).hexdigest()[:7]}"
    if resource.type.startswith("kubernetes:"):
        value = resource.inputs.get("metadata")
        metadata: dict[str, Any] = dict(value) if is_object(value) else {}
        if "name" not in metadata and (value is not None or "metadata" in fields):
            metadata["name"] = made_up
            wire.encode({"metadata": metadata}, properties)
        name, namespace = metadata.get("name", made_up), metadata.get("namespace")
        identity = f"{namespace}/{name}" if namespace else str(name)
    else:
        identity = str(resource.inputs.get("name") or made_up)
        if "name" in fields and "name" not in resource.inputs:
            wire.encode({"name": identity}, properties)
    resource.id = resource.id or resource.options.get("importId") or identity
