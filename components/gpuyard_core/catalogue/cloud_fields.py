"""Fields of cloud resources that a provider compares, and changes that replace a resource.

The table has the kinds and fields of gpuyard's resource graphs; `scripts/cloud_fields.py` generates it from
the schemas of the providers.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

DEFAULTS = "__defaults"
"""The key under which a provider lists the inputs of a resource that it set by default."""
_TABLE = Path(__file__).parent / "tables" / "cloud_fields.json"  # cloud-fields


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudField:
    """One field, by its path without list indexes: `taints.effect`."""

    type: str = "string"
    """`object` is a block, `[…]` a list, `{…}` a map."""
    replace: bool | str = False
    """True: every change replaces the resource; `if`: some changes do."""
    same: str = ""
    """The comparison by which two different texts can be equal."""
    computed: bool = False
    """If omitted, the provider keeps the existing value."""
    set: bool = False
    """The order of the list does not matter."""
    writeOnly: bool = False  # noqa: N815  the provider's word
    """Never read back, and so never compared."""
    default: Any = None
    """The provider's default value."""
    depends_on_service: bool = False
    """The service sets the default, not the provider."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudKind:
    """One kind of resource."""

    named: str
    """The field for which Pulumi generates a name if the program has none."""
    delete_before_replace: bool
    """A replacement always deletes the old resource first."""
    fields: Mapping[str, CloudField]
    nested_fields: Mapping[str, tuple[str, ...]]
    """Field names of each block; "" is the resource itself."""


@cache
def cloud_kind(kind: str) -> CloudKind:
    """The table entry of a kind in gpuyard's resource graphs."""
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
