"""Ids of cloud resources, for imports and for resources in creation when Pulumi was killed.

Most ids follow from the inputs of the resource: `IDENTITIES`. EC2 assigns ids, which are looked up with the
user's `aws` command: `LOOKUPS`. A few kinds can be created again without effect: `AGAIN`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpuyard_core.catalogue.sources import find_source
from gpuyard_core.catalogue.tables import read_rows, read_yaml

SOURCES = (
    find_source("cloud-ids.providers"),
    find_source("cloud-ids.commands"),
)


@dataclass(frozen=True, slots=True)
class IdForm:
    """The id format of a kind, with the names of input fields."""

    kind: str = ""
    id: str = ""
    """Empty if only the cloud knows it."""
    imported: str = ""
    """The id for `pulumi import`, if different; `{id}` is the cloud's id."""
    adopted_on_create: bool = False


_ROWS = tuple(read_rows("cloud_ids", IdForm))

IDENTITIES: Mapping[str, IdForm] = {row.kind: row for row in _ROWS if row.id or row.imported}
"""Id formats by kind; for every other kind the cloud assigns the id, and import uses it unchanged. `checksum`
is the CRC-32 of a route's range (cloud-ids.imported)."""
ADOPTED_ON_CREATE = frozenset(row.kind for row in _ROWS if row.adopted_on_create)
"""Grants and settings: creating an existing one has no effect."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """An `aws` command, and the path of the ids in its output."""

    words: tuple[str, ...]
    """Arguments with fields of the resource; `named` is its tag `Name`, `platform` gpuyard's tag."""
    items: tuple[str, ...]
    """The path of nested lists to the items."""
    identity: str = ""
    """The field with the id, for an ARN its last part; empty if the item is the id."""
    match: Mapping[str, str | bool] = field(default_factory=dict[str, str | bool])
    """Values that an item must have, with fields of the resource."""


LOOKUPS: Mapping[str, Lookup] = read_yaml(
    "cloud_lookups", Mapping[str, Lookup]
)  # cloud-ids.looked-up
