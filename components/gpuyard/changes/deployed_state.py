"""What is deployed: out of an exported state, a preview, or what an engine tells its own program."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.catalogue.software.engine_files import SECRET_KEY, is_preview, is_state
from gpuyard.changes.unknown_values import UnknownMarker
from gpuyard.render.cloud.graph import CLUSTER, CloudGraph, logical_name, platform_resource_name

PLATFORM = "gpuyard:index:Platform"
CLOUDS = ("aws:", "gcp:")
_HIDDEN = "[secret]"
"""What a preview writes for a secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedResource:
    """One resource as the last deployment left it."""

    urn: str
    kind: str
    outputs: Mapping[str, Any]
    id: str = ""
    protect: bool = False
    retain: bool = False
    """Left at the cloud when it goes from the stack."""

    @property
    def name(self) -> str:
        """Its logical name."""
        return self.urn.rpartition("::")[2]


@dataclass(frozen=True, slots=True)
class DeployedState:
    """Everything that one stack has."""

    resources: tuple[DeployedResource, ...]
    engine: Mapping[str, str]
    """What a preview says would happen, by URN: replace or delete; empty where there is none."""

    def platforms(self) -> list[DeployedResource]:
        """The platforms in it."""
        return [each for each in self.resources if each.kind == PLATFORM]

    def cloud_resources(self, platform: str, graph: CloudGraph) -> dict[str, DeployedResource]:
        """What a cloud made for the platform component of this name, by its name in the graph."""
        start, known = (
            f"{platform}-",
            {platform_resource_name(platform, each): each.name for each in graph.resources},
        )
        return {
            known.get(each.name)
            or each.name.removeprefix(f"{start}{CLUSTER}-").removeprefix(start): each
            for each in self.resources
            if each.kind.startswith(CLOUDS) and each.name.startswith(start)
        }

    def of_part(self, component: str, part: str, graph: CloudGraph) -> dict[str, DeployedResource]:
        """The same of a component that is not in a Platform, and registers one part of the graph."""
        known = {
            (each.kind, logical_name(component, part, each.name)): each.name
            for each in graph.of_part(part)
        }
        found = ((known.get((each.kind, each.name)), each) for each in self.resources)
        return {name: each for name, each in found if name is not None}


def is_deployed_state(value: Any) -> bool:
    """Whether it is a document that `deployed_state` reads."""
    return is_state(value) or is_preview(value)


def omits_unchanged(value: Mapping[str, Any]) -> bool:
    """Whether it is a preview without what stays as it is: then nobody knows what the rest stands on."""
    if not is_preview(value):
        return False
    unchanged = _mapping(value.get("changeSummary")).get("same", 0)
    shown = sum(isinstance(step, Mapping) and step.get("op") == "same" for step in value["steps"])
    return isinstance(unchanged, int) and shown < unchanged


def deployed_state(value: Mapping[str, Any]) -> DeployedState:
    """What an exported state or a preview has of what is deployed."""
    if is_preview(value):
        return _of_preview(value["steps"])
    return DeployedState(tuple(_deployed(value["deployment"].get("resources"))), {})


def deployed_state_from_engine(answer: Mapping[str, Any]) -> DeployedState:
    """The same of what an engine tells (`pulumi:pulumi:readStackResourceOutputs`): outputs by URN."""
    resources = [{"urn": urn, **_mapping(outputs)} for urn, outputs in _mapping(answer).items()]
    return DeployedState(tuple(_deployed(resources)), {})


def _of_preview(steps: Iterable[Any]) -> DeployedState:
    """The old state of each step, and what the engine says of it."""
    old: dict[str, Any] = {}
    engine: dict[str, str] = {}
    for step in steps:
        if isinstance(step, Mapping) and isinstance(step.get("oldState"), Mapping):
            urn, op = str(step.get("urn", "")), str(step.get("op", ""))
            # What is to be replaced is marked there as on its way out already.
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
    """A tree without the wrapping of its secrets; of one that nobody can read nothing is said."""
    if value == _HIDDEN:
        return UnknownMarker.QUERIED
    if isinstance(value, Mapping):
        if SECRET_KEY in value:
            return json.loads(value["plaintext"]) if "plaintext" in value else UnknownMarker.QUERIED
        return {key: unwrap_secrets(each) for key, each in value.items()}
    return [unwrap_secrets(each) for each in value] if isinstance(value, list) else value
