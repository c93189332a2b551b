"""The gRPC service: converts messages to values for `objects` or `helm`, and results to messages."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent import futures
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import grpc  # type: ignore[import-untyped]  # has no stubs of its own
from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2_grpc
from pulumi.runtime.proto import provider_pb2 as wire

from testbed.plugins import orphans
from testbed.plugins.kubernetes import checking, engine, helm, settings, templates, values
from testbed.plugins.kubernetes.cluster import Cluster
from testbed.plugins.kubernetes.failures import ProviderError, Unreachable
from testbed.plugins.kubernetes.objects import Objects, Partial

VERSION = "4.34.2"  # the SDK whose provider this replaces
WORKERS = 64  # a waiting call keeps its thread; the engine limits their number

Answer = TypeVar("Answer")
Context: TypeAlias = grpc.ServicerContext


class Provider(provider_pb2_grpc.ResourceProviderServicer):
    """One provider process; the engine may configure it once."""

    def __init__(self, engine_address: str | None) -> None:
        self.log = engine.Log(engine_address)
        self.stop = threading.Event()
        self._objects: Objects | None = None

    def _configured(self) -> Objects:
        if self._objects is None:
            raise ProviderError("the provider was used before it was configured")
        return self._objects

    def Handshake(
        self, request: wire.ProviderHandshakeRequest, context: Context
    ) -> wire.ProviderHandshakeResponse:
        if request.engine_address:
            self.log = engine.Log(request.engine_address)
        return wire.ProviderHandshakeResponse(
            accept_secrets=True, accept_resources=False, accept_outputs=False
        )

    def Attach(self, request: plugin_pb2.PluginAttach, context: Context) -> empty_pb2.Empty:
        self.log = engine.Log(request.address)
        return empty_pb2.Empty()

    def GetPluginInfo(self, request: empty_pb2.Empty, context: Context) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=VERSION)

    def GetSchema(self, request: wire.GetSchemaRequest, context: Context) -> wire.GetSchemaResponse:
        context.abort(
            grpc.StatusCode.UNIMPLEMENTED, "this stand-in of the kubernetes provider has no schema"
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
        self.stop.set()
        return empty_pb2.Empty()

    # Configuration

    def CheckConfig(self, request: wire.CheckRequest, context: Context) -> wire.CheckResponse:
        return wire.CheckResponse(
            inputs=request.news, failures=settings.check(values.read(request.news))
        )

    def DiffConfig(self, request: wire.DiffRequest, context: Context) -> wire.DiffResponse:
        return settings.diff(values.read(request.olds), values.read(request.news))

    def Configure(self, request: wire.ConfigureRequest, context: Context) -> wire.ConfigureResponse:
        def act() -> wire.ConfigureResponse:
            chosen = settings.from_variables(request.variables)
            cluster, reason = _connect(chosen)
            namespace = settings.default_namespace(chosen)
            self._objects = Objects(chosen, self.log, self.stop, namespace, cluster, reason)
            return wire.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

        return _guard(context, act)

    # Resources

    def Check(self, request: wire.CheckRequest, context: Context) -> wire.CheckResponse:
        def act() -> wire.CheckResponse:
            objects = self._configured()
            if objects.cluster is None and objects.settings.skip_update_unreachable:
                self.log.warning(request.urn, _SKIPPING)
                return wire.CheckResponse(inputs=request.olds)
            expected = _checked(request)
            old, value = values.read(request.olds), values.read(request.news)
            if expected.token == helm.RELEASE:
                return helm.check(objects, expected, old, value)
            namespace = "" if objects.renders_blindly(value) else objects.namespace
            checked = checking.run(expected, old, value, objects.cluster, namespace)
            return wire.CheckResponse(inputs=values.write(checked))

        return _guard(context, act)

    def Diff(self, request: wire.DiffRequest, context: Context) -> wire.DiffResponse:
        def act() -> wire.DiffResponse:
            objects = self._configured()
            state, value = values.read(request.olds), values.read(request.news)
            if _token(request.urn) == helm.RELEASE:
                return helm.diff(state, value, list(request.ignoreChanges))
            changes = objects.diff(request.urn, state, value, list(request.ignoreChanges))
            always = objects.settings.render_to and objects.settings.always_render
            changed = bool(changes.comparison.found or changes.replaces or always)
            return wire.DiffResponse(
                changes=wire.DiffResponse.DIFF_SOME if changed else wire.DiffResponse.DIFF_NONE,
                replaces=changes.replaces,
                deleteBeforeReplace=changes.delete_first,
                detailedDiff=changes.comparison.found,
                hasDetailedDiff=True,
            )

        return _guard(context, act)

    def Create(self, request: wire.CreateRequest, context: Context) -> wire.CreateResponse:
        def act() -> wire.CreateResponse:
            objects, value = self._configured(), values.read(request.properties)
            if _token(request.urn) == helm.RELEASE:
                identity, state = helm.create(objects, value, preview=request.preview)
            else:
                identity, state = objects.create(
                    request.urn, value, request.timeout, preview=request.preview
                )
            return wire.CreateResponse(id=identity, properties=values.write(state))

        return _guard(context, act)

    def Read(self, request: wire.ReadRequest, context: Context) -> wire.ReadResponse:
        def act() -> wire.ReadResponse:
            objects, token = self._configured(), _token(request.urn)
            state, inputs = values.read(request.properties), values.read(request.inputs)
            if token == helm.RELEASE:
                return wire.ReadResponse(
                    id=request.id, properties=request.properties, inputs=request.inputs
                )
            result = objects.read(request.urn, request.id, token, state, inputs)
            if result is None:
                return wire.ReadResponse()
            return wire.ReadResponse(
                id=request.id, properties=values.write(result[0]), inputs=values.write(result[1])
            )

        return _guard(context, act)

    def Update(self, request: wire.UpdateRequest, context: Context) -> wire.UpdateResponse:
        def act() -> wire.UpdateResponse:
            objects = self._configured()
            state, value = values.read(request.olds), values.read(request.news)
            if _token(request.urn) == helm.RELEASE:
                new = helm.update(objects, state, value, preview=request.preview)
            else:
                ignored = list(request.ignoreChanges)
                new = objects.update(
                    request.urn, state, value, ignored, request.timeout, preview=request.preview
                )
            return wire.UpdateResponse(properties=values.write(new))

        return _guard(context, act)

    def Delete(self, request: wire.DeleteRequest, context: Context) -> empty_pb2.Empty:
        def act() -> empty_pb2.Empty:
            objects, state = self._configured(), values.read(request.properties)
            if _token(request.urn) == helm.RELEASE:
                helm.delete(objects, state)
            else:
                objects.delete(request.urn, request.id, state, request.timeout)
            return empty_pb2.Empty()

        return _guard(context, act)

    def Invoke(self, request: wire.InvokeRequest, context: Context) -> wire.InvokeResponse:
        def act() -> wire.InvokeResponse:
            objects = self._configured()
            arguments = values.transform(values.read(request.args), lambda item: item)
            result = templates.invoke(request.tok, arguments, objects.cluster)
            response = wire.InvokeResponse()
            # The field is called `return`, which is a keyword in Python.
            getattr(response, "return").CopyFrom(values.write({"result": result}))
            return response

        return _guard(context, act)

    def Construct(self, request: wire.ConstructRequest, context: Context) -> wire.ConstructResponse:
        context.abort(
            grpc.StatusCode.UNIMPLEMENTED,
            f"{request.type} is a component of the official kubernetes provider and is not in "
            "this stand-in: use "
            "helm.v3.Chart with a local path, yaml.ConfigGroup, or the official provider",
        )
        raise AssertionError


_SKIPPING = "Cluster is unreachable but skipUpdateUnreachable flag is set to true, skipping..."


def _token(urn: str) -> str:
    return checking.Request(urn).token


def _checked(request: wire.CheckRequest) -> checking.Request:
    autonaming = None
    if request.HasField("autonaming"):
        mode = wire.CheckRequest.AutonamingOptions.Mode.Name(request.autonaming.mode)
        autonaming = (mode, request.autonaming.proposed_name)
    return checking.Request(request.urn, request.randomSeed, autonaming)


def _connect(chosen: settings.Settings) -> tuple[Cluster | None, str]:
    """The cluster, or the reason for its absence. Not a failure yet: a preview may not need the cluster."""
    if chosen.kubeconfig_error:
        return None, chosen.kubeconfig_error
    try:
        cluster = Cluster.connect(chosen.kubeconfig, chosen.context or None, chosen.timeout_seconds)
        cluster.check()
    except Unreachable as error:
        return None, f"unable to load schema information from the API server: {error}"
    return cluster, ""


def _guard(context: Context, act: Callable[[], Answer]) -> Answer:
    """Run an operation; every failure becomes a message, never a traceback."""
    try:
        return act()
    except Partial as error:
        inputs: Any = None if error.inputs is None else values.write(error.inputs)
        engine.fail_partially(
            context, error.message, error.identity, error.reasons, values.write(error.state), inputs
        )
    except ProviderError as error:
        engine.fail(context, str(error))
    except Exception as error:  # noqa: BLE001  a defect of the stand-in; its place helps, its traceback does not
        frames = traceback.extract_tb(error.__traceback__)
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
        engine.fail(
            context,
            f"fault in the stand-in kubernetes provider at {place}: {type(error).__name__}: {error}",
        )


def main() -> None:
    """Serve until the engine ends this process. The first line of stdout is the port."""
    addresses = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))
    orphans.end_with_parent(lambda: os._exit(0))
    # The engine sends whole states; the default limit of 4 MiB is too small for a large CRD
    # bundle.
    options = [
        ("grpc.max_receive_message_length", 400 << 20),
        ("grpc.max_send_message_length", 400 << 20),
    ]
    server = grpc.server(futures.ThreadPoolExecutor(WORKERS), options=options)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(
        Provider(addresses[-1] if addresses else None), server
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)  # the plugin protocol
    server.wait_for_termination()
