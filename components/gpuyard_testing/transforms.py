"""Run resource transforms as the engine does, which the SDK's own mock monitor only records.

A transform reaches the engine as a token of the program's callback server. Here the callback is
called in the program's own event loop, without the network in between. Order, as in
pkg/resource/deploy/source_eval.go of pulumi/pulumi: the resource's own, then each ancestor's from
the nearest, then the stack's. Invoke transforms and hooks are recorded by the SDK, not run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# The SDK's own mocks find callbacks the same way (pulumi/runtime/mocks.py, _resolve_callbacks).
from pulumi.runtime._callbacks import (
    _CallbackServicer,
)
from pulumi.runtime.proto import callback_pb2, resource_pb2

# Field of the registration request → field of the options a transform sees.
_OPTIONS = (
    ("dependencies", "depends_on"),
    ("protect", "protect"),
    ("ignoreChanges", "ignore_changes"),
    ("replaceOnChanges", "replace_on_changes"),
    ("version", "version"),
    ("aliases", "aliases"),
    ("provider", "provider"),
    ("providers", "providers"),
    ("customTimeouts", "custom_timeouts"),
    ("pluginDownloadURL", "plugin_download_url"),
    ("retainOnDelete", "retain_on_delete"),
    ("deletedWith", "deleted_with"),
    ("additionalSecretOutputs", "additional_secret_outputs"),
    ("importId", "import"),
    ("hideDiffs", "hide_diff"),
    ("replace_with", "replace_with"),
)


async def apply_transforms(
    request: resource_pb2.RegisterResourceRequest, callbacks: Sequence[callback_pb2.Callback]
) -> None:
    """Run the transforms one after another; each receives the result of the one before."""
    for callback in callbacks:
        run = _find(callback.token)
        transform_request = resource_pb2.TransformRequest(
            type=request.type,
            name=request.name,
            custom=request.custom,
            parent=request.parent,
            properties=request.object,
            options=_options(request),
        )
        answer = await run(transform_request.SerializeToString())
        request.object.CopyFrom(answer.properties)
        if answer.HasField("options"):
            _set_options(request, answer.options)


def _find(token: str) -> Any:
    servicers: list[object] = vars(_CallbackServicer)["_servicers"]
    for servicer in servicers:
        callbacks: dict[str, Any] = vars(servicer)["_callbacks"]
        if token in callbacks:
            return callbacks[token]
    message = (
        f"transform {token} belongs to another run of a program; register it in the program itself"
    )
    raise LookupError(message)


def _options(
    request: resource_pb2.RegisterResourceRequest,
) -> resource_pb2.TransformResourceOptions:
    options = resource_pb2.TransformResourceOptions()
    for ours, theirs in _OPTIONS:
        _copy(request, ours, options, theirs)
    if request.deleteBeforeReplaceDefined:
        options.delete_before_replace = request.deleteBeforeReplace
    return options


def _set_options(
    request: resource_pb2.RegisterResourceRequest, options: resource_pb2.TransformResourceOptions
) -> None:
    for ours, theirs in _OPTIONS:
        _copy(options, theirs, request, ours)
    request.deleteBeforeReplaceDefined = options.HasField("delete_before_replace")
    request.deleteBeforeReplace = options.delete_before_replace


def _copy(source: Any, source_field: str, target: Any, target_field: str) -> None:
    target.ClearField(target_field)
    if source.DESCRIPTOR.fields_by_name[source_field].has_presence and not source.HasField(
        source_field
    ):
        return
    value = getattr(source, source_field)
    if hasattr(value, "MergeFrom"):  # lists, maps and messages
        getattr(target, target_field).MergeFrom(value)
    else:
        setattr(target, target_field, value)
