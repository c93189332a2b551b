"""GPU sharing of Bottlerocket: settings of its device plugin, as TOML in the user data of nodes.

Defaults differ between versions of the system: an unset value is unknown.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import UNKNOWN, at_path
from gpuyard_core.yaml_tree import Document
from gpuyard_lint.items import FileLocation, Item
from gpuyard_lint.rules.rule import Resource
from gpuyard_lint.rules.subjects.pools import plain_user_data

_SETTINGS = ("settings", "kubelet-device-plugins", "nvidia")
_METHODS = {"time-slicing": "timeSlicing", "mps": "mps"}
_FIELDS = {
    "rename-by-default": "renameByDefault",
    "fail-requests-greater-than-one": "failRequestsGreaterThanOne",
}
_HEAD = re.compile(r"\s*\[([\w.\"' -]+)\]")
_KEY = re.compile(r"\s*([\w-]+)\s*=")
_LEAST = 2


def sharing_settings(text: str, place: FileLocation, path: Path) -> Iterator[Item]:
    """The sharing that user data sets, as a configuration of the device plugin."""
    plain = plain_user_data(text)
    try:
        value = at_path(tomllib.loads(plain), _SETTINGS)
    except tomllib.TOMLDecodeError:
        return  # another system: a script, MIME parts
    strategy = at_path(value, ("device-sharing-strategy",))
    if strategy not in _METHODS:
        return
    method, below = _METHODS[strategy], at_path(value, (strategy,))
    settings: Mapping[str, Any] = below if isinstance(below, Mapping) else {}
    sharing = {name: settings.get(key, UNKNOWN) for key, name in _FIELDS.items()}
    if method == "mps":  # it always rejects two
        del sharing["failRequestsGreaterThanOne"]
    replicas = settings.get("replicas")
    some = isinstance(replicas, int) and replicas >= _LEAST
    sharing["resources"] = [{"name": "nvidia.com/gpu", "replicas": replicas if some else UNKNOWN}]
    document = Document({"version": "v1", "sharing": {method: sharing}}, _lines(plain, strategy))
    inside = (
        place.nested_in(path, document)
        if plain is text
        else FileLocation(place.file, document, fixed_position=place.position(path))
    )  # base64 text has no line numbers
    yield Item(Resource("config:device-plugin", "userData", document.value), inside)


def _lines(text: str, strategy: str) -> dict[Path, int]:
    """The line of each field: of its section, and of its key."""
    method = _METHODS[strategy]
    results: dict[Path, int] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if head := _HEAD.match(line):
            section = head[1].rpartition(".")[2].strip(" \"'")
            if section == "nvidia":
                results[()] = number
            elif section == strategy:
                results["sharing", method] = number
        elif (key := _KEY.match(line)) and section == strategy and key[1] in _FIELDS:
            results["sharing", method, _FIELDS[key[1]]] = number
    return results
