"""Checkpoint of an object in the stack's state: the live object, with the inputs that created it.

checkpointObject and parseCheckpointObject in provider/pkg/provider/provider.go.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from typing import Any

from testbed.plugins.kubernetes import pulumi_annotations
from testbed.plugins.kubernetes.values import (
    Object,
    Secret,
    manifest,
    mark_secrets,
    path,
    properties,
)

INPUTS = "__inputs"
API_VERSION = "__initialApiVersion"
FIELD_MANAGER = "__fieldManager"


def write(
    inputs: Object, live: Object, configured: Mapping[str, Any], api_version: str, manager: str
) -> Object:
    """The state of an object. `given` are the inputs with their secrets still marked."""
    retained = {key: value for key, value in live.items() if not key.startswith("__")}
    state, inner = properties(retained), properties(inputs)
    mark_secrets(state, configured)
    mark_secrets(inner, configured)
    state[INPUTS] = inner
    state[API_VERSION] = api_version
    state[FIELD_MANAGER] = manager
    return state


def read(state: Mapping[str, Any]) -> tuple[Object, Object]:
    """The inputs and the live object in a state."""
    live = manifest(
        {
            key: value
            for key, value in state.items()
            if key not in {INPUTS, API_VERSION, FIELD_MANAGER}
        }
    )
    inputs = state.get(INPUTS) or {}
    return manifest(inputs.value if isinstance(inputs, Secret) else inputs), live


def api_version(state: Mapping[str, Any], fallback: Object) -> str:
    """The version that the object was first written in."""
    return str(state.get(API_VERSION) or fallback.get("apiVersion", ""))


def field_manager(state: Mapping[str, Any], inputs: Object, seed: bytes = b"") -> str:
    """The annotation's name, else the one in the state, else a new one."""
    if chosen := pulumi_annotations.get(inputs, pulumi_annotations.PATCH_FIELD_MANAGER):
        return chosen
    if known := state.get(FIELD_MANAGER):
        return str(known)
    digits = hashlib.sha256(seed).hexdigest()[:8] if seed else secrets.token_hex(4)
    return f"pulumi-kubernetes-{digits}"


def identity(obj: Object) -> str:
    """The resource id: `namespace/name`, or the name alone."""
    namespace, name = path(obj, "metadata", "namespace"), path(obj, "metadata", "name")
    return f"{namespace}/{name}" if namespace else str(name)


def parse_identity(text: str) -> tuple[str, str]:
    """The namespace and name in an id."""
    namespace, slash, name = text.partition("/")
    return (namespace, name) if slash else ("", text)
