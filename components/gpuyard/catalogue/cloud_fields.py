"""What a provider compares of a cloud's resource, and which changes make it anew.

The table has the kinds and fields of our graphs; `scripts/cloud_fields.py` makes it from what is known of the
providers.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from gpuyard.catalogue.sources import Source

CLOUD_FIELDS = Source(
    "schemas of terraform-provider-aws 6.58.0 and terraform-provider-google-beta 93c65b2d60, by the names of"
    " pulumi-aws 7.51.1 and pulumi-gcp 10.2.0",
    date(2026, 11, 22),
    as_of=date(2026, 11, 22),
)
DEFAULTS = "__defaults"
"""What a provider keeps beside the inputs of a resource: the names of those that no program gave."""
_TABLE = Path(__file__).parent / "tables" / "cloud_fields.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudField:
    """One field, by its path without the places in lists: `taints.effect`."""

    type: str = "string"
    """object is a block; `[…]` a list, `{…}` a map."""
    replace: bool | str = False
    """True: a change makes the resource anew; if: some changes do."""
    same: str = ""
    """How two texts that differ can mean the same."""
    computed: bool = False
    """Left out, the provider keeps what there is."""
    set: bool = False
    """The order in the list means nothing."""
    writeOnly: bool = False  # noqa: N815  the provider's word
    """Never read back, so never compared."""
    default: Any = None
    """What the provider fills in."""
    depends_on_service: bool = False
    """The service fills it in instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudKind:
    """One kind of resource."""

    named: str
    """The field that gets a name of the engine where the program gives none."""
    delete_before_replace: bool
    """A replacement always deletes the old one first."""
    fields: Mapping[str, CloudField]
    nested_fields: Mapping[str, tuple[str, ...]]
    """Names of the fields in each block; "" is the resource itself."""


@cache
def cloud_kind(kind: str) -> CloudKind:
    """What is known of a kind that our graphs have."""
    row = _table()["kinds"][kind]
    below: dict[str, list[str]] = {}
    for path in row["fields"]:
        block, _, name = path.rpartition(".")
        below.setdefault(block, []).append(name)
    return CloudKind(
        named=row["named"],
        delete_before_replace=row["deletes_first"],
        fields={path: CloudField(**settings) for path, settings in row["fields"].items()},
        nested_fields={block: tuple(names) for block, names in below.items()},
    )


@cache
def _table() -> Mapping[str, Any]:
    read: Mapping[str, Any] = json.loads(_TABLE.read_text(encoding="utf-8"))
    return read
