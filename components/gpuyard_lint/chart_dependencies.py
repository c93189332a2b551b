"""Charts that a Chart.yaml installs as dependencies: their versions, and their values under an alias."""

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from gpuyard_core.errors import UsageError
from gpuyard_core.manifests.fields import UNKNOWN, mapping, mappings, text
from gpuyard_core.yaml_tree import Document, parse_documents
from gpuyard_lint.charts import keep_known_operator_values, subcharts
from gpuyard_lint.items import FileLocation, Item
from gpuyard_lint.rules.rule import Resource

CHART = "Chart.yaml"
_ELSEWHERE = re.compile(r"(?:https?|oci)://")


def wrapped_releases(chart: str, data: bytes, files: Collection[str]) -> Iterator[Item]:
    """The dependencies of a chart without templates, as releases; optional ones are omitted."""
    folder = posixpath.dirname(chart)
    document = _document(data, chart)
    if document is None or _has_templates(folder, files):
        return
    for number, each in enumerate(mappings(document.value, "dependencies")):
        name, version = text(each, "name"), text(each, "version")
        copied = posixpath.join(folder, "charts", name, CHART) in files
        optional = copied or each.get("condition") or each.get("tags")
        if _ELSEWHERE.match(text(each, "repository")) and not optional:
            properties = {"chart": name, "version": version, "values": UNKNOWN}
            place = FileLocation(chart, document, ("dependencies", number))
            yield Item(Resource("helm:Chart", name, properties), place)


def aliased_values(
    chart: str, data: bytes, values_file: str, values: bytes, files: Collection[str]
) -> Iterator[Item]:
    """Values next to a chart, of dependencies under the alias that the chart gives them."""
    document, written = _document(data, chart), _document(values, values_file)
    aliases = (
        {
            text(each, "alias"): text(each, "name")
            for each in mappings(document.value, "dependencies")
            if text(each, "alias") not in ("", text(each, "name"))
        }
        if document
        else {}
    )
    if not aliases or written is None:
        return
    below = {key: mapping(written.value).get(key) for key in aliases}
    own = _has_templates(posixpath.dirname(chart), files)
    for each in subcharts(below, FileLocation(values_file, written), aliases):
        # its own templates may read keys that the vendor's chart does not have
        yield replace(each, resource=keep_known_operator_values(each.resource)) if own else each


def _has_templates(folder: str, files: Collection[str]) -> bool:
    templates = posixpath.join(folder, "templates", "")
    return any(file.startswith(templates) for file in files)


def _document(data: bytes, file: str) -> Document | None:
    """The one mapping of a file; None for a template."""
    try:
        documents = parse_documents(data, file)
    except UsageError:
        return None
    one = len(documents) == 1 and isinstance(documents[0].value, Mapping)
    return documents[0] if one else None
