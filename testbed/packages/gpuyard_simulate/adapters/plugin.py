"""The fake RDMA shared device plugin (v1.5.3): which `rdma/*` resources a node advertises, and how many.

It reads its file only when its pod starts: a change under the same name takes effect with the next pod.
The node's adapters are in an annotation, written by the fake cloud.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

IMAGE: Final = "k8s-rdma-shared-dev-plugin"
ADAPTERS: Final = "sim.gpuyard.dev/adapters"
"""On the node: JSON, a list of adapters with `ifNames`, `vendors` and `linkTypes`, one word each."""
STARTED: Final = "sim.gpuyard.dev/rdma-plugin"
"""On the node: JSON, the pod of the plugin and the text that it read."""
PREFIX: Final = "rdma"
_FOLDER: Final = "/k8s-rdma-shared-dev-plugin"
_FILE: Final = "config.json"
_NAME: Final = re.compile(r"^[a-zA-Z0-9_]+$")
_SELECTORS: Final = ("vendors", "deviceIDs", "drivers", "ifNames", "linkTypes")


class AdaptersRefused(Exception):
    """Why the plugin exits."""


@dataclass(frozen=True, slots=True)
class RunningPlugin:
    """A pod of the plugin that runs on a node."""

    pod: str
    text: str
    """The file as its ConfigMap has it now."""

    def read(self, started: str | None) -> tuple[str, str]:
        """The text in use, that of its start where it already runs; and the state to keep."""
        before = json.loads(started) if started else ["", ""]
        text = str(before[1]) if before[0] == self.pod else self.text
        return text, json.dumps([self.pod, text])


def find_running_plugin(
    pod: Mapping[str, Any], maps: Mapping[str, Mapping[str, str]]
) -> RunningPlugin | None:
    """The plugin, where a pod of it runs; without its ConfigMap no pod starts."""
    if (pod.get("status") or {}).get("phase") != "Running":
        return None
    for container in pod["spec"]["containers"]:
        image = str(container.get("image", "")).partition("@")[0].rpartition("/")[2]
        if image.partition(":")[0] != IMAGE:
            continue
        text = _mounted(pod["spec"], container, maps)
        return None if text is None else RunningPlugin(str(pod["metadata"]["uid"]), text)
    return None


def _mounted(
    spec: Mapping[str, Any], container: Mapping[str, Any], maps: Mapping[str, Mapping[str, str]]
) -> str | None:
    mounts = {m["mountPath"].rstrip("/"): m["name"] for m in container.get("volumeMounts") or ()}
    volumes = {v["name"]: v.get("configMap") or {} for v in spec.get("volumes") or ()}
    name = volumes.get(mounts.get(_FOLDER, ""), {}).get("name", "")
    return maps.get(name, {}).get(_FILE)


def advertised(adapters: str | None, text: str) -> dict[str, int]:
    """Resources by name; a resource without adapters is advertised with 0.

    Raises:
        AdaptersRefused: the plugin exits with an error, and the node advertises none of its resources.
    """
    known_adapters: list[Mapping[str, str]] = json.loads(adapters) if adapters else []
    results: dict[str, int] = {}
    for each in _configured(text):
        name = each.get("resourceName", "")
        if not _NAME.match(name):
            raise AdaptersRefused(f'resource name "{name}" contains invalid characters')
        resource = f"{each.get('resourcePrefix') or PREFIX}/{name}"
        if resource in results:
            raise AdaptersRefused(f'resource name "{name}" already exists')
        most = int(each.get("rdmaHcaMax", 0))
        if most < 0:
            raise AdaptersRefused(f"Invalid value for rdmaHcaMax < 0: {most}")
        selectors = _selectors(each)
        fits = any(_fits(adapter, selectors) for adapter in known_adapters)
        results[resource] = most if fits else 0
    return results


def _configured(text: str) -> list[Mapping[str, Any]]:
    try:
        listed = json.loads(text).get("configList") or []
    except (ValueError, AttributeError) as problem:
        raise AdaptersRefused(f"the file is no configuration ({problem})") from problem
    if not listed:
        raise AdaptersRefused("no resources configuration found")
    return list(listed)


def _selectors(entry: Mapping[str, Any]) -> dict[str, list[str]]:
    value = entry.get("selectors") or {}
    selectors = {word: list(value[word]) for word in _SELECTORS if value.get(word)}
    devices = entry.get("devices") or []
    if selectors and devices:
        raise AdaptersRefused('Cannot specify both "selectors" and "devices" fields')
    if not selectors and not devices:
        raise AdaptersRefused('neither "selectors" nor "devices" fields exits')
    return selectors or {"ifNames": list(devices)}


def _fits(adapter: Mapping[str, str], selectors: Mapping[str, list[str]]) -> bool:
    return all(adapter.get(word) in values for word, values in selectors.items())
