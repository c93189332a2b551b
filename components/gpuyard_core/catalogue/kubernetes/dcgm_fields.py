"""Fields of all DCGM releases: other fields cannot be in a list of counters."""

import json
import re
from functools import cache
from pathlib import Path

_TABLE = Path(__file__).parent.parent / "tables" / "dcgm_fields.json"  # dcgm-fields
_FIELD = re.compile(r"DCGM_FI_(DEV|PROF)_([A-Z0-9_]+)")
_NUMBER = re.compile(r"\d+")


@cache
def _names() -> dict[str, frozenset[str]]:
    """Field names by group; # stands for numbers, such as those of links and lanes."""
    table: dict[str, list[str]] = json.loads(_TABLE.read_text(encoding="utf-8"))
    return {group: frozenset(names) for group, names in table.items()}


def is_no_field(metric: str) -> bool:
    """Whether a name looks like a DCGM field, but no release has it, with or without a suffix (`…_UTIL_MAX`)."""
    match = _FIELD.fullmatch(metric)
    if match is None:
        return False
    names = _names()[match[1]]
    parts = _NUMBER.sub("#", match[2]).split("_")
    return not any("_".join(parts[:end]) in names for end in range(1, len(parts) + 1))
