"""What is seen at its first bytes to be nobody's here, before it is read: definitions, schemas, data.

A repository of an operator holds more text of these than of all that is deployed, and reading YAML is slow.
"""

import json
import re
from collections.abc import Callable
from typing import Any

HEAD = 4096
_DEFINITION = re.compile(
    rb"""^["']?kind["']?:\s*["']?CustomResourceDefinition\b|"kind":\s*"CustomResourceDefinition\"""",
    re.MULTILINE,
)
_SCHEMA = re.compile(rb"""^\s*\{?\s*["']?(?:openapi|swagger|\$schema)["']?\s*:""", re.MULTILINE)
_SCHEMA_HEAD = 300
_SMALL = 64 * 1024
"""Below this the reader that keeps places is quick enough."""
_LARGE = 8 * 1024 * 1024
"""Above this JSON is not even looked at as a whole: memory is bounded."""
_OURS = re.compile(
    rb'"(?:apiVersion|steps|deployment|planned_values|terraform_version|lineage|panels|mig-configs)"'
)
_SEPARATOR = re.compile(rb"^---(?=\s|$)", re.MULTILINE)

DEFINITIONS = "definitions of kinds (CRDs), a schema, or data: passed over"


def is_definition(data: bytes) -> bool:
    """True for the text of a CustomResourceDefinition."""
    return _DEFINITION.search(data[:HEAD]) is not None


def is_passed_over(data: bytes, fits: Callable[[Any], bool]) -> bool:
    """True for a schema, and for a large file of JSON that holds nothing any reader takes."""
    if _SCHEMA.match(data[:_SCHEMA_HEAD]):
        return b'"panels"' not in data  # dashboards may name the schema they follow
    if len(data) < _SMALL or data.lstrip()[:1] not in {b"{", b"["}:
        return False
    if len(data) > _LARGE:
        return _OURS.search(data[:HEAD]) is None
    try:
        return not fits(json.loads(data))
    except (ValueError, RecursionError):
        return False  # whoever reads it says what it is


def parts(data: bytes) -> list[tuple[int, bytes]]:
    """The documents of a text, each with the number of lines before it."""
    found: list[tuple[int, bytes]] = []
    start, lines = 0, 0
    ends = [match.start() for match in _SEPARATOR.finditer(data)]
    for end in [*ends, len(data)]:
        part = data[start:end]
        if part.strip():
            found.append((lines, part))
        lines += part.count(b"\n")
        start = end
    return found
