"""Lists and pairs of names in `tables/lists.csv`: actions, services, zones, prefixes, each with its source."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpuyard_core.catalogue.sources import Source
from gpuyard_core.catalogue.tables import read_keyed


@dataclass(frozen=True, slots=True)
class _List:
    source: Source | None
    values: tuple[str, ...]


_lists = cache(lambda: dict(read_keyed("lists", _List)))


def find_list(name: str) -> tuple[str, ...]:
    """The values of a list, in the order of the table."""
    return _lists()[name].values


def find_pairs(name: str) -> Mapping[str, str]:
    """The pairs of a list, `name=value`."""
    return {key: value for key, _, value in (each.partition("=") for each in find_list(name))}
