"""The deployed state, from an exported state, a preview, or the engine of a running program."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.changes.fields import UnknownMarker
from gpuyard.render.cloud.graph import CLUSTER, CloudGraph, logical_name, platform_resource_name
from gpuyard_core.catalogue.software.engine_files import (
    SECRET_KEY,
    is_pulumi_preview,
    is_stack_export,
)

PLATFORM = "gpuyard:index:Platform"
CLOUDS = ("aws:", "gcp:")
_HIDDEN = "[secret]"
"""What a preview writes for a secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedResource:
    """One resource as of the last deployment."""

    urn: str
    kind: str
    outputs: Mapping[str, Any]
    id: str = ""
    protect: bool = False
    retain: bool = False
    """Kept in the cloud when it leaves the stack."""

    @property
    def name(self) -> str:
        """The logical name."""
        return self.urn.rpartition("::")[2]


@dataclass(frozen=True, slots=True)
class DeployedState:
    """All resources of one stack."""

    resources: tuple[DeployedResource, ...]
    engine: Mapping[str, str]
    """Operations of a preview by URN: replace or delete; empty without a preview."""

    def platforms(self) -> list[DeployedResource]:
        """The Platform components."""
        return [each for each in self.resources if each.kind == PLATFORM]

    def cloud_resources(self, platform: str, graph: CloudGraph) -> dict[str, DeployedResource]:
        """Cloud resources of a Platform component, by their names in the graph."""
        start = f"{platform}-"
        known = {platform_resource_name(platform, each): each.name for each in graph.resources}
        return {
            known.get(each.name)
            or each.name.removeprefix(f"{start}{CLUSTER}-").removeprefix(start): each
            for each in self.resources
            if each.kind.startswith(CLOUDS) and each.name.startswith(start)
        }

    def of_part(self, component: str, part: str, graph: CloudGraph) -> dict[str, DeployedResource]:
        """The same for a standalone component, which registers one part of the graph."""
        known = {
            (each.kind, logical_name(component, part, each.name)): each.name
            for each in graph.of_part(part)
        }
        found = ((known.get((each.kind, each.name)), each) for each in self.resources)
        return {name: each for name, each in found if name is not None}


def is_deployed_state(value: Any) -> bool:
    """Whether it is a document that `deployed_state` reads."""
    return is_stack_export(value) or is_pulumi_preview(value)


def omits_unchanged(value: Mapping[str, Any]) -> bool:
    """Whether it is a preview without unchanged resources, on which others may depend."""
    if not is_pulumi_preview(value):
        return False
    unchanged = _mapping(value.get("changeSummary")).get("same", 0)
    shown = sum(isinstance(step, Mapping) and step.get("op") == "same" for step in value["steps"])
    return isinstance(unchanged, int) and shown < unchanged


def deployed_state(value: Mapping[str, Any]) -> DeployedState:
    """Read an exported state or a preview."""
    if is_pulumi_preview(value):
        return _of_preview(value["steps"])
    return DeployedState(tuple(_deployed(value["deployment"].get("resources"))), {})


def deployed_state_from_engine(answer: Mapping[str, Any]) -> DeployedState:
    """Read the engine's answer (`pulumi:pulumi:readStackResourceOutputs`): outputs by URN."""
    resources = [{"urn": urn, **_mapping(outputs)} for urn, outputs in _mapping(answer).items()]
    return DeployedState(tuple(_deployed(resources)), {})


def _of_preview(steps: Iterable[Any]) -> DeployedState:
    """The old state and the operation of each step."""
    old: dict[str, Any] = {}
    engine: dict[str, str] = {}
    for step in steps:
        if isinstance(step, Mapping) and isinstance(step.get("oldState"), Mapping):
            urn, op = str(step.get("urn", "")), str(step.get("op", ""))
            # A resource to be replaced is already marked for deletion there.
            old.setdefault(urn, {**step["oldState"], "urn": urn, "delete": False})
            if op in {"replace", "delete"}:
                engine[urn] = op
    return DeployedState(tuple(_deployed(old.values())), engine)


def _deployed(resources: Any) -> Iterator[DeployedResource]:
    for each in resources if isinstance(resources, Iterable) else ():
        if (
            isinstance(each, Mapping)
            and not each.get("delete")
            and isinstance(each.get("urn"), str)
        ):
            outputs = unwrap_secrets(_mapping(each.get("outputs")))
            yield DeployedResource(
                urn=each["urn"],
                kind=str(each.get("type", "")),
                outputs=outputs,
                id=str(each.get("id") or outputs.get("id") or ""),
                protect=each.get("protect") is True,
                retain=each.get("retainOnDelete") is True,
            )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def unwrap_secrets(value: Any) -> Any:
    """Unwrap the secrets in a value; unreadable ones are dropped."""
    if value == _HIDDEN:
        return UnknownMarker.QUERIED
    if isinstance(value, Mapping):
        if SECRET_KEY in value:
            return json.loads(value["plaintext"]) if "plaintext" in value else UnknownMarker.QUERIED
        return {key: unwrap_secrets(each) for key, each in value.items()}
    return [unwrap_secrets(each) for each in value] if isinstance(value, list) else value
