"""Releases of a helmfile: the charts of its values files, and its inline values.

    releases: [{name: gpus, chart: nvidia/gpu-operator, version: v26.7.0, values: [gpus.yaml, {driver: {…}}]}]

The last of `values` wins, and `set` overrides all of them. Values from a template are unknown.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard_core.errors import UsageError
from gpuyard_core.manifests.fields import UNKNOWN, items, mapping, mappings, text
from gpuyard_core.yaml_tree import parse_documents
from gpuyard_lint.items import FileLocation, Item
from gpuyard_lint.languages.commands import MOST_BYTES, HelmCommand
from gpuyard_lint.languages.hcl_values import UNKNOWN_PART
from gpuyard_lint.languages.helm_sets import nested_value, steps_of
from gpuyard_lint.rules.rule import Resource

_LINE = re.compile(rb"(?m)^[ \t]*\{\{.*\}\}[ \t\r]*$")
"""In a template: control statements only, which decide on the lines around them."""
_ENVIRONMENT = re.compile(r"\{\{-?\s*\.Environment\.Name\s*-?\}\}")
_TEMPLATE = re.compile(r"\{\{[^{}\n]*\}\}")
_EXACT = re.compile(r"v?\d+\.\d+\.\d+[\w.+-]*")
_PLAIN = ("name", "chart")


def is_helmfile(value: Any) -> bool:
    """Whether it lists releases in the form of helmfile."""
    releases = value.get("releases") if isinstance(value, Mapping) else None
    return isinstance(releases, list) and any(
        isinstance(each, Mapping) and all(isinstance(each.get(key), str) for key in _PLAIN)
        for each in releases
    )


def helmfile_releases(value: Mapping[str, Any], place: FileLocation) -> Iterator[Item]:
    """Charts at exact versions that are certainly installed, with only inline values of the helmfile.

    Other versions may be in `helmfile.lock`.
    """
    for number, each in enumerate(items(value, "releases")):
        chart, version = text(each, "chart"), text(each, "version")
        if _is_installed(each) and not chart.startswith(".") and _EXACT.fullmatch(version):
            layers = items(each, "values")
            alone = len(layers) <= 1 and all(isinstance(one, Mapping) for one in layers)
            values = layers if alone and not _adds(each) else UNKNOWN
            properties = {"chart": chart, "version": version, "values": values}
            below = replace(place, prefix=(*place.prefix, "releases", number))
            yield Item(Resource("helm:Chart", text(each, "name"), properties), below)


def _is_installed(release: Any) -> bool:
    value = mapping(release)
    return value.get("installed", True) is True and not value.get("condition")


def _adds(release: Mapping[str, Any]) -> bool:
    """Whether it has values from sources other than its `values`."""
    return any(release.get(key) for key in ("set", "secrets", "inherit", "setString"))


def helmfile_commands(data: bytes, file: str) -> list[HelmCommand]:
    """Values that helmfile passes to Helm, once for each environment."""
    path_end = "/".join(file.rsplit("/", 2)[-2:])  # also helmfile.d/gpus.yaml
    if "helmfile" not in path_end or len(data) > MOST_BYTES:
        return []
    documents = _documents(data, file)
    named = [str(name) for each in documents for name in mapping(each, "environments")]
    return [
        command
        for each in documents
        if is_helmfile(each)
        for release in mappings(each, "releases")
        for command in _commands(release, list(dict.fromkeys(named)) or ["default"])
    ]


def _documents(data: bytes, file: str) -> list[Any]:
    for written in (data, _LINE.sub(b"", data)):
        try:
            return [each.value for each in parse_documents(written, file)]
        except UsageError:
            continue
    return []


def _commands(release: Mapping[Any, Any], environments: list[str]) -> Iterator[HelmCommand]:
    value = items(release, "values")
    after = next((i for i in range(len(value), 0, -1) if isinstance(value[i - 1], str)), 0)
    sets = [each for each in value[after:] if isinstance(each, Mapping)]
    sets += [
        nested_value(*steps_of(text(each, "name"), each.get("value", UNKNOWN)))
        for each in mappings(release, "set")
    ]
    for name in environments:
        files = tuple(_known(each, name) for each in value if isinstance(each, str))
        if release.get("installed") is False:  # the labels exclude them
            yield HelmCommand("", None, files, (UNKNOWN,))
            continue
        chart, version = _known(text(release, "chart"), name), text(release, "version")
        exact = version if _EXACT.fullmatch(version) else None
        yield HelmCommand(chart, exact, files, tuple(sets))


def _known(written: str, environment: str) -> str:
    """With the name of the environment, and a marker for all other template results."""
    return _TEMPLATE.sub(UNKNOWN_PART, _ENVIRONMENT.sub(environment, written))
