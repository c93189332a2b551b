"""Messages to the engine: log lines, and the gRPC form of failures."""

from __future__ import annotations

from typing import NoReturn

import grpc  # type: ignore[import-untyped]  # has no stubs of its own
from google.protobuf import any_pb2, struct_pb2
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc, status_pb2
from pulumi.runtime.proto import provider_pb2 as wire


class Log:
    """Lines shown with a resource. A line that cannot be sent is dropped: it must not cause a failure."""

    def __init__(self, address: str | None) -> None:
        self._engine = None
        self._last: dict[str, str] = {}
        if address:
            channel = grpc.insecure_channel(address)
            self._engine = engine_pb2_grpc.EngineStub(channel)

    def _send(
        self, severity: engine_pb2.LogSeverity.ValueType, urn: str, text: str, *, passing: bool
    ) -> None:
        if self._engine is None:
            return
        request = engine_pb2.LogRequest(severity=severity, message=text, urn=urn, ephemeral=passing)
        try:
            self._engine.Log(request, timeout=5)
        except grpc.RpcError:
            return

    def status(self, urn: str, text: str) -> None:
        """A line shown only while the operation runs; not twice in a row."""
        if self._last.get(urn) == text:
            return
        self._last[urn] = text
        self._send(engine_pb2.INFO, urn, text, passing=True)

    def info(self, urn: str, text: str) -> None:
        self._send(engine_pb2.INFO, urn, text, passing=False)

    def warning(self, urn: str, text: str) -> None:
        self._send(engine_pb2.WARNING, urn, text, passing=False)


def fail(context: grpc.ServicerContext, message: str) -> NoReturn:
    """End the call with this message."""
    context.abort(grpc.StatusCode.UNKNOWN, message)
    raise AssertionError  # abort has raised


def fail_partially(
    context: grpc.ServicerContext,
    message: str,
    identity: str,
    reasons: list[str],
    state: struct_pb2.Struct,
    inputs: struct_pb2.Struct | None = None,
) -> NoReturn:
    """End the call with a failure after which the object exists: the engine still records it.

    The detail is sent as a google.rpc.Status in a trailer: pulumi/pulumi,
    proto/pulumi/provider.proto, ErrorResourceInitFailed, and sdk/go/common/util/rpcutil/rpcerror.
    """
    detail = any_pb2.Any()
    failed = wire.ErrorResourceInitFailed(
        id=identity, properties=state, reasons=[message, *reasons], inputs=inputs
    )
    detail.Pack(failed)
    status = status_pb2.Status(
        code=grpc.StatusCode.UNKNOWN.value[0], message=message, details=[detail]
    )
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(grpc.StatusCode.UNKNOWN, message)
    raise AssertionError  # abort has raised
