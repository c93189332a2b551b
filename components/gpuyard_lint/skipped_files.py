"""Irrelevant files, recognised by their first bytes before parsing: CRDs, schemas, data.

Repositories of operators contain more of these than of deployed objects, and parsing YAML is slow.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

HEAD = 4096
_DEFINITION = re.compile(
    rb"""^["']?kind["']?:\s*["']?CustomResourceDefinition\b|"kind":\s*"CustomResourceDefinition\"""",
    re.MULTILINE,
)
_SCHEMA = re.compile(rb"""^\s*\{?\s*["']?(?:openapi|swagger|\$schema)["']?\s*:""", re.MULTILINE)
_SCHEMA_HEAD = 300
_SMALL = 64 * 1024
"""Below this size the parser with line numbers is fast enough."""
_LARGE = 8 * 1024 * 1024
"""Above this size JSON is never parsed as a whole: memory is bounded."""
_EACH = (b"{", b"[", b",")
_MANY = 600_000
"""Same for more values than this: an empty mapping takes a hundred bytes."""
_OURS = re.compile(
    rb'"(?:apiVersion|steps|deployment|planned_values|terraform_version|lineage|panels|mig-configs)"'
)
_SEPARATOR = b"\n---"
_AFTER = frozenset(b" \t\n\r\x0b\x0c")

_MOST_LINES = 100_000

DEFINITIONS = "skipped: CRDs, a schema, or data"


_A_WORD_IN = 10_000
"""Maximum distance of quotes in JSON that contains resources."""


def is_crd(data: bytes) -> bool:
    """True for the text of a CustomResourceDefinition."""
    return _DEFINITION.search(data[:HEAD]) is not None


def is_irrelevant_file(data: bytes, fits: Callable[[Any], bool]) -> bool:
    """True for a schema, and for a large JSON file that no reader accepts."""
    if _SCHEMA.match(data[:_SCHEMA_HEAD]):
        return b'"panels"' not in data  # dashboards may name the schema they follow
    if len(data) < _SMALL or data.lstrip()[:1] not in {b"{", b"["}:
        return False
    if data.count(b'"') < len(data) // _A_WORD_IN:
        return True  # numbers
    if _is_very_large(data):
        return _OURS.search(data[:HEAD]) is None
    try:
        return not fits(json.loads(data))
    except (ValueError, RecursionError):
        return False  # reading it reports the reason


def unrecognized_json_line(data: bytes, fits: Callable[[Any], bool]) -> int | None:
    """The first line of JSON that no reader accepts; None if it is to be read, or is not JSON.

    The parser with line numbers takes twenty times as long for the same answer.
    """
    begun = data.lstrip()
    if begun[:1] not in {b"{", b"["} or _is_very_large(begun):
        return None
    try:
        if fits(json.loads(begun)):
            return None
    except (ValueError, RecursionError):
        return None
    return data.count(b"\n", 0, len(data) - len(begun)) + 1


def _is_very_large(data: bytes) -> bool:
    return len(data) > _LARGE or (len(data) > _SMALL and sum(map(data.count, _EACH)) > _MANY)


def _separators(data: bytes) -> Iterator[int]:
    """The start of document separators. Searching text is ten times as fast as a pattern."""
    at = 0 if data.startswith(_SEPARATOR[1:]) else data.find(_SEPARATOR) + 1 or -1
    while at >= 0:
        after = at + len(_SEPARATOR) - 1
        if after == len(data) or data[after] in _AFTER:
            yield at
        at = data.find(_SEPARATOR, at) + 1 or -1


def split_documents(data: bytes) -> list[tuple[int, bytes]]:
    """The documents of a text, each with the number of lines before it."""
    results: list[tuple[int, bytes]] = []
    start, lines = 0, 0
    for end in [*_separators(data), len(data)]:
        part = data[start:end]
        if part and not part.isspace():
            results.append((lines, part))
        lines += part.count(b"\n")
        start = end
    return results


def lines_of_json(data: bytes) -> list[tuple[int, bytes]]:
    """The lines of a JSON Lines text; none if a line is not JSON, or if there are too many."""
    if data.count(b"\n") > _MOST_LINES:
        return []
    results = [(number, line) for number, line in enumerate(data.split(b"\n")) if line.strip()]
    braced = all(line.strip()[:1] == b"{" and line.strip()[-1:] == b"}" for _, line in results)
    return results if braced else []
