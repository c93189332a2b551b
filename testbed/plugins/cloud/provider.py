"""The gRPC service of both fakes: converts messages to values for the account, and results to messages."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from concurrent import futures
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import grpc  # type: ignore[import-untyped]  # has no stubs of its own
from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2_grpc
from pulumi.runtime.proto import provider_pb2 as wire

from testbed.plugins import orphans
from testbed.plugins.cloud import asking, calls, checking, configuring, diff, facts, preparing
from testbed.plugins.cloud.account import Account, Failed, Refused
from testbed.plugins.cloud.service.ties import Resource
from testbed.plugins.cloud.shapes import Place
from testbed.plugins.kubernetes import engine, values
from testbed.plugins.kubernetes.values import UNKNOWN, Object, Secret

WORKERS = 64

Answer = TypeVar("Answer")
Context: TypeAlias = grpc.ServicerContext
_KIND = wire.PropertyDiff
_WAYS = {
    (diff.ADD, False): _KIND.ADD,
    (diff.UPDATE, False): _KIND.UPDATE,
    (diff.DELETE, False): _KIND.DELETE,
    (diff.ADD, True): _KIND.ADD_REPLACE,
    (diff.UPDATE, True): _KIND.UPDATE_REPLACE,
    (diff.DELETE, True): _KIND.DELETE_REPLACE,
}


class Provider(provider_pb2_grpc.ResourceProviderServicer):
    """One process of a fake; the engine may configure it once."""

    def __init__(self, cloud: str, engine_address: str | None) -> None:
        self.cloud = cloud
        self.lines = engine.Log(engine_address)
        self.account = Account(configuring.folder(), cloud)
        self._place: Place | None = None

    @property
    def place(self) -> Place:
        if self._place is None:
            raise Refused(f"the fake {self.cloud} provider was used before it was configured")
        return self._place

    def Handshake(
        self, request: wire.ProviderHandshakeRequest, context: Context
    ) -> wire.ProviderHandshakeResponse:
        if request.engine_address:
            self.lines = engine.Log(request.engine_address)
        return wire.ProviderHandshakeResponse(
            accept_secrets=True, accept_resources=False, accept_outputs=False
        )

    def Attach(self, request: plugin_pb2.PluginAttach, context: Context) -> empty_pb2.Empty:
        self.lines = engine.Log(request.address)
        return empty_pb2.Empty()

    def GetPluginInfo(self, request: empty_pb2.Empty, context: Context) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=f"{facts.sdk(self.cloud)}+fake")

    def GetSchema(self, request: wire.GetSchemaRequest, context: Context) -> wire.GetSchemaResponse:
        context.abort(
            grpc.StatusCode.UNIMPLEMENTED, f"this fake of the {self.cloud} provider has no schema"
        )
        raise AssertionError

    def GetMapping(
        self, request: wire.GetMappingRequest, context: Context
    ) -> wire.GetMappingResponse:
        return wire.GetMappingResponse()

    def GetMappings(
        self, request: wire.GetMappingsRequest, context: Context
    ) -> wire.GetMappingsResponse:
        return wire.GetMappingsResponse()

    def Cancel(self, request: empty_pb2.Empty, context: Context) -> empty_pb2.Empty:
        return empty_pb2.Empty()

    # Configuration

    def CheckConfig(self, request: wire.CheckRequest, context: Context) -> wire.CheckResponse:
        value = _plain(values.read(request.news))
        failures = [
            wire.CheckFailure(property=name, reason=message)
            for name, message in configuring.failures(self.cloud, value)
        ]
        return wire.CheckResponse(inputs=request.news, failures=failures)

    def DiffConfig(self, request: wire.DiffRequest, context: Context) -> wire.DiffResponse:
        """Another region or project replaces the provider, and so all its resources."""
        old, new = _plain(values.read(request.olds)), _plain(values.read(request.news))
        moved = [name for name in ("region", "project") if old.get(name) != new.get(name)]
        some = wire.DiffResponse.DIFF_SOME if old != new else wire.DiffResponse.DIFF_NONE
        return wire.DiffResponse(changes=some, diffs=moved)

    def Configure(self, request: wire.ConfigureRequest, context: Context) -> wire.ConfigureResponse:
        def act() -> wire.ConfigureResponse:
            configuring.let_in(self.cloud, configuring.folder())
            inputs = {key.rpartition(":")[2]: value for key, value in request.variables.items()}
            self._place = configuring.place(self.cloud, inputs)
            self.lines.info(
                "", f"this is a fake of {self.cloud}: nothing is made, nothing is paid for"
            )
            return wire.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

        return self._guard(context, act)

    # Resources

    def Check(self, request: wire.CheckRequest, context: Context) -> wire.CheckResponse:
        def act() -> wire.CheckResponse:
            kind, name = _who(request.urn)
            inputs = values.read(request.news)
            naming = preparing.Naming(name, request.randomSeed)
            if request.HasField("autonaming"):
                mode = wire.CheckRequest.AutonamingOptions.Mode.Name(request.autonaming.mode)
                naming = preparing.Naming(
                    name, request.randomSeed, mode, request.autonaming.proposed_name
                )
            try:
                created = preparing.prepared(
                    kind, naming, _plain(values.read(request.olds)), inputs
                )
            except preparing.TooLong as error:
                return wire.CheckResponse(
                    inputs=request.news, failures=[wire.CheckFailure(reason=str(error))]
                )
            messages = [
                *checking.of_provider(kind, _plain(created)),
                *self._without_project(kind, created),
            ]
            failures = [wire.CheckFailure(reason=each) for each in messages]
            return wire.CheckResponse(inputs=values.write(created), failures=failures)

        return self._guard(context, act)

    def _without_project(self, kind: str, created: Mapping[str, Any]) -> list[str]:
        """The error of a gcp resource if neither it nor its provider has a project."""
        about = (facts.resource(kind) or {"inputs": {}})["inputs"]
        named = created.get("project") or self.place.project or created.get("cluster")
        if kind.startswith("gcp:") and "project" in about and not named:
            return [f"{kind}: project: required field is not set"]
        return []

    def Diff(self, request: wire.DiffRequest, context: Context) -> wire.DiffResponse:
        def act() -> wire.DiffResponse:
            kind, _ = _who(request.urn)
            result = diff.compare(
                kind, _plain(values.read(request.olds)), _plain(values.read(request.news))
            )
            some = wire.DiffResponse.DIFF_SOME if result.found else wire.DiffResponse.DIFF_NONE
            return wire.DiffResponse(
                changes=some,
                replaces=result.replaces,
                deleteBeforeReplace=result.delete_first,
                detailedDiff={
                    path: wire.PropertyDiff(kind=_WAYS[each]) for path, each in result.found.items()
                },
                hasDetailedDiff=True,
            )

        return self._guard(context, act)

    def Create(self, request: wire.CreateRequest, context: Context) -> wire.CreateResponse:
        def act() -> wire.CreateResponse:
            kind, name = _who(request.urn)
            inputs = values.read(request.properties)
            if request.preview:
                return wire.CreateResponse(properties=values.write(_expected(kind, inputs)))
            try:
                created = self.account.create(kind, name, _plain(inputs), self.place)
            except Failed as error:
                raise _Partly(error, inputs) from None
            return wire.CreateResponse(
                id=created.id, properties=values.write(_state(created, inputs))
            )

        return self._guard(context, act)

    def Read(self, request: wire.ReadRequest, context: Context) -> wire.ReadResponse:
        def act() -> wire.ReadResponse:
            kind, name = _who(request.urn)
            self.account.saw(calls.of("read", kind, {}))
            self.account.look("read", kind, name)
            blocked = self.account.find(kind, request.id)
            if blocked is None:
                return wire.ReadResponse()
            old = values.read(request.inputs)
            inputs = _inputs_now(blocked, old)
            return wire.ReadResponse(
                id=blocked.id,
                properties=values.write(_state(blocked, inputs)),
                inputs=values.write(inputs),
            )

        return self._guard(context, act)

    def Update(self, request: wire.UpdateRequest, context: Context) -> wire.UpdateResponse:
        def act() -> wire.UpdateResponse:
            kind, name = _who(request.urn)
            state, inputs = values.read(request.olds), values.read(request.news)
            plain = _plain(inputs)
            fields = diff.compare(kind, _plain(state), plain).fields
            if request.preview:
                expected = {**state, **inputs}
                expected.pop(preparing.DEFAULTS, None)
                for output in diff.unknown_when_changed(kind, fields):
                    if output in state:
                        expected[output] = UNKNOWN
                return wire.UpdateResponse(properties=values.write(expected))
            changed = {key: plain[key] for key in fields if plain.get(key) is not None}
            removed = tuple(sorted(fields - set(changed)))
            created = self.account.update(kind, name, request.id, changed, removed, self.place)
            return wire.UpdateResponse(properties=values.write(_state(created, inputs)))

        return self._guard(context, act)

    def Delete(self, request: wire.DeleteRequest, context: Context) -> empty_pb2.Empty:
        def act() -> empty_pb2.Empty:
            kind, name = _who(request.urn)
            self.account.delete(kind, name, request.id, _plain(values.read(request.properties)))
            return empty_pb2.Empty()

        return self._guard(context, act)

    def Invoke(self, request: wire.InvokeRequest, context: Context) -> wire.InvokeResponse:
        def act() -> wire.InvokeResponse:
            inputs = _plain(values.read(request.args))
            response = wire.InvokeResponse()
            messages = asking.failures(request.tok, inputs)
            if messages:
                response.failures.extend(wire.CheckFailure(reason=each) for each in messages)
                return response
            self.account.look("ask", request.tok, "")
            answer = asking.answer(request.tok, inputs, self.account, self.place)
            # The field is called `return`, which is a keyword in Python.
            getattr(response, "return").CopyFrom(values.write(answer))
            return response

        return self._guard(context, act)

    def Construct(self, request: wire.ConstructRequest, context: Context) -> wire.ConstructResponse:
        context.abort(grpc.StatusCode.UNIMPLEMENTED, f"{request.type} is no component of a fake")
        raise AssertionError

    # Failures

    def _guard(self, context: Context, act: Callable[[], Answer]) -> Answer:
        """Run an operation; every failure becomes a message, never a traceback."""
        try:
            return act()
        except (Refused, configuring.BadCredentials) as error:
            engine.fail(context, str(error))
        except _Partly as error:
            # The cloud has a failed resource: the engine keeps it in its state.
            engine.fail_partially(context, str(error), error.identity, [], error.state)
        except Exception as error:  # noqa: BLE001  a defect of the fake: its place helps
            frames = traceback.extract_tb(error.__traceback__)
            place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
            message = f"fault in the fake {self.cloud} provider at {place}"
            engine.fail(context, f"{message}: {type(error).__name__}: {error}")


class _Partly(Exception):
    """A resource was created and failed."""

    def __init__(self, error: Failed, value: Object) -> None:
        super().__init__(str(error))
        self.identity = error.resource.id
        self.state = values.write(_state(error.resource, value))


def _who(urn: str) -> tuple[str, str]:
    """The type and logical name."""
    return urn.split("::")[2].rpartition("$")[2], urn.rpartition("::")[2]


def _plain(value: Any) -> Any:
    """The same tree with its secrets in plain text."""
    return values.transform(value, lambda leaf: leaf)


def _state(blocked: Resource, value: Object) -> Object:
    """The state for the engine: secret where the inputs were, and for fields that always are."""
    state: Object = {**blocked.state, "id": blocked.id}
    for name in (facts.resource(blocked.kind) or {"secretOutputs": ()})["secretOutputs"]:
        if name in state:
            state[name] = Secret(state[name])
    values.mark_secrets(state, value)
    return state


def _expected(kind: str, configured: Object) -> Object:
    """The state of a new resource in a preview: its inputs, without the fields that the cloud fills in."""
    about = facts.resource(kind) or {"inputs": {}, "outputs": {}}
    state: Object = {key: value for key, value in configured.items() if key != preparing.DEFAULTS}
    for name in about["outputs"]:
        state[name] = UNKNOWN
    for path, each in about["inputs"].items():
        if each.get("computed"):
            _put(state, path.split("."))
    return state


def _put(state: Any, steps: list[str]) -> None:
    """Mark a field that the provider fills in as unknown, if its block is given and the field is not."""
    for step in steps[:-1]:
        state = state.get(step) if isinstance(state, dict) else None
    if isinstance(state, dict) and state.get(steps[-1]) is None:
        state[steps[-1]] = UNKNOWN


def _inputs_now(blocked: Resource, old: Object) -> Object:
    """The current inputs at the cloud: the given ones, or for an import all of them."""
    if not old:
        return {**blocked.inputs, preparing.DEFAULTS: []}
    now = {
        key: _refreshed(value, blocked.inputs.get(key))
        for key, value in old.items()
        if key == preparing.DEFAULTS or blocked.inputs.get(key) is not None
    }
    values.mark_secrets(now, old)
    return now


def _refreshed(old: Any, now: Any) -> Any:
    """The current value, in the shape and with the marks of the given one."""
    if isinstance(old, dict) and isinstance(now, dict):
        both = {key: _refreshed(old[key], now[key]) if key in old else now[key] for key in now}
        return {
            **both,
            **({preparing.DEFAULTS: old[preparing.DEFAULTS]} if preparing.DEFAULTS in old else {}),
        }
    if isinstance(old, list) and isinstance(now, list) and len(old) == len(now):
        return [_refreshed(was, each) for was, each in zip(old, now, strict=True)]
    if isinstance(old, Secret):
        return Secret(_refreshed(old.value, now))
    return old if now is None else now


def main() -> None:
    """Serve until the engine ends this process. The first line of stdout is the port."""
    cloud = next(word.partition("=")[2] for word in sys.argv[1:] if word.startswith("--cloud="))
    addresses = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))
    orphans.end_with_parent(lambda: os._exit(0))
    options = [
        ("grpc.max_receive_message_length", 400 << 20),
        ("grpc.max_send_message_length", 400 << 20),
    ]
    server = grpc.server(futures.ThreadPoolExecutor(WORKERS), options=options)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(
        Provider(cloud, addresses[-1] if addresses else None), server
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)  # the plugin protocol
    server.wait_for_termination()
