"""Reports new nodes of a fallback capacity option once, with the preferred options that had no more nodes.

A node's capacity option is in a label from its provisioner. For older nodes, the capacity available at their
start is unknown.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

FRESH = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityOption:
    """One capacity option, in order of preference within its pool."""

    description: str
    names: tuple[str, ...]
    """Values of the label on its nodes."""
    max_nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOptions:
    """The capacity options of one pool."""

    pool: str
    selector: str
    """Labels of the pool's nodes."""
    label: str
    options: tuple[CapacityOption, ...]


def fallback_nodes(
    nodes: Sequence[dict[str, Any]], pool: PoolOptions, now: datetime
) -> Iterator[tuple[dict[str, Any], str]]:
    """New nodes although a preferred option is not full, with the message for each."""
    option_of = {name: option for option in pool.options for name in option.names}
    ways = [(n["metadata"].get("labels") or {}).get(pool.label, "") for n in nodes]
    nodes_by_option = Counter(option_of[way].description for way in ways if way in option_of)
    for node, way in zip(nodes, ways, strict=True):
        if way not in option_of or not _fresh(node, now):
            continue
        better = pool.options[: pool.options.index(option_of[way])]
        short = [r for r in better if nodes_by_option[r.description] < r.max_nodes]
        if short:
            lacks = " and ".join(
                f"{nodes_by_option[r.description]} of {r.max_nodes} {r.description}" for r in short
            )
            bought = f"The node uses capacity option {option_of[way].description}"
            yield (
                node,
                f"{bought}: pool {pool.pool} has {lacks} nodes, and no more were available.",
            )


def _fresh(node: dict[str, Any], now: datetime) -> bool:
    creation_time = node["metadata"].get("creationTimestamp")
    return isinstance(creation_time, str) and now - datetime.fromisoformat(creation_time) <= FRESH
