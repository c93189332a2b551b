"""Resources of Terraform and OpenTofu, from a plan as JSON or from the file of a state.

Rules use Pulumi's field names; messages about a plan use Terraform's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import PartlyKnown
from gpuyard_lint.embedded import text_documents
from gpuyard_lint.items import FileLocation, Item
from gpuyard_lint.kubernetes import is_object, with_placeholder_strings
from gpuyard_lint.kubernetes import resource as kubernetes_resource
from gpuyard_lint.languages.terraform_objects import (
    OBJECTS,
    camel_case,
    kubernetes_object,
    object_location,
    snake_case,
)
from gpuyard_lint.rules.rule import UNKNOWN, Resource, read_table

KINDS: Mapping[str, str] = read_table("terraform_kinds")
"""By Terraform type; rules check no others."""
PLURAL: Mapping[str, str] = {
    "taint": "taints",
    "guest_accelerator": "guestAccelerators",
    "block_device_mappings": "blockDeviceMappings",
    "cidr_blocks": "cidrBlocks",
    "allow": "allows",
    "deny": "denies",
    "maintenance_exclusion": "maintenanceExclusions",
}
"""Repeatable blocks, which have a plural name in Pulumi."""
_SINGULAR = {pulumi: terraform for terraform, pulumi in PLURAL.items()}
_OPAQUE = frozenset(
    {"labels", "tags", "node_labels", "resource_labels", "metadata", "manifest", "default_tags"}
    | {"values"}  # for a chart
)
"""User-defined keys are below: their names are unchanged."""
MANIFESTS: Mapping[str, str] = {"kubernetes_manifest": "manifest", "kubectl_manifest": "yaml_body"}
"""Kubernetes objects, and their path in each provider: as values, or as YAML text."""
_STATE_VERSION = 4


def is_plan(value: Any) -> bool:
    """True for a plan or a state in Terraform's JSON output."""
    return isinstance(value, Mapping) and (
        isinstance(value.get("planned_values"), Mapping)
        or ("terraform_version" in value and isinstance(value.get("values"), Mapping))
    )


def plan_resources(value: Any, place: FileLocation) -> Iterator[Item]:
    """Every resource of all modules after the apply."""
    planned = "planned_values" if "planned_values" in value else "values"
    unknown = _after_unknown(value)
    yield from _module(value[planned].get("root_module"), place, (planned, "root_module"), unknown)


def is_terraform_state(value: Any) -> bool:
    """True for a Terraform state file (internal/states/statefile/version4.go)."""
    return (
        isinstance(value, Mapping)
        and value.get("version") == _STATE_VERSION
        and "terraform_version" in value
        and isinstance(value.get("resources"), list)
    )


def terraform_state_resources(value: Any, place: FileLocation) -> Iterator[Item]:
    """Every deployed resource, one for each instance."""
    for index, each in enumerate(value["resources"]):
        for number, instance in enumerate(_list(_get(each, "instances"))):
            attributes = _get(instance, "attributes")
            if not isinstance(attributes, Mapping):
                continue
            manifest_at: Path = ("manifest",)
            manifest = attributes.get("manifest")
            if isinstance(manifest, Mapping) and set(manifest) == {"value", "type"}:
                # a field of any type has its type next to it
                attributes = {**attributes, "manifest": manifest["value"]}
                manifest_at = ("manifest", "value")
            results = {**each, "address": _address(each, instance), "values": attributes}
            where: Path = ("resources", index, "instances", number, "attributes")
            yield from _read(results, place, where, {}, manifest_at)


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _address(resource: Mapping[str, Any], instance: Mapping[str, Any]) -> str:
    module = f"{resource['module']}." if resource.get("module") else ""
    key = instance.get("index_key")
    number = "" if key is None else f"[{key!r}]".replace("'", '"')
    return f"{module}{resource.get('type')}.{resource.get('name')}{number}"


def _after_unknown(value: Mapping[str, Any]) -> dict[str, Any]:
    """By address, the values that are known only after the apply."""
    results = {}
    for change in _list(value.get("resource_changes")):
        if isinstance(change, Mapping) and isinstance(change.get("change"), Mapping):
            results[str(change.get("address"))] = change["change"].get("after_unknown")
    return results


def _module(
    module: Any, place: FileLocation, path: Path, unknown: Mapping[str, Any]
) -> Iterator[Item]:
    if not isinstance(module, Mapping):
        return
    for index, each in enumerate(_list(module.get("resources"))):
        if isinstance(each, Mapping):
            yield from _read(each, place, (*path, "resources", index, "values"), unknown)
    for index, child in enumerate(_list(module.get("child_modules"))):
        yield from _module(child, place, (*path, "child_modules", index), unknown)


def _read(
    each: Mapping[str, Any],
    place: FileLocation,
    at: Path,
    unknown: Mapping[str, Any],
    manifest_at: Path = ("manifest",),
) -> Iterator[Item]:
    """The resource; cloud fields have Pulumi's names, those of Kubernetes their own."""
    kind, address = str(each.get("type")), str(each.get("address", each.get("name", "")))
    if each.get("mode", "managed") != "managed" or not isinstance(each.get("values"), Mapping):
        return
    values = _with_unknown(each["values"], unknown.get(address))
    if kind in MANIFESTS:
        written = _get(values, MANIFESTS[kind])
        if is_object(written):
            module = address.rpartition(f"{kind}.")[0]
            yield Item(
                kubernetes_resource(with_placeholder_strings(written), module),
                replace(place, prefix=(*at, *manifest_at)),
            )
        elif isinstance(written, str):
            for document, inside in text_documents(
                written, replace(place, prefix=at), ("yaml_body",)
            ):
                if is_object(document.value):
                    yield Item(kubernetes_resource(document.value), inside)
    elif kind in OBJECTS:
        module = address.rpartition(f"{kind}.")[0]
        resource = kubernetes_resource(
            with_placeholder_strings(kubernetes_object(kind, values)), module
        )
        yield Item(resource, object_location(kind, replace(place, prefix=at)))
    elif kind in KINDS:
        named: dict[str, Any] = with_pulumi_names(values)
        result = Resource(KINDS[kind], address, named, is_protected(KINDS[kind], named))
        in_words = replace(
            place, prefix=at, pulumi_name=pulumi_name, to_document_name=terraform_name
        )
        yield Item(result, in_words)


def is_protected(kind: str, named: Mapping[str, Any]) -> bool | None:
    """Whether the provider rejects deletion; a plan does not contain Terraform's prevent_destroy."""
    return True if named.get("deletionProtection") is True and kind.endswith("/Cluster") else None


def _with_unknown(value: Any, unknown: Any) -> Any:
    if unknown is True:
        return UNKNOWN
    if isinstance(value, Mapping) and isinstance(unknown, Mapping):
        keys = {**value, **{key: None for key, is_so in unknown.items() if is_so}}
        return {key: _with_unknown(value.get(key), unknown.get(key)) for key in keys}
    if isinstance(value, list) and isinstance(unknown, list) and len(value) == len(unknown):
        return [_with_unknown(each, mark) for each, mark in zip(value, unknown, strict=True)]
    return value


def with_pulumi_names(value: Any) -> Any:
    """Fields with their Pulumi names: camel case, plural for repeatable blocks."""
    if isinstance(value, Mapping):
        results = {
            pulumi_name(key): each if key in _OPAQUE else with_pulumi_names(each)
            for key, each in value.items()
        }
        return PartlyKnown(results) if isinstance(value, PartlyKnown) else results
    return [with_pulumi_names(each) for each in value] if isinstance(value, list) else value


def pulumi_name(key: str) -> str:
    """The Pulumi name of a Terraform field."""
    return PLURAL.get(key) or camel_case(key)


def terraform_name(key: str) -> str:
    """The Terraform name of a Pulumi field."""
    return _SINGULAR.get(key) or snake_case(key)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
