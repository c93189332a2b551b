"""Read-only CLI queries for each kind of resource."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpuyard_core.catalogue.tables import read_yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupCommand:
    """One query, and how its result is read. Fields of a resource are in braces."""

    arguments: tuple[str, ...]
    items: str = ""
    """Path of the items in the result; a single item is not a list."""
    id: str = ""
    """Path of the id in an item; empty when an item is a string."""
    id_template: str = "{item}"
    """Template of the provider's id."""
    matches: Mapping[str, str] = field(default_factory=dict[str, str])
    """Fields that must match, by their paths in an item."""
    required_values: Mapping[str, object] = field(default_factory=dict[str, object])
    """Required values of an item."""
    named: bool = False
    """Match by the generated name if nothing else does."""
    listed: bool = False
    """The item is found by its known id."""
    outputs: Mapping[str, str] = field(default_factory=dict[str, str])
    """Outputs that other resources use."""
    reference_fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """Fields with the id or ARN of another resource."""
    compared_fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """Fields whose differences are reported."""


LOOKS: Mapping[str, tuple[LookupCommand, ...]] = read_yaml(
    str(Path(__file__).with_name("lookup_commands")), Mapping[str, tuple[LookupCommand, ...]]
)
"""By kind. For ids that are derived from names, a query shows whether they exist."""
