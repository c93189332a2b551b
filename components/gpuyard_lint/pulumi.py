"""Pulumi resources from a preview or exported state as JSON, or from the policy engine."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard_core.catalogue.software.engine_files import SECRET_KEY
from gpuyard_lint.items import FileLocation, Item
from gpuyard_lint.kubernetes import resource as kubernetes_resource
from gpuyard_lint.kubernetes import with_placeholder_strings
from gpuyard_lint.rules.rule import UNKNOWN, Resource

UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""The engine's marker for a value that a preview does not know (sdk/go/common/resource/plugin/rpc.go)."""
_GONE = frozenset({"delete", "delete-replaced", "discard", "discard-replaced", "read-discard"})


def preview_resources(value: Any, place: FileLocation) -> Iterator[Item]:
    """Every resource after the update; deleted ones are skipped."""
    for index, step in enumerate(value["steps"]):
        if isinstance(step, Mapping) and step.get("op") not in _GONE:
            yield from _of_state(step.get("newState"), place, ("steps", index, "newState"))


def state_resources(value: Any, place: FileLocation) -> Iterator[Item]:
    """Every resource of a state."""
    result = value["deployment"].get("resources")
    for index, state in enumerate(result if isinstance(result, list) else ()):
        if not (isinstance(state, Mapping) and state.get("delete")):
            yield from _of_state(state, place, ("deployment", "resources", index))


def _of_state(state: Any, place: FileLocation, path: tuple[str | int, ...]) -> Iterator[Item]:
    if not isinstance(state, Mapping) or not isinstance(state.get("type"), str):
        return
    if state.get("external") is True:  # read with `.get`: it has another owner
        return
    name = str(state.get("urn", "")).rpartition("::")[2] or "(no name)"
    inputs = state.get("inputs")
    result = pulumi_resource(
        state["type"],
        name,
        with_unknown_markers(inputs) if isinstance(inputs, Mapping) else {},
        protected=state.get("protect") is True,
    )
    if result is not None:
        result = replace(result, source=str(state.get("provider", "")))
        yield Item(result, replace(place, prefix=(*path, "inputs")))


def pulumi_resource(
    token: str, name: str, properties: Mapping[str, Any], *, protected: bool | None = None
) -> Resource | None:
    """A resource by its Pulumi token, None for components, providers and the stack itself."""
    package, module, kind = [*token.split(":"), "", ""][:3]
    if package == "kubernetes":
        return _kubernetes(module, kind, name, properties, protected=protected)
    service = module.partition("/")[0]
    if package == "pulumi" or not kind or not service:
        return None
    return Resource(f"{package}:{service}/{kind}", name, properties, protected)


def _kubernetes(
    module: str, kind: str, name: str, properties: Mapping[str, Any], *, protected: bool | None
) -> Resource | None:
    if module.startswith("helm.sh/"):
        return Resource(f"helm:{kind}", name, properties, protected)
    if not kind or module == "yaml":
        return None
    written = properties.get("apiVersion")
    shown = written if isinstance(written, str) else module.removeprefix("core/")
    if kind == f"{properties.get('kind')}Patch":  # some fields of another resource's object
        kind = str(properties["kind"])
    opened = with_placeholder_strings(properties)
    result = kubernetes_resource({**opened, "apiVersion": shown, "kind": kind})
    named = name if result.name == "(no name)" else result.name
    return Resource(f"{shown}/{kind}", named, opened, protected)


def with_unknown_markers(value: Any) -> Any:
    """The value with unknown and secret parts replaced by markers that rules respect."""
    if value == UNKNOWN_TEXT:
        return UNKNOWN
    if isinstance(value, Mapping):
        if SECRET_KEY in value:
            return UNKNOWN
        return {key: with_unknown_markers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [with_unknown_markers(each) for each in value]
    return value
